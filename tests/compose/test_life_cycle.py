"""Coming, going, staying: what a person does with `docker compose` on the first evening."""

import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from time import monotonic

import pytest

from tests.compose.conftest import ROOT, Project, docker, new_project
from tests.conftest import eventually

CTRL_C_SECONDS = 15


@pytest.fixture
def project(images: None) -> Iterator[Project]:
    """Return a project that is not up."""
    project = new_project()
    try:
        yield project
    finally:
        project.destroy()


def test_down_and_up_again_keeps_orders(engine: None, project: Project) -> None:
    """Volumes have names: an order outlives its containers, and is not invoiced a second time."""
    project.compose("up", "--detach", "--wait")
    order = project.place()
    invoice = eventually(lambda: project.invoices(order["order_id"]), 60, "an invoice")
    project.compose("down")
    project.compose("up", "--detach", "--wait")
    assert project.get("ORDERS", f"/orders/{order['order_id']}")["order_id"] == order["order_id"]
    assert project.invoices(order["order_id"]) == invoice

    project.compose("down", "--volumes")
    assert project.name not in docker("volume", "ls", "--format", "{{.Name}}")
    assert project.name not in docker("network", "ls", "--format", "{{.Name}}")
    project.compose("up", "--detach", "--wait")
    assert project.get("ANALYTICS", "/revenue")["revenue"] == []


def test_a_second_project_stands_beside_the_first(engine: None, system: Project, project: Project) -> None:
    """Names, networks, volumes and ports are each project's own; neither sees the other's orders."""
    project.compose("up", "--detach", "--wait", "orders-api", "billing-api")
    theirs, ours = system.place(), project.place()
    assert project.get("ORDERS", f"/orders/{ours['order_id']}")["order_id"] == ours["order_id"]
    with pytest.raises(OSError, match="404"):
        project.get("ORDERS", f"/orders/{theirs['order_id']}")


def test_ctrl_c_ends_a_foreground_up_soon_and_cleanly(engine: None, project: Project) -> None:
    """The log ends with where to look and what to do next, and Ctrl-C is heard by everybody."""
    project.environment = {**project.environment, "LOAD": "1"}
    log = ROOT / ".once" / f"{project.name}.log"
    log.parent.mkdir(exist_ok=True)
    with log.open("w") as output:
        up = subprocess.Popen(
            ["docker", "compose", "up"], cwd=ROOT, env=project.variables(), stdout=output, stderr=subprocess.STDOUT
        )
    try:
        said = eventually(
            lambda: "docker compose run --rm once demo" in log.read_text() and log.read_text(), 180, "URLs"
        )
        assert re.search(r"order \S+ has got its invoice INV-\d{4}-\d{6}", str(said))
        assert f"http://127.0.0.1:{project.port('ORDERS')}/orders" in str(said)
        assert '"event"' not in str(said), "logs of services are for `docker compose logs`"
        begun = monotonic()
        up.send_signal(signal.SIGINT)
        up.wait(timeout=60)
        took = monotonic() - begun
    finally:
        up.kill()
        log.unlink()
    assert took <= CTRL_C_SECONDS
    codes = {name: found["State"]["ExitCode"] for name, found in project.inspected().items()}
    # Java ends with 128 + SIGTERM after a clean shutdown; 137 would be a kill after the grace period.
    assert {name: code for name, code in codes.items() if code not in {0, 143}} == {}


def test_a_taken_port_is_an_error_that_names_the_port(engine: None, project: Project) -> None:
    """And the doctor names the holder and the variable (see test_doctor)."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", project.port("POSTGRES")))
        holder.listen()
        done = project.compose("up", "--detach", "--wait", "postgres", check=False)
    assert done.returncode != 0
    assert str(project.port("POSTGRES")) in done.stderr


def test_without_the_file_of_versions_a_sentence_says_what_is_missing(engine: None, project: Project) -> None:
    """Instead of an image with an empty tag."""
    done = project.compose("--env-file", "/dev/null", "config", "--quiet", check=False)
    assert done.returncode != 0
    assert ".env" in done.stderr
