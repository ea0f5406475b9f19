"""Out of the parking lot again: in the order of arrival, once, by whichever member comes first."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import pytest
from confluent_kafka import Consumer as KafkaConsumer
from sqlalchemy import Connection, Engine, text

from shared import database, failpoints
from shared.applying import Applier, Handler, read_payload
from shared.consumer_parking import Parking, Policy
from shared.errors import PermanentError, RefusedError, TransientError
from shared.failpoints import Failpoint
from shared.inbox import DatabaseInbox, Delivery
from shared.inbox_parking import InboxLot
from shared.inbox_redrive import Redriver
from shared.parking import UnknownEntryError
from shared.receiving import Received, Receiver
from tests.conftest import eventually
from tests.integration.shared.messages import Log, effects, event, lot, recorded, write_effects

LOT = InboxLot()


def nowhere() -> Receiver:
    """Return the receiver of a member that belongs to no group."""
    return Receiver(KafkaConsumer({"bootstrap.servers": "127.0.0.1:1", "group.id": "test", "log_level": 0}), "test")


class Member:
    """One consumer's way of applying, without its log."""

    def __init__(self, engine: Engine, handler: Handler = write_effects, policy: Policy = Policy.HOLD) -> None:
        self._engine = engine
        parking = Parking("test", policy)
        self.applier = Applier(inbox=DatabaseInbox("test"), handler=handler, parking=parking, read=read_payload)
        self._parts = {"engine": engine, "applier": self.applier, "parking": parking}
        self._receiver = nowhere()

    def receive(self, *batch: Received) -> None:
        with database.transaction(self._engine) as connection:
            self.applier.apart(connection, batch)

    def redrive(self) -> None:
        """Look at once, and apply what is due."""
        Redriver(**self._parts, receiver=self._receiver, group="test").step()  # type: ignore[arg-type]


def refuses(*names: str) -> Handler:
    def handler(connection: Connection, batch: Sequence[Delivery]) -> None:
        if any(delivery.aggregate_id in names for delivery in batch):
            raise PermanentError("not yet")
        write_effects(connection, batch)

    return handler


def ask(engine: Engine, do: Callable[[Connection, str], None], place: int = 0) -> None:
    """Do what a person does, to the entry at this place in the lot."""
    with database.transaction(engine) as connection:
        do(connection, LOT.entries(connection, limit=100)[place].id)


def redrive(connection: Connection, entry_id: str) -> None:
    LOT.redrive(connection, entry_id)


def discard(connection: Connection, entry_id: str) -> None:
    LOT.discard(connection, entry_id, "a test")


@pytest.fixture(autouse=True)
def disarmed() -> Iterator[None]:
    yield
    failpoints.disarm()


def test_nothing_leaves_the_lot_unasked(consuming: Engine) -> None:
    log = Log()
    Member(consuming, refuses("a")).receive(*(log.message(event("a", version)) for version in (1, 2)))
    Member(consuming).redrive()
    assert lot(consuming) == [("a", 1, "parked"), ("a", 2, "held")]


def test_what_was_held_follows_in_its_order_and_newer_ones_behind_it(consuming: Engine) -> None:
    """Also what arrives while the lot is being emptied: it is held until the lot has none of its key."""
    log, member = Log(), Member(consuming)
    Member(consuming, refuses("a")).receive(*(log.message(event("a", version)) for version in (1, 2, 3)))
    ask(consuming, redrive)

    def arrives(connection: Connection, batch: Sequence[Delivery]) -> None:
        write_effects(connection, batch)
        if batch[0].envelope.aggregate_version == 1:
            member.receive(log.message(event("a", 4)), log.message(event("b", 1)))

    Member(consuming, arrives).redrive()
    assert lot(consuming) == []
    assert [version for name, version in effects(consuming) if name == "a"] == [1, 2, 3, 4]
    assert ("b", 1) in effects(consuming)
    member.receive(log.message(event("a", 5)))
    assert recorded(consuming) == {("b", 1), *(("a", version) for version in range(1, 6))}


def test_one_that_fails_again_is_parked_again_and_still_holds(consuming: Engine) -> None:
    """With the new reason and one try more."""
    log, old = Log(), Member(consuming, refuses("a"))
    old.receive(*(log.message(event("a", version)) for version in (1, 2)))
    ask(consuming, redrive)
    old.redrive()
    assert lot(consuming) == [("a", 1, "parked"), ("a", 2, "held")]
    with consuming.connect() as connection:
        entry = LOT.entries(connection, limit=1)[0]
    assert (entry.attempts, entry.error) == (2, "not yet")
    assert (effects(consuming), recorded(consuming)) == ([], set())


def test_a_message_that_still_cannot_be_read_is_parked_again(consuming: Engine) -> None:
    log, member = Log(), Member(consuming)
    member.receive(log.message(event("a", 1), value=None), log.message(event("b", 1), value=b"?"))
    for place in (0, 1):
        ask(consuming, redrive, place)
    member.redrive()
    assert [state for _, _, state in lot(consuming)] == ["parked", "parked"]


def test_discarding_lets_go_what_was_held(consuming: Engine) -> None:
    """The discarded one stays on record and is never applied."""
    log = Log()
    Member(consuming, refuses("a")).receive(*(log.message(event("a", version)) for version in (1, 2, 3)))
    ask(consuming, discard)
    Member(consuming).redrive()
    assert lot(consuming) == [("a", 1, "discarded")]
    assert effects(consuming) == [("a", 2), ("a", 3)]


def test_a_held_one_that_is_discarded_is_left_out(consuming: Engine) -> None:
    log = Log()
    Member(consuming, refuses("a")).receive(*(log.message(event("a", version)) for version in (1, 2, 3)))
    ask(consuming, discard, 1)
    ask(consuming, redrive)
    Member(consuming).redrive()
    assert effects(consuming) == [("a", 1), ("a", 3)]


def test_with_the_policy_skip_each_stands_for_itself(consuming: Engine) -> None:
    """The second may go although the first waits for a person."""
    log = Log()
    Member(consuming, refuses("a"), Policy.SKIP).receive(*(log.message(event("a", version)) for version in (1, 2)))
    ask(consuming, redrive, 1)
    Member(consuming, policy=Policy.SKIP).redrive()
    assert lot(consuming) == [("a", 1, "parked")]
    assert effects(consuming) == [("a", 2)]


def test_an_outage_leaves_the_request_as_it_is(consuming: Engine) -> None:
    """No try is counted, and the next look makes it."""
    log = Log()

    def away(_connection: Connection, _batch: Sequence[Delivery]) -> None:
        raise TransientError("away")

    Member(consuming, refuses("a")).receive(log.message(event("a", 1)))
    ask(consuming, redrive)
    Member(consuming, away).redrive()
    assert lot(consuming) == [("a", 1, "redriving")]
    Member(consuming).redrive()
    assert effects(consuming) == [("a", 1)]


def test_a_death_before_the_commit_loses_and_doubles_nothing(consuming: Engine) -> None:
    """The entry leaves its lot with its effect, or stays."""
    Member(consuming, refuses("a")).receive(Log().message(event("a", 1)))
    ask(consuming, redrive)

    class Died(BaseException):
        pass

    def die(point: Failpoint) -> None:
        if point is Failpoint.CONSUMER_AFTER_EFFECT_BEFORE_COMMIT:
            raise Died

    failpoints.arm(die)
    with pytest.raises(Died):
        Member(consuming).redrive()
    failpoints.disarm()
    assert (lot(consuming), effects(consuming)) == ([("a", 1, "redriving")], [])
    Member(consuming).redrive()
    assert (lot(consuming), effects(consuming)) == ([], [("a", 1)])


def test_two_members_share_the_work_and_double_nothing(consuming: Engine) -> None:
    """An entry in one's hand is passed over by the other."""
    log = Log()
    Member(consuming, refuses("a", "b")).receive(log.message(event("a", 1)), log.message(event("b", 1)))
    for place in (0, 1):
        ask(consuming, redrive, place)
    with _stopped_in(consuming, "a"):
        Member(consuming).redrive()
        assert effects(consuming) == [("b", 1)]
    assert sorted(effects(consuming)) == [("a", 1), ("b", 1)]
    assert lot(consuming) == []


def test_a_redelivery_during_the_redrive_changes_nothing(consuming: Engine) -> None:
    """The copy waits at the inbox until the redrive has committed, and is then a duplicate."""
    message = Log().message(event("a", 1))
    Member(consuming, refuses("a")).receive(message)
    ask(consuming, redrive)
    copy = threading.Thread(target=Member(consuming).receive, args=(message,))
    with _stopped_in(consuming, "a"):
        copy.start()
        eventually(lambda: _waiting(consuming), 20, "the copy waits")
    copy.join(20)
    assert (lot(consuming), effects(consuming), recorded(consuming)) == ([], [("a", 1)], {("a", 1)})


def test_a_redrive_during_a_redelivery_waits_for_it(consuming: Engine) -> None:
    """The copy is known to the lot and takes its inbox row back; the redrive then has the effect."""
    message = Log().message(event("a", 1))
    Member(consuming, refuses("a")).receive(message)
    ask(consuming, redrive)
    redriving = threading.Thread(target=Member(consuming).redrive)
    with database.transaction(consuming) as connection:
        Member(consuming).applier.together(connection, [message])
        redriving.start()
        eventually(lambda: _waiting(consuming), 20, "the redrive waits")
    redriving.join(20)
    assert (lot(consuming), effects(consuming), recorded(consuming)) == ([], [("a", 1)], {("a", 1)})


def test_what_a_person_may_not_do_is_refused_with_words(consuming: Engine) -> None:
    log = Log()
    Member(consuming, refuses("a")).receive(*(log.message(event("a", version)) for version in (1, 2)))
    with pytest.raises(RefusedError, match="waits behind"):
        ask(consuming, redrive, 1)
    ask(consuming, redrive)
    with pytest.raises(RefusedError, match="already"):
        ask(consuming, redrive)
    with pytest.raises(RefusedError, match="right now"):
        ask(consuming, discard)
    with pytest.raises(UnknownEntryError):
        ask(consuming, lambda connection, _id: LOT.redrive(connection, "999999"))


@contextmanager
def _stopped_in(engine: Engine, name: str) -> Iterator[None]:
    """Have a member redrive, and stop in the middle of this aggregate until the block has ended."""
    inside, go_on = threading.Event(), threading.Event()

    def handler(connection: Connection, batch: Sequence[Delivery]) -> None:
        write_effects(connection, batch)
        if batch[0].aggregate_id == name:
            inside.set()
            go_on.wait(30)

    member = threading.Thread(target=Member(engine, handler).redrive)
    member.start()
    try:
        assert inside.wait(20)
        yield
    finally:
        go_on.set()
        member.join(20)


def _waiting(engine: Engine) -> bool:
    with engine.connect() as connection:
        waiting = (
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )
        return bool(connection.execute(text(waiting)).scalar())
