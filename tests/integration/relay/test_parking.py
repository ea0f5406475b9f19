"""Rows that can never be sent: parked with their error, later ones of their aggregate held, others on their way."""

import threading
from collections.abc import Sequence
from dataclasses import replace

import pytest
from sqlalchemy import Engine, text

from services.relay.errors import CONNECTION_LOST
from services.relay.failures import ATTEMPTS, Fault
from services.relay.pace import Pace
from services.relay.position import Row
from services.relay.relay import Relay
from services.relay.transports import Published
from shared import failpoints
from shared.errors import RefusedError
from shared.failpoints import Failpoint
from shared.outbox_parking import OutboxLot
from tests.conftest import eventually
from tests.integration.relay.recording import Log, RecordingTransport
from tests.integration.relay.test_relay import event, relay, write

LOT = OutboxLot()


class Picky(RecordingTransport):
    """Refuses some events, each named by aggregate and version."""

    def __init__(self, log: Log, bad: set[tuple[str, int]], fault: Fault = Fault.ROW) -> None:
        super().__init__(log, seed=0)
        self.bad = bad
        self.fault = fault
        self.away = False
        self.asked = 0

    def publish(self, rows: Sequence[Row], deadline_seconds: float) -> Published:
        self.asked += 1
        if self.away:
            return Published(0, "away")
        for index, row in enumerate(rows):
            if (row.aggregate_id, row.aggregate_version) in self.bad:
                if self.fault is Fault.ROW or len(rows) == 1:
                    self._log.append(rows[:index])
                    return Published(index, "too large", self.fault)
                return Published(0, "one of them", Fault.SUSPECTS)
        return super().publish(rows, deadline_seconds)


def lot(engine: Engine) -> dict[tuple[str, int], str]:
    with engine.connect() as connection:
        entries = LOT.entries(connection, limit=1000)
    return {(str(each.aggregate_id), each.aggregate_version or 0): each.state for each in entries}


def entry_id(engine: Engine, aggregate_id: str, version: int) -> str:
    with engine.connect() as connection:
        return next(
            each.id
            for each in LOT.entries(connection, limit=1000)
            if (each.aggregate_id, each.aggregate_version) == (aggregate_id, version)
        )


def decide(engine: Engine, aggregate_id: str, version: int, discard: str | None = None) -> None:
    found = entry_id(engine, aggregate_id, version)
    with engine.begin() as connection:
        LOT.redrive(connection, found) if discard is None else LOT.discard(connection, found, discard)


def keep_draining(relaying: Relay, done: object) -> None:
    def drained() -> bool:
        relaying.drain_once()
        return bool(done())  # type: ignore[operator]

    eventually(drained, 10, "the relay gets it done")


@pytest.mark.parametrize("fault", [Fault.ROW, Fault.REFUSED])
def test_a_row_at_fault_is_parked_and_only_its_aggregate_held(engine: Engine, outbox_url: str, fault: Fault) -> None:
    """Innocent rows of the same chunk leave; the error and the attempts stand beside the parked one."""
    log = Log()
    write(engine, *[event(name, version) for version in range(1, 6) for name in ("bad", "good")])
    relay(outbox_url, Picky(log, {("bad", 2)}, fault)).drain_once()
    assert log.first_copies() == {"bad": [1], "good": [1, 2, 3, 4, 5]}
    assert lot(engine) == {("bad", 2): "parked", ("bad", 3): "held", ("bad", 4): "held", ("bad", 5): "held"}
    with engine.connect() as connection:
        entry = LOT.entry(connection, entry_id(engine, "bad", 2))
    assert (entry.error, entry.attempts) == ("too large", 1 if fault is Fault.ROW else ATTEMPTS)
    assert b"invoice_number" in (entry.payload or b"")


def test_a_receiver_that_is_away_parks_nothing(engine: Engine, outbox_url: str) -> None:
    """However often it is tried."""
    log = Log()
    picky = Picky(log, set())
    picky.away = True
    write(engine, event("a", 1))
    relaying = relay(outbox_url, picky, pace=Pace(poll_seconds=0))
    relaying._sender.breaker._backoff._ceiling = 0.001
    eventually(lambda: relaying.step() is not None and picky.asked > 20, 20, "it is tried again and again")
    assert lot(engine) == {}
    picky.away = False
    keep_draining(relaying, log.rows)
    assert log.first_copies() == {"a": [1]}


def test_new_rows_are_held_by_whoever_takes_over(engine: Engine, outbox_url: str) -> None:
    """The lot is read with the lanes: a new owner knows what waits."""
    first, second = Log(), Log()
    write(engine, event("bad", 1))
    relay(outbox_url, Picky(first, {("bad", 1)}), "a").drain_once()
    write(engine, event("bad", 2), event("good", 1))
    relay(outbox_url, Picky(second, {("bad", 1)}), "b").drain_once()
    assert second.first_copies() == {"good": [1]}
    assert lot(engine) == {("bad", 1): "parked", ("bad", 2): "held"}


def test_redriving_sends_the_parked_row_and_then_what_was_held(engine: Engine, outbox_url: str) -> None:
    """In the aggregate's order, and newer rows wait until the lot has none of it."""
    log = Log()
    picky = Picky(log, {("bad", 2)})
    write(engine, *[event("bad", version) for version in range(1, 5)])
    relaying = relay(outbox_url, picky)
    relaying.drain_once()
    picky.bad.clear()
    write(engine, event("bad", 5))
    relaying.drain_once()
    assert lot(engine)[("bad", 5)] == "held", "nothing was asked for yet"
    decide(engine, "bad", 2)
    write(engine, event("bad", 6))
    keep_draining(relaying, lambda: len(log.rows()) == 6)
    assert log.first_copies() == {"bad": [1, 2, 3, 4, 5, 6]}
    assert lot(engine) == {}


def test_a_row_that_fails_again_is_parked_again(engine: Engine, outbox_url: str) -> None:
    """Its attempts add up, and what is behind it stays held."""
    log = Log()
    write(engine, event("bad", 1), event("bad", 2))
    relaying = relay(outbox_url, Picky(log, {("bad", 1)}))
    relaying.drain_once()
    decide(engine, "bad", 1)
    keep_draining(relaying, lambda: lot(engine) == {("bad", 1): "parked", ("bad", 2): "held"})
    with engine.connect() as connection:
        assert LOT.entry(connection, entry_id(engine, "bad", 1)).attempts == 2


def test_discarding_releases_what_was_held(engine: Engine, outbox_url: str) -> None:
    """The reason stays on record, and the discarded row never leaves."""
    log = Log()
    write(engine, *[event("bad", version) for version in range(1, 4)])
    relaying = relay(outbox_url, Picky(log, {("bad", 1)}))
    relaying.drain_once()
    with pytest.raises(RefusedError, match="reason"):
        decide(engine, "bad", 1, discard=" ")
    decide(engine, "bad", 1, discard="a test order")
    keep_draining(relaying, lambda: len(log.rows()) == 2)
    assert log.first_copies() == {"bad": [2, 3]}
    assert lot(engine) == {("bad", 1): "discarded"}


def test_a_held_row_is_not_redriven_by_itself(engine: Engine, outbox_url: str) -> None:
    """It would overtake the one in front of it."""
    write(engine, event("bad", 1), event("bad", 2))
    relay(outbox_url, Picky(Log(), {("bad", 1)})).drain_once()
    with pytest.raises(RefusedError, match="waits behind"):
        decide(engine, "bad", 2)


class Death(BaseException):
    """The process ends here."""


class Killer(RecordingTransport):
    """Ends the process that sends one certain event."""

    def publish(self, rows: Sequence[Row], deadline_seconds: float) -> Published:
        if any((row.aggregate_id, row.aggregate_version) == ("killer", 2) for row in rows):
            raise Death
        return super().publish(rows, deadline_seconds)


def test_a_row_that_kills_the_relay_is_found_and_parked(engine: Engine, outbox_url: str) -> None:
    """Halved until it stands alone; everything else leaves, and nobody else is blamed."""
    log, deaths = Log(), 0
    write(engine, *[event(f"good-{n}", 1) for n in range(150)], event("killer", 1), event("killer", 2))
    write(engine, event("killer", 3), *[event(f"later-{n}", 1) for n in range(100)])
    while "later-99" not in log.first_copies():
        try:
            relay(outbox_url, Killer(log, 0), pace=Pace(chunk_size=64)).drain_once()
        except Death:
            deaths += 1
        assert deaths < 25, lot(engine)
    assert lot(engine) == {("killer", 2): "parked", ("killer", 3): "held"}
    assert len(log.first_copies()) == 251
    with engine.connect() as connection:
        assert connection.execute(text("SELECT max(stalls) FROM relay_position")).scalar_one() == 0


def test_a_relay_killed_idle_or_while_its_receiver_is_away_condemns_nothing(engine: Engine, outbox_url: str) -> None:
    """Thirty deaths in a row, none of them a row's doing."""
    log, picky = Log(), Picky(Log(), set())
    write(engine, event("innocent", 1))
    picky.away = True
    picky.probe = lambda deadline_seconds: "away"  # type: ignore[method-assign]
    for _ in range(30):
        relay(outbox_url, picky).step()
    relay(outbox_url, RecordingTransport(log, 0)).drain_once()
    assert log.first_copies() == {"innocent": [1]}
    assert lot(engine) == {}


@pytest.mark.parametrize(
    "point", [Failpoint.RELAY_AFTER_READ_BEFORE_PUBLISH, Failpoint.RELAY_AFTER_PUBLISH_BEFORE_SETTLE]
)
def test_a_relay_that_dies_while_it_parks_neither_loses_nor_doubles(
    engine: Engine, outbox_url: str, point: Failpoint
) -> None:
    """Every row is in the log or in the lot, never in neither, and the bad one never in the log."""
    log = Log()
    write(engine, *[event(name, version) for version in range(1, 8) for name in ("bad", "good", "worse")])
    reached = 0

    def die_every_other_time(at: Failpoint) -> None:
        nonlocal reached
        reached += at is point
        if at is point and reached % 2:
            raise Death(at)

    failpoints.arm(die_every_other_time)
    try:
        for name in ("a", "a", "b", "a", "b", "b", "a") * 3:
            try:
                relay(
                    outbox_url,
                    Picky(log, {("bad", 3), ("worse", 1)}),
                    name,
                    replace(Pace(), chunk_size=4, lease_seconds=0.01),
                ).drain_once()
            except (Death, *CONNECTION_LOST):  # so short a lease is over in a transaction that dawdles
                continue
    finally:
        failpoints.disarm()
    relaying = relay(outbox_url, Picky(log, {("bad", 3), ("worse", 1)}), "b")
    keep_draining(relaying, lambda: len(lot(engine)) == 12)
    assert log.first_copies() == {"bad": [1, 2], "good": [1, 2, 3, 4, 5, 6, 7]}
    assert sorted(state for state in lot(engine).values()) == ["held"] * 10 + ["parked"] * 2


def test_two_relays_redrive_in_order_while_lanes_change_hands(engine: Engine, outbox_url: str) -> None:
    """Redriven rows, held rows and new ones keep the aggregate's order, whoever sends them."""
    log, stop = Log(), threading.Event()
    names = [f"order-{n}" for n in range(12)]
    bad = {(name, 2) for name in names}
    write(engine, *[event(name, version) for version in range(1, 5) for name in names])
    relay(outbox_url, Picky(log, bad), "first").drain_once()
    pace = replace(Pace(), lease_seconds=1.0, renew_seconds=0.2, produce_deadline_seconds=0.5)
    stops = [threading.Event() for _ in range(3)]
    threads = [
        threading.Thread(target=relay(outbox_url, Picky(log, set()), f"relay-{n}", pace).run, args=(stops[n],))
        for n in range(3)
    ]
    for thread in threads[:2]:
        thread.start()
    for name in names:
        decide(engine, name, 2)
        write(engine, event(name, 5))
    threads[2].start()
    stops[0].set()
    try:
        eventually(lambda: len(log.event_ids()) == 60, 30, lambda: lot(engine))
    finally:
        stop.set()
        for each in stops:
            each.set()
        for thread in threads:
            thread.join()
    assert log.first_copies() == {name: [1, 2, 3, 4, 5] for name in names}
    assert lot(engine) == {}
