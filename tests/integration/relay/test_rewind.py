"""Publishing again on an operator's word, while relays and writers are at work."""

import random
import threading
from functools import partial

import pytest
from sqlalchemy import Engine, text

from infra.cdc import slot
from services.relay import rewind
from services.relay.pace import Pace
from services.relay.relay import Relay
from shared import database
from shared import outbox_retention as retention
from shared.errors import RefusedError
from shared.events import OrderConfirmed
from shared.outbox import add, new_event
from tests.conftest import eventually
from tests.integration.relay.recording import Log, RecordingTransport
from tests.integration.relay.writers import Ledger, Writer

QUICK = Pace(
    chunk_size=20,
    lease_seconds=1.0,
    renew_seconds=0.2,
    produce_deadline_seconds=0.5,
    poll_seconds=0.001,
    idle_poll_seconds=0.01,
    settle_seconds=0.05,
)
STEADY = Pace()


def write(engine: Engine, count: int, first: int = 1, aggregates: int = 4) -> None:
    """Write events in turn for some aggregates: ids in order, versions from ``first`` on."""
    for number in range(count):
        payload = OrderConfirmed(order_id="1", invoice_number="1")
        aggregate, version = f"order-{number % aggregates}", first + number // aggregates
        with engine.begin() as connection:
            add(connection, new_event("order", aggregate, version, payload, source="/orders"))


def relay(url: str, log: Log, name: str = "relay", pace: Pace = STEADY) -> Relay:
    return Relay(
        connect=partial(database.connect, url, None, name),
        transport=RecordingTransport(log, 0),
        destination="event",
        name=name,
        pace=pace,
    )


def go_back(url: str, to: str, **more: object) -> rewind.Plan:
    with database.connect(url, None, "operator") as connection:
        return rewind.rewind(connection, to, **more)  # type: ignore[arg-type]


def test_events_that_debezium_publishes_are_not_rewound(engine: Engine, outbox_url: str) -> None:
    """Its slot goes forward only, so that moving a position would send nothing and say that it did."""
    write(engine, 4)
    relay(outbox_url, Log()).drain_once()
    slot.hand_over(outbox_url.replace("+psycopg", ""))
    with pytest.raises(RefusedError, match="engine switch polling"):
        go_back(outbox_url, "earliest")
    with pytest.raises(RefusedError, match="holds no command"):
        go_back(outbox_url, "earliest", destination="command")
    slot.take_back(outbox_url.replace("+psycopg", ""))
    assert go_back(outbox_url, "earliest").rows == 4


def test_rows_from_an_id_on_go_out_again_and_nothing_else(engine: Engine, outbox_url: str) -> None:
    """The plan says how many, and what was pending is published behind them, once."""
    write(engine, 40)
    relay(outbox_url, Log()).drain_once()
    write(engine, 4, first=11)
    planned = go_back(outbox_url, "31")
    assert (planned.rows, planned.first_id) == (10, 31)
    log = Log()
    relay(outbox_url, log).drain_once()
    assert [row.id for row in log.rows()] == list(range(31, 45))


def test_a_second_rewind_before_the_first_is_through_goes_further_back(engine: Engine, outbox_url: str) -> None:
    """It joins the first: what that one would have sent again goes out, too, and what is pending stays pending."""
    write(engine, 40)
    relay(outbox_url, Log()).drain_once()
    write(engine, 4, first=11)
    go_back(outbox_url, "31")
    go_back(outbox_url, "21")
    go_back(outbox_url, "39")  # not forward again
    log = Log()
    relay(outbox_url, log).drain_once()
    assert [row.id for row in log.rows()] == list(range(21, 45))


def test_chosen_lanes_go_back_alone(engine: Engine, outbox_url: str) -> None:
    """Other lanes at the same position stay where they are."""
    write(engine, 40, aggregates=8)
    relay(outbox_url, Log()).drain_once()
    with engine.connect() as connection:
        lane, mine = connection.execute(
            text("SELECT lane, array_agg(id ORDER BY id) FROM outbox GROUP BY lane ORDER BY count(*) DESC LIMIT 1")
        ).one()
    planned = go_back(outbox_url, "earliest", lanes=[lane])
    assert planned.rows == len(mine)
    log = Log()
    relay(outbox_url, log).drain_once()
    assert [row.id for row in log.rows()] == mine


def test_an_owner_with_the_old_place_in_memory_cannot_write_it_over_the_new_one(
    engine: Engine, outbox_url: str
) -> None:
    """It finds its epoch gone, and whoever takes the lanes next begins at the new place."""
    write(engine, 20)
    log = Log()
    owner = relay(outbox_url, Log())
    owner.drain_once()
    owner.step()  # has the lanes and their place in memory
    go_back(outbox_url, "1")
    write(engine, 4, first=6)
    owner.step()  # publishes from memory, and is fenced when it settles
    relay(outbox_url, log).drain_once()
    owner._leave()
    relay(outbox_url, log).drain_once()
    assert {row.id for row in log.rows()} == set(range(1, 25))


def test_a_rewind_below_what_retention_has_deleted_is_refused(engine: Engine, outbox_url: str) -> None:
    """It says so, changes nothing, and `earliest` goes as far back as the outbox does."""
    write(engine, 20)
    relay(outbox_url, Log()).drain_once()
    with engine.begin() as connection:
        connection.execute(text("UPDATE outbox SET occurred_at = occurred_at - interval '8 days' WHERE id <= 10"))
        connection.execute(
            text(
                "INSERT INTO outbox_parked (outbox_id, state, attempts, last_error, destination, lane, aggregate_type,"
                " aggregate_id) SELECT id, 'parked', 1, 'why', destination, lane, aggregate_type, aggregate_id"
                " FROM outbox WHERE id = 3"
            )
        )
    with database.connect(outbox_url, None, "operator") as connection:
        assert retention.purge(connection, 7 * 86_400).deleted == 9
        for to in ("10", "2020-01-01T00:00:00Z"):
            with pytest.raises(RefusedError, match="deleted event rows up to id 10"):
                rewind.rewind(connection, to)
        assert rewind.plan(connection, "earliest").first_id == 11
        for wrong in ("yesterday", "2099-01-01"):
            with pytest.raises(RefusedError):
                rewind.plan(connection, wrong)
        with pytest.raises(RefusedError, match="no lane 16"):
            rewind.plan(connection, "11", lanes=[16])


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.full), pytest.param(3, marks=pytest.mark.full)])
def test_rewinds_among_writers_and_relays_lose_nothing_and_keep_the_order(
    engine: Engine, outbox_url: str, seed: int
) -> None:
    """Whatever lanes go back to whatever place, at any moment: first copies arrive in version order, and all arrive."""
    rng, ledger, log = random.Random(seed), Ledger(), Log()
    stop_writers, stop_relays = threading.Event(), threading.Event()
    threads = [
        threading.Thread(target=Writer(engine, ledger, seed * 100 + n).run, args=(stop_writers,)) for n in range(6)
    ]
    threads += [
        threading.Thread(target=relay(outbox_url, log, f"relay-{n}", QUICK).run, args=(stop_relays,)) for n in range(2)
    ]
    for thread in threads:
        thread.start()
    try:
        eventually(lambda: len(log.rows()) > 50, 20, "relays are at work")
        for _ in range(25):
            written = max((row.id for row in log.rows()), default=1)
            go_back(outbox_url, str(rng.randint(1, written)), lanes=rng.sample(range(16), rng.choice((1, 5, 16))))
            stop_writers.wait(rng.uniform(0, 0.2))
        stop_writers.set()
        for thread in threads[:6]:
            thread.join()
        eventually(lambda: len(log.event_ids()) >= len(ledger), 30, "every committed event is in the log")
    finally:
        stop_writers.set()
        stop_relays.set()
        for thread in threads:
            thread.join()
    with engine.connect() as connection:
        written_ids = set(connection.execute(text("SELECT event_id FROM outbox")).scalars())
    assert log.event_ids() == written_ids
    for aggregate_id, versions in log.first_copies().items():
        assert versions == sorted(versions), f"{aggregate_id} arrived as {versions}"
