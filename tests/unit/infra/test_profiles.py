"""The profile ``cluster``: how many of each there are, where they listen, and which scenarios need it."""

from collections import Counter
from pathlib import Path

import pytest

from chaos import scenarios
from infra.local.errors import StackError
from infra.local.kafka import copies
from infra.local.profile import Profile
from infra.local.services import programs
from infra.local.stack import LocalStack


@pytest.fixture
def idle(tmp_path: Path) -> LocalStack:
    return LocalStack.open({"ONCE_HOME": str(tmp_path / "home")})


def test_a_cluster_has_two_of_every_relay_and_of_every_consumer() -> None:
    """Whichever dies, another one of its kind is there."""
    table = programs("main", profile=Profile.CLUSTER).values()
    members = Counter(program.group for program in table if program.group)
    relays = Counter(program.database for program in table if program.name.startswith("relay-"))
    assert members == {"orders": 2, "billing": 2, "analytics": 2}
    assert relays == {"orders": 2, "billing": 2}


def test_three_copies_of_which_two_have_to_have_a_write() -> None:
    """Of topics and of Kafka's own: a group whose offsets had one copy would stand still with their broker."""
    assert copies(3)["default.replication.factor"] == copies(3)["offsets.topic.replication.factor"] == "3"
    assert copies(3)["min.insync.replicas"] == copies(3)["transaction.state.log.min.isr"] == "2"
    assert set(copies(1).values()) == {"1"}


def test_a_cluster_takes_ports_beyond_those_of_a_home_that_was_there(idle: LocalStack) -> None:
    """The ports that were noted stay, and each broker has its own."""
    small = idle.ports()
    idle.choose(Profile.CLUSTER)
    assert idle.ports().items() >= small.items()
    assert len(set(idle.ports().values())) == len(idle.ports())
    assert idle.servers.kafka.count(",") == 2


def test_a_home_with_data_keeps_its_profile(idle: LocalStack) -> None:
    """Red without the look at what is there: a log made for one broker would be started as a third of another."""
    idle.kafka().data.mkdir(parents=True)
    idle.choose(Profile.SMALL)
    with pytest.raises(StackError, match="once reset --profile cluster"):
        idle.choose(Profile.CLUSTER)
    assert idle.profile is Profile.SMALL


def test_a_scenario_runs_only_where_there_is_what_it_breaks() -> None:
    """A broker out of three needs three; a proxy in Kafka's way, or a member that stands by, is of the small stack."""
    wanted = {"broker_killed": {"cluster"}, "kafka_out_of_reach": {"small"}, "smoke": {"small", "cluster"}}
    for name, profiles in wanted.items():
        assert {each for each in Profile if scenarios.load(name).runs_on(each)} == profiles
