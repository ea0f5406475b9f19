"""What can be said of the compose file and what belongs to it without an engine."""

import json
import re
import tomllib
from pathlib import Path

import pytest

from tests.compose.conftest import ROOT

COMPOSE = (ROOT / "docker-compose.yml").read_text()
LINES = [line for line in COMPOSE.splitlines() if not line.lstrip().startswith("#")]
ENV = dict(re.findall(r"(?m)^([A-Z_]+)=(.*)$", (ROOT / ".env").read_text()))
DOCKERFILE = (ROOT / "infra/docker/Dockerfile").read_text()


def test_nothing_bears_a_name_that_a_second_copy_would_need_too() -> None:
    """Two checkouts, or two groups in one room, get along."""
    assert not [line for line in LINES if "container_name" in line or re.match(r"^name:", line)]


def test_the_file_has_no_version_and_no_image_of_the_day() -> None:
    """Compose v2 warns of ``version:``, and ``latest`` is another image tomorrow."""
    assert not [line for line in LINES if line.startswith("version:") or "latest" in line]


def test_every_image_is_named_in_the_one_file_of_versions() -> None:
    """An upgrade is one line, and the same everywhere."""
    images = {line.split("image:")[1].strip() for line in LINES if "image:" in line}
    named = set(re.findall(r"\$\{([A-Z]+_IMAGE)\}", " ".join(images)))
    assert all(re.fullmatch(r"\$\{[A-Z]+_IMAGE\}|effectively-once/\w+:\$\{ONCE_VERSION.*\}", image) for image in images)
    assert {f"{name}" for name in ENV if name.endswith("_IMAGE")} == named | {"PYTHON_IMAGE"}
    assert all(":" in ENV[name] and not ENV[name].endswith(":latest") for name in named)


def test_our_images_carry_the_projects_version() -> None:
    """An image says which checkout it was built from."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert ENV["ONCE_VERSION"] == project["version"]


def test_every_published_port_is_on_the_loopback_address_and_can_be_chosen() -> None:
    """Nobody in the same network reaches the demo, and no port is one that a laptop has in use."""
    published = re.findall(r'ports: \["([^"]+)"\]', COMPOSE)
    assert len(published) == len(re.findall(r"\bports:", "\n".join(LINES)))
    for each in published:
        found = re.fullmatch(r"127\.0\.0\.1:\$\{([A-Z]+_PORT):-(\d+)\}:\d+", each)
        assert found, each
        assert ENV[found[1]] == found[2]
        assert int(found[2]) not in {5000, 7000, 5432, 6379, 8080, 8083, 9090, 9092, 3000}


def test_the_versions_file_is_kept_and_holds_no_secret() -> None:
    """Somebody without any tool but Docker has the versions by cloning."""
    ignored = (ROOT / ".gitignore").read_text().split()
    assert ".env" not in ignored
    assert not [name for name in ENV if re.search("PASSWORD|SECRET|TOKEN|KEY", name)]


def test_data_are_in_volumes_and_never_in_folders_of_the_machine() -> None:
    """A folder of the machine has owners, labels and line ends that a server does not expect."""
    bound = re.findall(r"type: bind, source: \"?([^,\"]+?)\"?, target: ([^,}]+)(, read_only: true)?", COMPOSE)
    assert {source for source, _target, read_only in bound if not read_only} == {
        "${DOCKER_SOCKET:-/var/run/docker.sock}"
    }
    assert "postgres:/var/lib/postgresql\n" in COMPOSE


def test_the_engines_socket_is_handed_to_one_service_alone() -> None:
    """Whoever has the socket rules the machine."""
    services = re.split(r"(?m)^  (?=[\w-]+:\n)", COMPOSE.partition("\nservices:\n")[2].partition("\nvolumes:\n")[0])
    assert [each.partition(":")[0] for each in services if "docker.sock" in each] == ["once"]


def test_no_health_check_starts_a_virtual_machine() -> None:
    """Kafka's own tools take seconds and memory each time, and make a busy broker look dead."""
    checks = re.findall(r"test: (\[.*\])", COMPOSE)
    assert len(checks) == COMPOSE.count("healthcheck:")
    assert not [check for check in checks if ".sh" in check or "java" in check]


def test_an_up_builds_what_the_checkout_says() -> None:
    """An image of last week's code is the hardest bug to see."""
    assert COMPOSE.count("pull_policy: build") == COMPOSE.count("build: ") == 2
    assert "pull_policy: never" in COMPOSE


def test_there_is_no_shell_script_to_trip_over_a_carriage_return() -> None:
    """A checkout on Windows runs what a checkout on Linux runs."""
    assert "eol=lf" in (ROOT / ".gitattributes").read_text()
    assert not list((ROOT / "infra").rglob("*.sh"))


def test_nothing_is_compiled_and_every_package_is_checked_by_its_hash() -> None:
    """A machine without a compiler builds the image, of amd64 or arm64, and gets what everybody gets."""
    installs = re.findall(r"pip install(?:.|\\\n)*?\.txt", DOCKERFILE)
    assert len(installs) == 2
    assert all("--require-hashes" in each and "--only-binary=:all:" in each for each in installs)
    assert not re.search(r"apt-get|gcc|build-essential", DOCKERFILE)


@pytest.mark.parametrize("path", sorted((ROOT / "infra/grafana/dashboards").glob("*.json")), ids=lambda path: path.name)
def test_a_dashboard_asks_the_provisioned_source_for_metrics_that_exist(path: Path) -> None:
    """No panel says "No data" because of a name."""
    dashboard = json.loads(path.read_text())
    source = re.search(r"uid: (\S+)", (ROOT / "infra/grafana/provisioning/datasources/prometheus.yml").read_text())
    assert source
    for panel in dashboard["panels"]:
        assert panel["datasource"]["uid"] == source[1]
        for target in panel["targets"]:
            assert unknown_metrics(target["expr"]) == set()


def test_what_is_measured_can_be_looked_at() -> None:
    """Each metric has a panel; a time stamp is for alerts alone."""
    shown = "".join(path.read_text() for path in (ROOT / "infra/grafana/dashboards").glob("*.json"))
    assert {name for name in exported_metrics() if name not in shown and "timestamp" not in name} == set()


def test_alerts_are_about_metrics_that_exist() -> None:
    """An alert on a metric that nobody exports never fires."""
    text = (ROOT / "infra/prometheus/alerts.yml").read_text()
    expressions = re.findall(r"expr: (?:>-\n((?: {10}.*\n)+)|(.*))", text)
    assert len(expressions) == text.count("- alert:")
    assert unknown_metrics(" ".join(a or b for a, b in expressions)) == set()


def exported_metrics() -> set[str]:
    sources = "\n".join(path.read_text() for tree in ("services", "shared") for path in (ROOT / tree).rglob("*.py"))
    return set(re.findall(r'(?:Counter|Gauge|Histogram)\(\s*"(\w+)"', sources))


def unknown_metrics(expression: str) -> set[str]:
    exported = exported_metrics() | {"up"}
    prefixes = {name.partition("_")[0] for name in exported - {"up"}}
    used = re.findall(rf"\b((?:{'|'.join(sorted(prefixes))})_\w+|up)\b", expression)
    return {name for name in used if re.sub("_(bucket|count|sum)$", "", name) not in exported}
