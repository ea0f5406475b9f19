"""A message that ends its process without an exception is found, and parked after a bounded number of deaths.

Seen red: with ``Caution.begin`` returning False no test here that counts deaths ends; without ``excuse`` a bug is taken
for a killer; without ``count_redrive`` a redriven killer kills for good.
"""

from collections.abc import Callable, Iterator, Sequence

import pytest
from sqlalchemy import Connection, Engine, event, text

from shared import failpoints
from shared.caution import DOUBTFUL
from shared.consumer_parking import MOST_DEATHS, MOST_TRIES
from shared.failpoints import Failpoint
from shared.inbox import Delivery
from tests.conftest import TopicFactory, eventually
from tests.integration.shared import messages
from tests.integration.shared.messages import lot, write_effects
from tests.integration.shared.test_consumer import Died, Group, Running
from tests.integration.shared.test_inbox_redrive import Member, refuses

BOUND = DOUBTFUL + MOST_DEATHS
"""One death that nobody noted, two at the stretch's beginning, three with the delivery alone in hand."""
PARKED = [("killer", 1, "parked")]

Handler = Callable[[Connection, Sequence[Delivery]], None]


@pytest.fixture
def group(kafka: str, topic: TopicFactory, consuming: Engine) -> Group:
    return Group(kafka, topic(1), consuming)


@pytest.fixture(autouse=True)
def disarmed() -> Iterator[None]:
    yield
    failpoints.disarm()


def dies_of(aggregate_id: str) -> Handler:
    """Return a handler that ends its member as a signal would: no loop catches it, and nothing is written of it."""

    def handler(connection: Connection, batch: Sequence[Delivery]) -> None:
        write_effects(connection, batch)
        if any(delivery.aggregate_id == aggregate_id for delivery in batch):
            raise Died

    return handler


def deaths(group: Group, handler: Handler, done: Callable[[], object], batch_size: int = 500) -> int:
    """Run one member after the other until what is wanted is so; return how many of them died."""
    for count in range(BOUND + 3):
        with Running(group.member(handler, batch_size)) as member:
            eventually(lambda member=member: member.ended() or done(), 40, lambda: (lot(group.engine), group.effects()))
        if member.died is None:
            return count
        assert isinstance(member.died, Died), member.died
    raise AssertionError(f"{BOUND + 3} members died")


def begun(engine: Engine) -> list[int]:
    with engine.connect() as connection:
        return list(connection.execute(text("SELECT times FROM inbox_begun")).scalars())


@pytest.mark.parametrize("batch_size", [500, 4])
def test_a_killer_is_parked_after_a_bounded_number_of_deaths(group: Group, batch_size: int) -> None:
    """It may stand in the first batch or in a later one; its neighbours are applied once each, in their order."""
    sound = [messages.event("sound", version) for version in range(1, 21)]
    group.publish(*sound[:13], messages.event("killer", 1), *sound[13:])
    died = deaths(group, dies_of("killer"), lambda: len(group.effects()) == 20 and lot(group.engine), batch_size)
    assert died <= BOUND
    assert lot(group.engine) == PARKED
    assert group.effects() == [("sound", version) for version in range(1, 21)]
    with group.engine.connect() as connection:
        error = connection.execute(text("SELECT error FROM inbox_parked")).scalar_one()
        assert "its process died 3 times while this message alone was applied" in error
        assert not connection.execute(text("SELECT count(*) FROM inbox_attempts")).scalar_one()


def test_members_that_are_killed_from_outside_park_nothing(group: Group) -> None:
    """Deaths with different deliveries in hand condemn none, however many they are."""
    group.publish(*[messages.event("sound", version) for version in range(1, 21)])
    for _ in range(BOUND):
        die_at_second(Failpoint.CONSUMER_AFTER_EFFECT_BEFORE_COMMIT)
        with Running(group.member(batch_size=2)) as member:
            eventually(member.ended, 40, group.effects)
    failpoints.disarm()
    with Running(group.member()):
        eventually(lambda: len(group.effects()) == 20, 40, group.effects)
    assert (lot(group.engine), len(set(group.effects()))) == ([], 20)


def die_at_second(point: Failpoint) -> None:
    reached: list[Failpoint] = []

    def hook(at: Failpoint) -> None:
        reached.extend([at] if at is point else [])
        if len(reached) == 2:
            raise Died(point)

    failpoints.arm(hook)


def test_a_bug_that_says_what_it_is_leaves_no_note(group: Group) -> None:
    """It is counted by its own rule, and its fifth crash still is the one that parks it."""
    group.publish(messages.event("killer", 1), messages.event("sound", 1))

    def handler(connection: Connection, batch: Sequence[Delivery]) -> None:
        write_effects(connection, batch)
        if any(delivery.aggregate_id == "killer" for delivery in batch):
            raise ZeroDivisionError

    for _ in range(1, MOST_TRIES):
        with Running(group.member(handler)) as member:
            eventually(member.ended, 40, "the member ends")
        assert isinstance(member.died, ZeroDivisionError)
        assert begun(group.engine) == []
    with Running(group.member(handler)):
        eventually(lambda: lot(group.engine) == PARKED and group.effects() == [("sound", 1)], 40, group.effects)


def test_nothing_is_written_for_messages_that_go_well(group: Group) -> None:
    """One note when the partition is given, one stroke through it, whatever number of batches comes."""
    written: list[str] = []

    def note(_c: object, _cursor: object, statement: str, _p: object, _context: object, _many: object) -> None:
        if "inbox_begun" in statement or "inbox_attempts" in statement:
            written.append(statement.split(maxsplit=1)[0])

    event.listen(group.engine, "before_cursor_execute", note)
    group.publish(*[messages.event("sound", version) for version in range(1, 61)])
    with Running(group.member(batch_size=2)):
        eventually(lambda: len(group.effects()) == 60, 40, group.effects)
        # The broker's answer comes while the member polls, and a later batch strikes the note out.
        group.publish(*[messages.event("later", version) for version in range(1, 21)])
        eventually(lambda: not begun(group.engine), 40, "it is struck out")
    event.remove(group.engine, "before_cursor_execute", note)
    assert [word for word in written if word != "SELECT"] == ["INSERT", "DELETE"]


def test_a_killer_that_is_redriven_is_parked_again(consuming: Engine) -> None:
    """A person has asked for another try, and gets three; what was held behind it stays held."""
    log = messages.Log()
    Member(consuming, refuses("killer")).receive(*(log.message(messages.event("killer", n)) for n in (1, 2)))
    with consuming.begin() as connection:
        connection.execute(text("UPDATE inbox_parked SET state = 'redriving' WHERE state = 'parked'"))
    for _ in range(MOST_DEATHS):
        with pytest.raises(Died):
            Member(consuming, dies_of("killer")).redrive()
    Member(consuming, dies_of("killer")).redrive()
    assert lot(consuming) == [("killer", 1, "parked"), ("killer", 2, "held")]
    with consuming.begin() as connection:
        connection.execute(text("UPDATE inbox_parked SET state = 'redriving' WHERE state = 'parked'"))
    Member(consuming).redrive()
    assert (lot(consuming), messages.effects(consuming)) == ([], [("killer", 1), ("killer", 2)])
