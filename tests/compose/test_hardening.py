"""What a container may do is little, and it is the engine that says so, not the compose file alone."""

import json
import urllib.error
import urllib.request

import pytest

from tests.compose.conftest import Project

SERVERS = {"postgres", "kafka", "redis"}
ONE_SHOTS = {"secrets", "databases", "migrate", "topics"}
SECRETS = "/run/secrets"


def test_every_container_is_bound_as_tightly_as_the_file_says(engine: None, system: Project) -> None:
    """Not root, no capability, no new privileges, a root file system that cannot be written, limits."""
    for name, found in system.inspected().items():
        host = found["HostConfig"]
        assert found["Config"]["User"] not in {"", "root", "0"}, name
        assert host["ReadonlyRootfs"], name
        assert host["CapDrop"] == ["ALL"], name
        assert not host["CapAdd"], name
        assert "no-new-privileges:true" in host["SecurityOpt"], name
        assert host["Memory"] > 0, name
        assert host["PidsLimit"] > 0, name
        assert host["Init"], name
        assert not host["Privileged"], name


@pytest.mark.parametrize("service", ["orders-api", "relay-billing-1", "postgres", "kafka", "redis"])
def test_a_process_inside_has_no_capability_and_cannot_write_its_root(
    engine: None, system: Project, service: str
) -> None:
    """Tried from inside, as whoever breaks in would."""
    status = system.execute(service, "cat", "/proc/self/status").stdout
    capabilities = dict(line.split(":\t") for line in status.splitlines() if line.startswith("Cap"))
    assert set(capabilities.values()) == {"0000000000000000"}
    assert "NoNewPrivs:\t1" in status
    written = system.execute(service, "touch", "/etc/planted")
    assert written.returncode != 0
    assert "Read-only file system" in written.stderr


def test_no_service_sees_the_engines_socket(engine: None, system: Project) -> None:
    """Only the container that exists to stop others is handed it, and it is not part of ``up``."""
    for name, found in system.inspected().items():
        assert not [mount for mount in found["Mounts"] if "docker.sock" in mount["Source"]], name
    assert "once" not in system.inspected()


def test_ports_are_open_on_the_loopback_address_alone(engine: None, system: Project) -> None:
    """The demo has servers without authentication: nobody else may reach them."""
    bound = [
        (name, each["HostIp"])
        for name, found in system.inspected().items()
        for ports in found["NetworkSettings"]["Ports"].values()
        for each in ports or ()
    ]
    assert {address for _name, address in bound} == {"127.0.0.1"}
    assert {name for name, _address in bound} == {"orders-api", "billing-api", "analytics-api", "postgres", "kafka"}


def test_a_service_sees_its_own_secrets_and_no_others(engine: None, system: Project) -> None:
    """A fault in one cannot become a login of another."""
    for service, own in {
        "orders-api": {"orders_api", "admin-token"},
        "relay-orders-1": {"orders_relay"},
        "billing-1": {"billing_consumer"},
        "notifications-1": {"notifications_worker"},
        "orders-housekeeper-1": {"orders_housekeeper"},
        "billing-housekeeper-1": {"billing_housekeeper"},
        "analytics-housekeeper-1": {"analytics_housekeeper"},
        "mail-sink": set(),
        "load": set(),
    }.items():
        assert set(system.execute(service, "ls", SECRETS).stdout.split()) == own, service


def test_no_secret_stands_in_what_the_engine_tells_or_in_a_log(engine: None, system: Project) -> None:
    """Inspecting and reading logs is for everybody who helps; passwords are not."""
    secrets = the_secrets(system)
    assert len(secrets) > 10
    told = json.dumps(system.inspected()) + system.compose("logs", "--no-color").stdout
    assert not [name for name, secret in secrets.items() if secret in told]


def test_admin_endpoints_ask_for_the_token(engine: None, system: Project) -> None:
    """Without it 401, with it an answer."""
    url = f"http://127.0.0.1:{system.port('ORDERS')}/admin/outbox"
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(url, timeout=10)
    assert refused.value.code == 401
    token = the_secrets(system)["admin-token"]
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        assert answer.status == 200


def the_secrets(system: Project) -> dict[str, str]:
    script = (
        "import json, pathlib; folder = pathlib.Path('/run/secrets'); "
        "print(json.dumps({file.name: file.read_text().strip() for file in folder.iterdir()}))"
    )
    done = system.compose("run", "--rm", "--no-deps", "--no-TTY", "secrets", "python", "-c", script)
    found: dict[str, str] = json.loads(done.stdout.strip().splitlines()[-1])
    return found
