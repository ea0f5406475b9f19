"""What can be added to the system: watching it, and change data capture."""

import json
import urllib.parse
from collections.abc import Iterator
from typing import Any

import pytest

from tests.compose.conftest import ROOT, Project
from tests.conftest import eventually


@pytest.fixture(scope="module")
def watched(engine: None, system: Project) -> Iterator[Project]:
    """Return the running system with Prometheus beside it."""
    system.compose("--profile", "observability", "up", "--detach", "--wait", "prometheus")
    yield system
    system.compose("--profile", "observability", "rm", "--stop", "--force", "prometheus")


def test_every_process_is_scraped(engine: None, watched: Project) -> None:
    """By its name on the network, sixteen of them."""

    def all_up() -> bool:
        targets = ask(watched, "/targets")["activeTargets"]
        return len(targets) == 16 and all(each["health"] == "up" for each in targets)

    eventually(all_up, 60, "every target up")


def test_every_panel_has_data(engine: None, watched: Project) -> None:
    """Asked as Grafana would, while a few orders go through."""
    dashboard = json.loads((ROOT / "infra/grafana/dashboards/once.json").read_text())
    for _order in range(5):
        watched.place()
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            query = "/query?" + urllib.parse.urlencode({"query": target["expr"]})
            eventually(lambda query=query: ask(watched, query)["result"], 90, panel["title"])  # type: ignore[misc]


def test_the_alerts_are_loaded_and_none_cries_wolf(engine: None, watched: Project) -> None:
    """A system that is well alarms nobody."""
    rules = [rule for group in ask(watched, "/rules")["groups"] for rule in group["rules"]]
    assert len(rules) == (ROOT / "infra/prometheus/alerts.yml").read_text().count("- alert:")
    assert {rule["name"]: rule["health"] for rule in rules if rule["health"] == "err"} == {}
    assert [rule["name"] for rule in rules if rule["state"] == "firing"] == []


def test_connect_comes_up_healthy_and_knows_the_connector(engine: None, system: Project) -> None:
    """The cdc profile: Debezium beside the relay, for those who want to compare."""
    system.compose("--profile", "cdc", "up", "--detach", "--wait", "connect")
    try:
        plugins = [each["class"] for each in system.get("CONNECT", "/connector-plugins")]
        assert "io.debezium.connector.postgresql.PostgresConnector" in plugins
    finally:
        system.compose("--profile", "cdc", "rm", "--stop", "--force", "connect")


def test_a_forgotten_replication_slot_cannot_fill_the_disk(engine: None, system: Project) -> None:
    """An idle slot keeps the log; the server lets go at a limit."""
    query = ("psql", "-U", "postgres", "-h", "/var/run/postgresql", "-Atc", "SHOW max_slot_wal_keep_size")
    assert system.execute("postgres", *query).stdout.strip() == "1GB"


def test_what_a_machine_needs_of_java_can_be_passed_on(engine: None, system: Project) -> None:
    """Such as -XX:UseSVE=0, without which some Apple processors stop a JVM with SIGILL."""
    system.environment = {**system.environment, "JAVA_OPTIONS": "-XX:UseSVE=0"}
    try:
        model = json.loads(system.compose("config", "--format", "json").stdout)
    finally:
        system.environment = {name: text for name, text in system.environment.items() if name != "JAVA_OPTIONS"}
    assert "-XX:UseSVE=0" in model["services"]["kafka"]["environment"]["KAFKA_JVM_PERFORMANCE_OPTS"]


def ask(system: Project, path: str) -> dict[str, Any]:
    found: dict[str, Any] = system.get("PROMETHEUS", f"/api/v1{path}")["data"]
    return found
