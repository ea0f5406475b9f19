"""What becomes of a batch with poison in it: applied, parked or held, and never two of these."""

import threading
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import OperationalError, ProgrammingError

from shared import database
from shared.applying import Applier, CulpritError, Handler, Outcome, read_payload
from shared.clock import utc_now
from shared.consumer_parking import MOST_TRIES, Parking, Policy
from shared.dedup_window import DedupWindow
from shared.envelope import Envelope
from shared.errors import PermanentError, TransientError
from shared.inbox import DatabaseInbox, Delivery
from shared.receiving import Received
from tests.conftest import eventually
from tests.integration.shared.messages import Log, effects, event, lot, recorded, with_header, write_effects

PARKING = Parking("test", Policy.HOLD)


def applier(handler: Handler = write_effects, policy: Policy = Policy.HOLD) -> Applier:
    return Applier(inbox=DatabaseInbox("test"), handler=handler, parking=Parking("test", policy), read=read_payload)


def together(engine: Engine, *batch: Received, policy: Policy = Policy.HOLD) -> Outcome:
    with database.transaction(engine) as connection:
        return applier(policy=policy).together(connection, batch)


def apart(engine: Engine, handler: Handler, *batch: Received) -> Outcome:
    with database.transaction(engine) as connection:
        return applier(handler).apart(connection, batch)


def failing(aggregate_id: str, error: Exception) -> Handler:
    """Return a handler that writes what comes before an aggregate, and then fails at it."""

    def handler(connection: Connection, batch: Sequence[Delivery]) -> None:
        for delivery in batch:
            if delivery.aggregate_id == aggregate_id:
                raise error
            write_effects(connection, [delivery])

    return handler


POISON = event("poison", 1)
KINDS = {
    "broken bytes": {"value": b"\x00\xff{"},
    "an unknown type": {"headers": with_header(POISON, "ce_type", b"OrderEaten")},
    "a schema from the future": {
        "headers": with_header(POISON, "ce_dataschema", b"urn:effectively-once:OrderConfirmed:99")
    },
    "a missing header": {"headers": with_header(POISON, "ce_id", None)},
    "a header that is no text": {"headers": with_header(POISON, "ce_subject", b"\xff\xfe")},
    "no value": {"value": None},
    "900 kB of something else": {"value": b"[" + b"1," * 450_000 + b"1]"},
}


@pytest.mark.parametrize("kind", KINDS)
def test_poison_of_any_kind_is_parked_and_its_neighbours_are_applied(consuming: Engine, kind: str) -> None:
    """With its bytes and headers exactly as they came, without an inbox row, and once however often it comes."""
    log = Log()
    spoiled = log.message(POISON, **KINDS[kind])  # type: ignore[arg-type]  # the keywords are that function's
    batch = [log.message(event("a", 1)), spoiled, log.message(event("b", 1))]
    assert len(together(consuming, *batch).parked) == 1
    assert together(consuming, *batch) == Outcome()
    assert effects(consuming) == [("a", 1), ("b", 1)]
    assert recorded(consuming) == {("a", 1), ("b", 1)}
    with consuming.connect() as connection:
        (entry,) = connection.execute(text("SELECT * FROM inbox_parked"))
    assert (entry.state, entry.offset, entry.attempts, bytes(entry.key)) == ("parked", 0, 1, b"poison")
    value = spoiled.envelope.payload if isinstance(spoiled, Delivery) else spoiled.value
    assert (entry.payload and bytes(entry.payload)) == value
    assert entry.error


def aged(aggregate_id: str, days: float) -> Envelope:
    """Return an event whose id says that it was made so many days ago."""
    milliseconds = round((utc_now() - timedelta(days=days)).timestamp() * 1000)
    event_id = UUID(int=milliseconds << 80 | uuid4().int & (1 << 80) - 1 & ~(0xF << 76) | 7 << 76)
    return replace(event(aggregate_id, 1), event_id=event_id)


def within(days: int, *, window: bool = True) -> Applier:
    return Applier(
        inbox=DatabaseInbox("test"),
        handler=write_effects,
        parking=PARKING,
        read=read_payload,
        window=DedupWindow(days) if window else None,
    )


def test_an_event_older_than_the_window_is_parked_and_never_applied(consuming: Engine) -> None:
    """However often it comes; others of any age inside of the window, or ahead of time, are."""
    log, old = Log(), aged("old", 15)
    batch = [log.message(old), log.message(aged("young", 13)), log.message(aged("ahead", -400)), log.message(old)]
    with database.transaction(consuming) as connection:
        outcome = within(14).together(connection, batch)
    assert [entry.topic for entry in outcome.parked] == ["orders.events"]
    with database.transaction(consuming) as connection:
        assert within(14).together(connection, [log.message(old)]) == Outcome()
    assert effects(consuming) == [("young", 1), ("ahead", 1)]
    assert recorded(consuming) == {("young", 1), ("ahead", 1)}
    with consuming.connect() as connection:
        error = connection.execute(text("SELECT error FROM inbox_parked")).scalar_one()
    assert "older than the 14 days" in error


def test_an_old_event_that_the_inbox_still_knows_is_a_duplicate(consuming: Engine) -> None:
    """A day that is not dropped yet is as good as one inside of the window."""
    log, old = Log(), aged("old", 15)
    with database.transaction(consuming) as connection:
        within(30).together(connection, [log.message(old)])
    with database.transaction(consuming) as connection:
        assert within(14).together(connection, [log.message(old)]) == Outcome()
    assert (effects(consuming), lot(consuming)) == ([("old", 1)], [])


def test_a_redrive_is_never_too_old(consuming: Engine) -> None:
    """The entry has been the event's mark all the time, so nobody can have applied it meanwhile."""
    old = Log().message(aged("old", 90))
    with database.transaction(consuming) as connection:
        within(14).together(connection, [old])
    with database.transaction(consuming) as connection:
        within(14).again(connection, old)
    assert effects(consuming) == [("old", 1)]


def test_a_version_built_from_the_first_event_on_takes_events_of_any_age(consuming: Engine) -> None:
    with database.transaction(consuming) as connection:
        within(14, window=False).together(connection, [Log().message(aged("old", 900))])
    assert effects(consuming) == [("old", 1)]


def test_headers_come_out_of_the_lot_as_they_went_in(consuming: Engine) -> None:
    """A name that comes twice, a value that is no text, and one that is not there."""
    headers = (("twice", b"1"), ("twice", b"\xff\x00"), ("none", None), ("ü", b""))
    together(consuming, Log().message(event("a", 1), headers=headers))
    with database.transaction(consuming) as connection:
        (number,) = connection.execute(text("UPDATE inbox_parked SET state = 'redriving' RETURNING id")).scalars()
        entry = PARKING.take(connection, number)
    assert entry is not None
    assert entry.headers == headers


def test_what_follows_a_parked_event_of_its_key_is_held(consuming: Engine) -> None:
    """In one batch and in later ones, in the order of arrival; all others go on; a copy changes nothing."""
    log, first, third = Log(), event("a", 1), event("a", 3)
    batch = [log.message(first, value=b"?"), log.message(event("b", 1)), log.message(event("a", 2))]
    assert [len(each) for each in (together(consuming, *batch).parked, together(consuming, *batch).held)] == [1, 0]
    late = [log.message(third), log.message(event("b", 2)), log.message(third), log.message(first, value=b"?")]
    assert len(together(consuming, *late).held) == 1
    assert lot(consuming) == [("a", 1, "parked"), ("a", 2, "held"), ("a", 3, "held")]
    assert effects(consuming) == [("b", 1), ("b", 2)]
    assert recorded(consuming) == {("b", 1), ("b", 2)}


def test_the_same_key_in_another_topic_is_another_aggregate(consuming: Engine) -> None:
    """A topic has one type of aggregate, so topic and key name one."""
    together(consuming, Log().message(event("a", 1), value=b"?"))
    with consuming.begin() as connection:
        connection.execute(text("UPDATE inbox_parked SET topic = 'billing.events'"))
    together(consuming, Log().message(event("a", 2)))
    assert effects(consuming) == [("a", 2)]


def test_with_the_policy_skip_later_events_go_on(consuming: Engine) -> None:
    log = Log()
    together(consuming, log.message(event("a", 1), value=b"?"), log.message(event("a", 2)), policy=Policy.SKIP)
    together(consuming, log.message(event("a", 3)), policy=Policy.SKIP)
    assert effects(consuming) == [("a", 2), ("a", 3)]
    assert lot(consuming) == [("a", 1, "parked")]


def test_a_message_without_a_key_holds_nothing(consuming: Engine) -> None:
    """Nothing says what would have to wait for it."""
    log = Log()
    together(consuming, log.message(event("a", 1), key=None, value=None), log.message(event("a", 2), key=None))
    assert effects(consuming) == [("a", 2)]


def test_a_discarded_event_holds_nothing_and_stays_known(consuming: Engine) -> None:
    """What a person gave up is not parked again when the log is read again."""
    log = Log()
    batch = [log.message(event("a", 1), value=b"?"), log.message(event("b", 1), value=None)]
    together(consuming, *batch)
    with consuming.begin() as connection:
        connection.execute(text("UPDATE inbox_parked SET state = 'discarded'"))
    assert together(consuming, *batch, log.message(event("a", 2)), log.message(event("b", 2))).parked == ()
    assert effects(consuming) == [("a", 2), ("b", 2)]


@pytest.mark.parametrize("error", [PermanentError("never"), None], ids=["said so", "a constraint"])
def test_one_that_its_handler_cannot_apply_is_found_among_many(consuming: Engine, error: Exception | None) -> None:
    """The culprit is parked, its aggregate is held, its neighbours are applied in their order."""
    with consuming.begin() as connection:
        connection.execute(text("ALTER TABLE effect ADD CHECK (aggregate_id <> 'a7')"))
    log = Log()
    batch = [log.message(event(f"a{n}", version)) for version in (1, 2) for n in range(20)]
    outcome = apart(consuming, failing("a7", error) if error else write_effects, *batch)
    assert (len(outcome.applied), len(outcome.parked), len(outcome.held)) == (38, 1, 1)
    assert lot(consuming) == [("a7", 1, "parked"), ("a7", 2, "held")]
    assert effects(consuming) == [(f"a{n}", v) for v in (1, 2) for n in range(20) if n != 7]


class Tries:
    """Applies, and counts how often it is asked to."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, connection: Connection, batch: Sequence[Delivery]) -> None:
        self.count += 1
        write_effects(connection, batch)


@pytest.mark.parametrize(("aggregate_ids", "most"), [(500, 4), (1, 20)], ids=["many aggregates", "a hot one"])
def test_the_culprit_that_the_server_names_costs_few_tries(consuming: Engine, aggregate_ids: int, most: int) -> None:
    """Of a batch of 500: all, those before it, itself, those behind. Where all are of one aggregate, halving does it.

    Seen red: 19 tries of 500 aggregates with halves alone, and 906 of a hot one with its first event as the suspect.
    """
    with consuming.begin() as connection:
        connection.execute(text("ALTER TABLE effect ADD CHECK (version <> 453)"))
    log, tries = Log(), Tries()
    batch = [log.message(event(f"a{number % aggregate_ids}", number)) for number in range(1, 501)]
    outcome = apart(consuming, tries, *batch)
    assert [each.offset for each in outcome.parked] == [452]
    assert len(outcome.applied) + len(outcome.held) == 499
    assert tries.count <= most


def test_a_constraint_that_is_looked_at_late_finds_its_culprit_too(consuming: Engine) -> None:
    with consuming.begin() as connection:
        connection.execute(text("CREATE TABLE known (id text PRIMARY KEY)"))
        connection.execute(text("INSERT INTO known VALUES ('a'), ('c')"))
        deferred = "ALTER TABLE effect ADD FOREIGN KEY (aggregate_id) REFERENCES known DEFERRABLE INITIALLY DEFERRED"
        connection.execute(text(deferred))
    log = Log()
    apart(consuming, write_effects, *(log.message(event(name, 1)) for name in "abc"))
    assert lot(consuming) == [("b", 1, "parked")]
    assert effects(consuming) == [("a", 1), ("c", 1)]


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (TransientError("away"), TransientError),
        ("SELECT pg_terminate_backend(pg_backend_pid())", OperationalError),
        ("DO $$ BEGIN RAISE SQLSTATE '53100'; END $$", OperationalError),
        ("DO $$ BEGIN RAISE SQLSTATE '40001'; END $$", OperationalError),
        ("SELECT * FROM no_such_table", ProgrammingError),
    ],
)
def test_what_is_nobodys_fault_parks_nothing(
    consuming: Engine, error: Exception | str, raised: type[Exception]
) -> None:
    """An outage is for the loop to wait out, and a missing table for a person to mend."""

    def handler(connection: Connection, _batch: Sequence[Delivery]) -> None:
        if isinstance(error, Exception):
            raise error
        connection.exec_driver_sql(error)

    log = Log()
    with pytest.raises(raised):
        apart(consuming, handler, log.message(event("a", 1)), log.message(event("b", 1)))
    assert (lot(consuming), recorded(consuming)) == ([], set())


def test_a_bug_is_raised_until_it_was_counted_often_enough(consuming: Engine) -> None:
    """The culprit is named each time; then it is parked with the number of tries, and the others are applied."""
    log = Log()
    batch = [log.message(event(name, 1)) for name in "abc"]
    for tries in range(1, MOST_TRIES):
        with pytest.raises(CulpritError) as found:
            apart(consuming, failing("b", ZeroDivisionError()), *batch)
        assert isinstance(found.value.__cause__, ZeroDivisionError)
        with database.transaction(consuming) as connection:
            assert PARKING.count_try(connection, found.value.received, ZeroDivisionError()) == tries
    assert effects(consuming) == []
    apart(consuming, failing("b", ZeroDivisionError()), *batch)
    assert lot(consuming) == [("b", 1, "parked")]
    assert effects(consuming) == [("a", 1), ("c", 1)]
    with consuming.connect() as connection:
        assert connection.execute(text("SELECT attempts, error FROM inbox_parked")).one() == (
            MOST_TRIES,
            "ZeroDivisionError: ",
        )
        assert connection.execute(text("SELECT count(*) FROM inbox_attempts")).scalar() == 0


@pytest.mark.parametrize("first", ["parks", "applies"])
def test_of_two_members_with_one_event_either_parks_or_applies_it(consuming: Engine, first: str) -> None:
    """The inbox makes the second wait; what the first has committed, it then sees. An older release may park what a
    newer one can apply, so both happen."""
    message = Log().message(event("a", 1))
    refuse = failing("a", PermanentError("an older release"))
    outcomes: list[Outcome] = []
    handlers = {"parks": refuse, "applies": write_effects}
    second = next(handler for name, handler in handlers.items() if name != first)
    rival = threading.Thread(target=lambda: outcomes.append(apart(consuming, second, message)))
    with database.transaction(consuming) as connection:
        applier(handlers[first]).apart(connection, [message])
        rival.start()
        eventually(lambda: _waits(consuming), 20, "the second waits for the first")
    rival.join(20)
    assert outcomes == [Outcome()]
    assert (len(lot(consuming)), len(effects(consuming))) == ((1, 0) if first == "parks" else (0, 1))
    assert len(recorded(consuming)) == len(effects(consuming))


def _waits(engine: Engine) -> bool:
    with engine.connect() as connection:
        waiting = (
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )
        return bool(connection.execute(text(waiting)).scalar())
