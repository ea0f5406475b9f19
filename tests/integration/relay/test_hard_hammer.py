"""The relay under the hammer, and wrong relays under the same one. See ``tests/hammer``."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.local.stack import LocalStack
from services.relay.relay import Relay
from tests.hammer.__main__ import WRONG, wrong_relay
from tests.hammer.bout import Plan, play
from tests.hammer.ground import CrashingServer, crashing_server, database

CRASHES = "_relay_keeps_positions"
"""Found by a crash of the server alone."""


@pytest.fixture
def crashing(tmp_path: Path) -> Iterator[CrashingServer]:
    with crashing_server(tmp_path) as server:
        yield server


@pytest.mark.parametrize(
    ("seed", "seconds"), [(1, 6.0), *(pytest.param(n, 25.0, marks=pytest.mark.full) for n in (2, 3))]
)
def test_nothing_is_found_in_the_relay_as_it_is(stack: LocalStack, seed: int, seconds: float) -> None:
    """Late commits, roll-backs, two-phase commits, deaths before and after any statement, a moody broker."""
    with database(stack.superuser_url("postgres")) as url:
        outcome = play(url, Plan(seed=seed, seconds=seconds))
    assert not outcome.found
    assert outcome.events > 100
    assert outcome.copies > outcome.events


@pytest.mark.full
@pytest.mark.parametrize("wrong", [name for name in WRONG if name != CRASHES])
def test_each_wrong_relay_is_found_within_a_minute(stack: LocalStack, wrong: str) -> None:
    """A guard counts once it has been seen red without it."""
    with database(stack.superuser_url("postgres")) as url:
        outcome = play(url, Plan(seed=1, seconds=60.0, relay=wrong_relay(wrong)))
    assert outcome.found


@pytest.mark.full
@pytest.mark.parametrize(("wrong", "seconds"), [(None, 20.0), (CRASHES, 60.0)])
def test_a_crashing_server_with_asynchronous_commits(
    crashing: CrashingServer, wrong: str | None, seconds: float
) -> None:
    """Positions kept over a lost connection are found; read again from the table, nothing is."""
    relay = wrong_relay(wrong) if wrong else Relay
    with database(crashing.url) as url:
        outcome = play(url, Plan(seed=1, seconds=seconds, relay=relay, crash=crashing.crash))
    assert bool(outcome.found) is bool(wrong)
