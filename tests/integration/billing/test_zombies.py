"""A member that was stopped, put out of its group, and goes on with a batch in hand: it changes nothing any more.

Real processes and both group protocols. The time-outs are as short as the broker allows: a silent member is out after
six seconds (``session.timeout.ms`` of the classic protocol, the broker's own of the newer one).
"""

import signal
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

import pytest
from sqlalchemy import Engine

from shared.database import create_engine
from shared.failpoints import Failpoint
from tests.conftest import DatabaseFactory, TopicFactory, eventually
from tests.integration.billing.members import Crew, crew
from tests.integration.billing.orders import cancelled, deliver, everything, placed, rows
from tests.integration.billing.test_billing_consumer import publish

INBOX = "SELECT count(*) FROM inbox"
POINTS = [point for point in Failpoint if point.startswith("consumer.")]
WORST = ("consumer", Failpoint.CONSUMER_AFTER_EFFECT_BEFORE_COMMIT)
"""Hangs with its locks held."""
OTHERS = [place for place in product(("consumer", "classic"), POINTS) if place != WORST]

Play = Callable[[tuple[str, Failpoint]], None]


@pytest.fixture
def play(postgres_url: DatabaseFactory, kafka: str, topic: TopicFactory, tmp_path: Path) -> Play:
    """Return a function that plays one case, with a database, a topic and a group of its own."""

    def play(place: tuple[str, Failpoint]) -> None:
        protocol, point = place
        url, folder = postgres_url(of="billing"), tmp_path / f"{protocol}-{point}"
        folder.mkdir()
        engine = create_engine(url, None, "test", pool_size=5)
        with crew(url, kafka, topic(3), protocol, folder) as members:
            changes_nothing(engine, members, point)
        engine.dispose()

    return play


@pytest.mark.timeout(180)
def test_a_zombie_changes_nothing_and_commits_no_offset(play: Play) -> None:
    """In the worst place to hang."""
    play(WORST)


@pytest.mark.full
@pytest.mark.timeout(300)
def test_it_does_not_wherever_it_hangs_and_whatever_its_groups_protocol(play: Play) -> None:
    """The other places, side by side: nearly all of it is waiting for time-outs."""
    with ThreadPoolExecutor(len(OTHERS)) as pool:
        list(pool.map(play, OTHERS))


def changes_nothing(engine: Engine, members: Crew, point: Failpoint) -> None:
    """Another has taken over and gone further; then the zombie goes on with what it holds, and nothing moves back.

    Where it hangs inside its transaction, the server ends that after ten seconds: its locks do not hold up the heir.
    """
    orders = [placed() for _ in range(30)]
    publish(members.kafka, members.topic, deliver(*orders, cancelled(orders[0])))
    members.start("zombie", f"{point}=stop zombie")
    eventually(lambda: members.is_stopped("zombie"), 90, "the zombie hangs with a batch in hand")

    members.start("heir")
    eventually(lambda: rows(engine, INBOX) == [(31,)], 90, "the heir has all partitions and applies everything")
    publish(members.kafka, members.topic, deliver(*(placed() for _ in range(30))))
    eventually(lambda: rows(engine, INBOX) == [(61,)], 40, "the heir goes on")
    eventually(lambda: sum(members.committed().values()) == 61, 20, "the heir has committed all that it did")
    before, offsets = everything(engine), members.committed()

    members.signal("zombie", signal.SIGCONT)
    seen: Counter[tuple[tuple[int, int], ...]] = Counter()

    def back_in_the_group() -> bool:
        seen[tuple(sorted(members.committed().items()))] += 1
        done = members.says("zombie", "batch applied") or members.says("zombie", "batch held")
        return bool(done) and members.says("zombie", "partitions assigned") >= 2

    eventually(back_in_the_group, 60, lambda: members.log("zombie").read_text()[-3000:])
    assert everything(engine) == before
    assert {tuple(sorted(offsets.items()))} == set(seen), "no offset went back"
    assert members.says("zombie", "partitions lost") >= 1

    assert members.end("heir") == 0
    publish(members.kafka, members.topic, deliver(*(placed() for _ in range(5))))
    eventually(lambda: rows(engine, INBOX) == [(66,)], 40, "the zombie is a member like any other again")
