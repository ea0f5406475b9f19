"""What docker-compose.cluster.yml changes, held against the file that it is laid over; without an engine."""

import re
from typing import Any

import yaml  # type: ignore[import-untyped]

from infra.local.kafka import copies
from infra.local.profile import Profile
from infra.local.services import GROUPS
from tests.compose.conftest import ROOT

PAIR = "host=postgres,postgres-2&port=5432,5432&target_session_attrs=read-write"
BROKERS = "kafka:19092,kafka-2:19092,kafka-3:19092"


def services(name: str) -> dict[str, dict[str, Any]]:
    text = (ROOT / name).read_text()
    loaded: dict[str, dict[str, dict[str, Any]]] = yaml.safe_load(re.sub(r"!(override|reset)\b", "", text))
    return loaded["services"]


SMALL, CLUSTER = services("docker-compose.yml"), services("docker-compose.cluster.yml")


def changed(name: str) -> dict[str, str]:
    found: dict[str, str] = CLUSTER.get(name, {}).get("environment", {})
    return found


def test_every_database_address_names_both_servers() -> None:
    """One that was forgotten would stay with the old primary for ever."""
    for name, service in SMALL.items():
        wanted = [key for key in service.get("environment", {}) if key.endswith(("DATABASE_URL", "SUPERUSER_URL"))]
        assert all(PAIR in changed(name).get(key, "") for key in wanted), name


def test_every_consumer_and_relay_knows_all_brokers() -> None:
    """With one address, a restart while that broker is away would find none."""
    consumers = {name for group in GROUPS.values() for name in group.at_least(Profile.CLUSTER.members)}
    relays = {name for name in SMALL if name.startswith("relay-")}
    for name in {*consumers, *relays, "topics"}:
        assert changed(name)["KAFKA_BOOTSTRAP_SERVERS"] == BROKERS, name


def test_the_brokers_have_the_copies_of_the_local_stack() -> None:
    """Both stacks promise the same; each broker says its own name."""
    wanted = {f"KAFKA_{name.upper().replace('.', '_')}": value for name, value in copies(3).items()}
    for name in ("kafka", "kafka-2", "kafka-3"):
        assert wanted.items() <= changed(name).items()
    assert [changed(f"kafka-{number}")["KAFKA_NODE_ID"] for number in (2, 3)] == ["2", "3"]
    assert all(f"INTERNAL://kafka-{n}:" in changed(f"kafka-{n}")["KAFKA_ADVERTISED_LISTENERS"] for n in (2, 3))
    assert changed("topics")["TOPIC_REPLICATION"] == str(Profile.CLUSTER.brokers)
    assert changed("topics")["TOPIC_MIN_INSYNC_REPLICAS"] == str(Profile.CLUSTER.min_insync)


def test_no_two_servers_share_a_volume() -> None:
    """Two brokers on one log, or two servers on one database, destroy it."""
    for names in (("kafka", "kafka-2", "kafka-3"), ("postgres", "postgres-2")):
        each = [{volume.partition(":")[0] for volume in volumes(name)} for name in names]
        assert len(set().union(*each)) == sum(map(len, each))


def volumes(name: str) -> list[str]:
    found = CLUSTER[name].get("volumes") or SMALL[name]["volumes"]
    return [each for each in found if isinstance(each, str)]
