"""The running system in containers, seen from outside: ready, reachable, small."""

import re
import subprocess
from collections.abc import Callable

import pytest
from confluent_kafka.admin import AdminClient

from tests.compose.conftest import ROOT, Project, docker
from tests.conftest import eventually, slowness

Record = Callable[[str, object], None]
ONE_SHOTS = {"secrets", "databases", "migrate", "topics"}
COLD_SECONDS = 40
MEMORY_BYTES = 2_000_000_000
READY_AGAIN_SECONDS = 60
IMAGE_OVER_BASE_BYTES = 250_000_000


def test_it_is_ready_within_the_time_that_we_promise(
    engine: None, system: Project, record_testsuite_property: Record
) -> None:
    """From empty volumes to every health check, images built and pulled before."""
    record_testsuite_property("ready_after_seconds", round(system.up_seconds, 1))
    assert system.up_seconds <= COLD_SECONDS * slowness()


def test_every_service_is_healthy_and_every_one_shot_has_done_its_work(engine: None, system: Project) -> None:
    """``up --wait`` returned because of that, not in spite of it."""
    for name, found in system.inspected().items():
        state = found["State"]
        if name in ONE_SHOTS:
            assert (state["Status"], state["ExitCode"]) == ("exited", 0), name
        else:
            assert state["Health"]["Status"] == "healthy", name


def test_an_order_becomes_an_invoice(engine: None, system: Project) -> None:
    """By the URLs that are published, as a person would try it."""
    order = system.place()
    invoice = eventually(lambda: system.invoices(order["order_id"]), 30, "an invoice")
    assert len(invoice) == 1
    assert re.fullmatch(r"INV-\d{4}-\d{6}", invoice[0]["number"])
    assert eventually(lambda: system.get("ANALYTICS", "/revenue")["revenue"], 30, "revenue")


def test_the_whole_of_it_fits_into_two_gigabytes(
    engine: None, system: Project, record_testsuite_property: Record
) -> None:
    """Limits are a promise only if what is used stays below them."""
    identities = system.compose("ps", "--quiet").stdout.split()
    lines = docker("stats", "--no-stream", "--format", "{{.Name}} {{.MemUsage}}", *identities).splitlines()
    used = {line.split()[0]: size(line.split()[1]) for line in lines}
    record_testsuite_property("memory_megabytes", round(sum(used.values()) / 1e6))
    assert sum(used.values()) <= MEMORY_BYTES


def test_kafka_tells_programs_on_this_machine_an_address_that_they_can_reach(engine: None, system: Project) -> None:
    """A broker that advertises its name inside the network is found and then lost."""
    metadata = AdminClient({"bootstrap.servers": f"127.0.0.1:{system.port('KAFKA')}"}).list_topics(timeout=10)
    assert {(each.host, each.port) for each in metadata.brokers.values()} == {("127.0.0.1", system.port("KAFKA"))}
    assert {"orders.events", "billing.events"} <= metadata.topics.keys()
    assert len(metadata.topics["orders.events"].partitions) == 12


def test_internal_topics_have_the_one_copy_that_one_broker_can_hold(engine: None, system: Project) -> None:
    """With the default of three, no group ever finds its coordinator."""
    topics = AdminClient({"bootstrap.servers": f"127.0.0.1:{system.port('KAFKA')}"}).list_topics(timeout=10).topics
    assert {len(each.replicas) for each in topics["__consumer_offsets"].partitions.values()} == {1}


def test_a_topic_that_nobody_made_stays_away(engine: None, system: Project) -> None:
    """A misspelt name is an error instead of a new topic with one partition."""
    client = AdminClient({"bootstrap.servers": f"127.0.0.1:{system.port('KAFKA')}"})
    client.list_topics("order.events", timeout=10)
    assert "order.events" not in client.list_topics(timeout=10).topics


@pytest.mark.parametrize("service", ["orders-api", "billing-1", "notifications-1", "redis", "kafka"])
def test_a_process_that_dies_is_started_again(engine: None, system: Project, service: str) -> None:
    """SIGKILL of the main process: no handler runs, and the engine's restart policy answers."""
    before = system.inspected()[service]
    subprocess.run(["kill", "-KILL", str(before["State"]["Pid"])], check=True)
    eventually(lambda: is_healthy_again(system, service, before["State"]["Pid"]), READY_AGAIN_SECONDS, service)
    assert system.inspected()[service]["RestartCount"] > before["RestartCount"]


def test_orders_still_become_invoices_after_all_that(engine: None, system: Project) -> None:
    """Whatever was killed above has found its place again."""
    order = system.place()
    assert eventually(lambda: system.invoices(order["order_id"]), 60, "an invoice")


def test_the_image_is_small_and_holds_no_chaos(engine: None, images: None, record_testsuite_property: Record) -> None:
    """What breaks things is not there to be found in production."""
    tag = re.search(r"(?m)^ONCE_VERSION=(.*)$", (ROOT / ".env").read_text())
    python = re.search(r"(?m)^PYTHON_IMAGE=(.*)$", (ROOT / ".env").read_text())
    assert tag
    assert python
    sizes = {
        name: int(docker("image", "inspect", "-f", "{{.Size}}", name))
        for name in (f"effectively-once/runtime:{tag[1]}", f"effectively-once/workshop:{tag[1]}", python[1])
    }
    runtime, workshop, base = sizes.values()
    record_testsuite_property("megabytes_over_base", [round((each - base) / 1e6) for each in (runtime, workshop)])
    assert max(runtime, workshop) - base <= IMAGE_OVER_BASE_BYTES
    found = docker("run", "--rm", "--network", "none", next(iter(sizes)), "ls", "/app", "/app/infra")
    assert not {"chaos", "loadtests", "cli", "compose", "local", "tests"} & set(found.split())


def is_healthy_again(system: Project, service: str, former: int) -> bool:
    state = system.inspected()[service]["State"]
    return state["Pid"] not in {0, former} and state["Health"]["Status"] == "healthy"


def size(text: str) -> float:
    number, unit = re.fullmatch(r"([\d.]+)(\w+)", text).groups()  # type: ignore[union-attr]
    return float(number) * {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}[unit]
