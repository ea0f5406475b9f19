"""Three brokers in containers: one dies, two are stopped, all are rolled, the controller is lost."""

import os
import subprocess
from collections.abc import Iterator

import pytest
from confluent_kafka.admin import AdminClient

from infra.kafka.health import judge
from tests.compose.conftest import ROOT, Project, free_port, new_project
from tests.conftest import eventually

SCENARIOS = ("broker_killed", "two_brokers_stopped", "brokers_rolled", "controller_lost", "leaders_moved")
on_demand = pytest.mark.skipif(
    not os.environ.get("CLUSTER"),
    reason="it takes minutes, and the local stack runs it each time; CLUSTER=1 runs it here",
)
FILES = "docker-compose.yml:docker-compose.cluster.yml"


@pytest.fixture(scope="module")
def cluster(images: None) -> Iterator[Project]:
    """Return a running project with three brokers, just started with empty volumes."""
    further = {f"KAFKA_{number}_PORT": str(free_port()) for number in (2, 3)}
    project = new_project(COMPOSE_FILE=FILES, **further)
    try:
        project.compose("up", "--detach", "--wait")
        yield project
    finally:
        project.destroy()


def test_every_copy_is_in_step_on_three_brokers(engine: None, cluster: Project) -> None:
    """Ours and Kafka's own; a program on this machine reaches each broker by the port that it is told."""
    client = AdminClient({"bootstrap.servers": f"127.0.0.1:{cluster.port('KAFKA')}"})

    def is_whole() -> bool:
        told = client.list_topics(timeout=10)
        copies = {len(each.replicas) for topic in told.topics.values() for each in topic.partitions.values()}
        return len(told.brokers) == 3 and copies == {3} and judge(told).is_whole

    eventually(is_whole, 30, "three copies of everything, in step")


@pytest.mark.parametrize("name", [SCENARIOS[0], *(pytest.param(name, marks=on_demand) for name in SCENARIOS[1:])])
def test_it_ends_as_foretold(engine: None, cluster: Project, name: str) -> None:
    """The same scenario as on the local stack, by the command that a person would use."""
    done = subprocess.run(
        ["docker", "compose", "run", "--rm", "--no-TTY", "once", "chaos", "run", name, "--seed", "7", "--seconds", "8"],
        cwd=ROOT,
        env=cluster.variables(),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
