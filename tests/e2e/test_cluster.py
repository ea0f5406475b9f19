"""The scenarios that need more than one of a server, each on a cluster of this module's own."""

import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from uuid import uuid4

import psycopg
import pytest
from confluent_kafka import Producer

from chaos import scenarios
from chaos.checker.verdict import judge, to_text
from chaos.faults.server import family
from chaos.run import perform
from chaos.watcher import Silent
from infra.doctor import Level
from infra.doctor.copies import check_copies
from infra.kafka.topics import delete_topics, ensure_topics
from infra.local import failover
from infra.local.home import Home
from infra.local.profile import Profile
from infra.local.stack import LocalStack
from infra.status.picture import take
from tests.conftest import eventually

pytestmark = [pytest.mark.full, pytest.mark.timeout(240)]

NAMES = [name for name in scenarios.names() if scenarios.load(name).profile is Profile.CLUSTER]
MEMORY_BYTES = 4_000_000_000


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalStack]:
    """Return a stack of the profile ``cluster`` beside the one that other tests use; nothing is left of it."""
    home = Home.from_environment(os.environ).root / "cluster"
    stack = LocalStack.open({**os.environ, "ONCE_HOME": str(home)})
    stack.destroy()
    stack.choose(Profile.CLUSTER)
    try:
        stack.servers_up()
        yield stack
    finally:
        stack.destroy()


@pytest.mark.parametrize("name", NAMES)
def test_it_ends_as_foretold(cluster: LocalStack, name: str) -> None:
    """Judged by the checker from the evidence, like every scenario."""
    scenario = scenarios.load(name)
    scenario = replace(scenario, workload=replace(scenario.workload, seconds=8.0))
    finished = perform(scenario, watcher=Silent(), seed=7, stack=cluster)
    verdict = judge(finished.evidence)
    print(to_text(verdict), finished.problems)  # noqa: T201 - shown by pytest when the test fails
    assert verdict.status == scenario.expect.verdict
    assert scenario.judged(verdict).as_foretold
    assert not finished.problems


def test_a_lost_broker_and_its_partitions_are_named(cluster: LocalStack) -> None:
    """By `once status` and by `once doctor`, and no more once it is back. Red without the look at copies."""
    cluster.deployment().prepare()
    cluster.supervisor().stop_process("kafka-3")
    told = "\n".join(eventually(lambda: take(cluster).trouble, 30, "status tells"))
    found = "\n".join(each.found for each in check_copies(cluster))
    for words in (told, found):
        assert "Broker 3 is away" in words
        assert re.search(r"\d+ partitions have too few copies in step: orders.events/0", words)
    cluster.servers_up()
    assert take(cluster).trouble == []
    assert {each.level for each in check_copies(cluster)} == {Level.OK}


def test_a_write_needs_two_disks(cluster: LocalStack) -> None:
    """With one broker left our topics take no write. A topic without the guard does, and then holds it once.

    Red for our topics when they, too, ask for one copy alone.
    """
    deployment, single = cluster.deployment(), f"single-{uuid4().hex[:6]}"
    deployment.prepare()
    ensure_topics(cluster.servers.kafka, [single], replication=3, min_insync=1)
    try:
        for server in ("kafka-3", "kafka-2"):  # each in good order, so that it leaves the copies in step
            cluster.supervisor().stop_process(server)
        ours = deployment.topics["ORDERS_TOPIC"]
        assert taken(cluster.servers.kafka, [ours, single]) == {single}
    finally:
        cluster.servers_up()
        delete_topics(cluster.servers.kafka, [single])


def taken(bootstrap: str, topics: list[str]) -> set[str]:
    """Send a message to each topic; return those whose broker has acknowledged it as our relays demand it."""
    found: set[str] = set()
    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", "message.timeout.ms": 8_000, "log_level": 0})
    for topic in topics:
        producer.produce(topic, b"{}", on_delivery=lambda error, message: error or found.add(message.topic()))
    producer.flush(20)
    return found


def test_a_standby_that_lags_or_is_away_is_named(cluster: LocalStack) -> None:
    """It stands still while the primary writes on without it; then it is stopped."""
    primary, standby = failover.pair(cluster)
    failover.release_copies(primary)
    pid = cluster.supervisor().pid(standby.name)
    assert pid is not None
    with stopped(pid), psycopg.connect(cluster.superuser_url("postgres"), autocommit=True) as connection:
        connection.execute(
            "SELECT pg_logical_emit_message(false, 'test', repeat('x', 900000)) FROM generate_series(1, 60)"
        )
        assert any(f"{standby.name} lags" in line for line in take(cluster).trouble)
        assert any(f"{standby.name} lags" in each.found for each in check_copies(cluster))
    cluster.supervisor().stop_process(standby.name)
    eventually(lambda: any("No standby follows" in line for line in take(cluster).trouble), 30, "it is missed")
    cluster.servers_up()
    failover.demand_copies(primary)
    eventually(lambda: take(cluster).trouble == [], 30, lambda: take(cluster).trouble)


def test_an_old_primary_does_not_come_back_as_one(cluster: LocalStack) -> None:
    """Red without the fence: two servers would take writes, and services go to the first that does."""
    old, new = failover.pair(cluster)
    assert failover.promote(cluster, print).name == new.name
    cluster.servers_up()
    with psycopg.connect(old.url("postgres")) as connection:
        assert connection.execute("SELECT pg_is_in_recovery()").fetchone() == (True,)
    assert failover.rebuild(cluster, print).name == old.name
    assert failover.is_whole(cluster)


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    processes = family(pid)
    for each in processes:
        os.kill(each, signal.SIGSTOP)
    try:
        yield
    finally:
        for each in processes:
            os.kill(each, signal.SIGCONT)


def test_all_of_it_lives_in_four_gigabytes(cluster: LocalStack) -> None:
    """Three brokers, both databases, Redis and every service: the proportional share of each, summed up."""
    deployment = cluster.deployment()
    deployment.prepare()
    deployment.start()
    try:
        servers = sum(map(cluster.memory_bytes, cluster.server_processes()))
        services = sum(map(deployment.memory_bytes, deployment.processes()))
    finally:
        deployment.stop()
    print(f"servers {servers / 1e6:.0f} MB, services {services / 1e6:.0f} MB")  # noqa: T201
    assert servers + services < MEMORY_BYTES
