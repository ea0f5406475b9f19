"""What billing parks is told in the dead-letter topic, once, through the outbox."""

import json
import signal
from pathlib import Path

import msgspec
import pytest
from confluent_kafka import Producer
from sqlalchemy import Connection, Engine, text

from services.billing import bill_orders, wiring
from services.billing.settings import Settings
from services.relay import wiring as relay_wiring
from services.relay.settings import Settings as RelaySettings
from shared import database, envelope
from shared.applying import Applier
from shared.caution import DOUBTFUL
from shared.consumer_parking import MOST_DEATHS, Parking, Policy
from shared.dead_letters import Notices
from shared.errors import PermanentError
from shared.events import DeliveryParked
from shared.inbox import DatabaseInbox
from shared.inbox_redrive import Redriver
from shared.kafka import producer_config
from shared.receiving import Received
from tests.conftest import TopicFactory, eventually
from tests.contract.agreement import check_written
from tests.integration.billing.killed_by_its_message import KILLER
from tests.integration.billing.members import crew
from tests.integration.billing.orders import deliver, placed, rows
from tests.integration.billing.test_billing_consumer import publish
from tests.integration.relay.test_kafka_transport import read_all
from tests.integration.shared.messages import Log, event, with_header
from tests.integration.shared.test_consumer import Running
from tests.integration.shared.test_inbox_redrive import nowhere

NOTICES = "SELECT aggregate_id, aggregate_version, payload, traceparent FROM outbox WHERE type = 'DeliveryParked'"
PARKING = Parking("billing", Policy.HOLD, Notices("billing", "/billing"))
DONE = "SELECT 1 WHERE (SELECT count(*) FROM bill) = 20 AND EXISTS (SELECT FROM inbox_parked)"
TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def refuse(_connection: Connection, _batch: object) -> None:
    raise PermanentError("not yet")


APPLIER = Applier(inbox=DatabaseInbox("billing"), handler=refuse, parking=PARKING, read=bill_orders.read)


def receive(engine: Engine, *batch: Received) -> None:
    with database.transaction(engine) as connection:
        APPLIER.apart(connection, batch)


def notices(engine: Engine) -> list[DeliveryParked]:
    return [msgspec.json.decode(row.payload, type=DeliveryParked) for row in rows(engine, NOTICES)]


def test_every_entry_that_is_parked_has_one_notice(engine: Engine) -> None:
    """Not one that is only held, nor a second delivery; one that was held and then fails by itself has its own.

    Seen red: with the notice written where the state is not looked at, the held one is told too.
    """
    log, first, second = Log(), event("a", 1), event("a", 2)
    batch = [log.message(first, value=b"{broken"), log.message(second)]
    receive(engine, *batch)
    receive(engine, *batch)
    (told,) = notices(engine)
    assert (told.consumer, told.topic, told.partition, told.offset) == ("billing", "orders.events", 0, 0)
    assert (told.event_id, told.type, told.aggregate_id) == (str(first.event_id), "OrderConfirmed", "a")
    assert "the payload is not a OrderConfirmed" in told.error

    with engine.begin() as connection:
        connection.execute(text("UPDATE inbox_parked SET state = 'discarded' WHERE state = 'parked'"))
    redriver = Redriver(engine=engine, applier=APPLIER, parking=PARKING, receiver=nowhere(), group="billing")
    redriver.step()
    assert [each.aggregate_version for each in notices(engine)] == [1, 2]
    with engine.begin() as connection:
        connection.execute(text("UPDATE inbox_parked SET state = 'redriving' WHERE state = 'parked'"))
    Redriver(engine=engine, applier=APPLIER, parking=PARKING, receiver=nowhere(), group="billing").step()
    assert [each.aggregate_version for each in notices(engine)] == [1, 2]


def test_a_notice_says_only_what_could_be_read(engine: Engine) -> None:
    """Headers that are missing, no text, or far too long never keep a notice back."""
    log, spoiled = Log(), event("a", 1)
    long_type, trace = b"x" * 100_000, ("traceparent", TRACE.encode())
    receive(
        engine,
        log.message(spoiled, key=None, headers=(), value=None),
        log.message(spoiled, key=None, headers=with_header(spoiled, "ce_id", b"\xff\x00")),
        log.message(spoiled, headers=(*with_header(spoiled, "ce_id", None), ("traceparent", b"\x00\xff"))),
        log.message(event("b", 1), headers=(*with_header(spoiled, "ce_type", long_type), trace)),
    )
    none, *_, long = notices(engine)
    assert (none.event_id, none.type, none.aggregate_id, none.aggregate_version) == (None,) * 4
    assert long.type == "x" * 500
    assert [row.traceparent for row in rows(engine, NOTICES)] == [None, None, None, TRACE]


def test_a_notice_is_taken_back_with_its_transaction(engine: Engine) -> None:
    """Parked and told commit together or not at all."""
    with engine.connect() as connection:
        assert APPLIER.apart(connection, [Log().message(event("a", 1), value=b"{broken")]).parked
        connection.rollback()
    assert (notices(engine), rows(engine, "SELECT * FROM inbox_parked")) == ([], [])


def test_the_notice_of_a_poisoned_message_reaches_its_topic_once(
    engine: Engine, database_url: str, kafka: str, topic: TopicFactory
) -> None:
    """A real member parks it, a real relay carries the notice; it obeys its contract."""
    orders, bills, letters = topic(1), topic(1), topic()
    producer = Producer(producer_config(kafka, "test"))
    producer.produce(orders, b"{broken", b"a", headers=dict(envelope.to_headers(event("a", 1))))
    assert producer.flush(20) == 0
    settings = Settings(
        database_url=database_url, kafka_bootstrap_servers=kafka, orders_topic=orders, consumer_group=f"{orders}.group"
    )
    with Running(wiring.build(settings)):
        eventually(lambda: rows(engine, "SELECT * FROM inbox_parked"), 40, "it is parked")
    relay = relay_wiring.build(
        RelaySettings(
            instance="relay-1",
            database_url=database_url,
            kafka_bootstrap_servers=kafka,
            billing_topic=bills,
            dead_letter_topic=letters,
        )
    ).relays["event"]
    assert (relay.drain_once(), relay.drain_once()) == (1, 0)
    (message,) = read_all(kafka, letters, 1)
    told = envelope.from_message(message.headers(), message.value())  # type: ignore[arg-type]
    ((number,),) = rows(engine, "SELECT id FROM inbox_parked")
    assert message.key() == f"{settings.consumer_group}/{number}".encode()
    assert (told.type, told.source, told.aggregate_type) == ("DeliveryParked", "/billing", "dead_letter")
    check_written(told.dataschema, told.payload)
    assert json.loads(told.payload)["entry"] == number


@pytest.mark.full
@pytest.mark.timeout(240)
def test_a_message_that_kills_real_processes_is_parked_and_told(
    engine: Engine, database_url: str, kafka: str, topic: TopicFactory, tmp_path: Path
) -> None:
    """SIGKILL in the handler, each time; after a bounded number of deaths every other order is billed.

    Seen red: with ``Caution.begin`` returning False the ninth process dies like the first.
    """
    orders = [placed() for _ in range(20)]
    with crew(database_url, kafka, topic(1), "classic", tmp_path) as members:
        publish(kafka, members.topic, deliver(*orders[:9], placed(customer_id=KILLER), *orders[9:]))
        for life in range(DOUBTFUL + MOST_DEATHS + 1):
            name = f"life-{life}"
            members.start(name, program=("tests.integration.billing.killed_by_its_message",))
            process = members.members[name]
            eventually(lambda process=process: process.poll() is not None or rows(engine, DONE), 60, name)
            if process.poll() is None:
                break
            assert process.returncode == -signal.SIGKILL, members.log(name).read_text()[-3000:]
        assert members.end(name) == 0
    (told,) = notices(engine)
    assert f"its process died {MOST_DEATHS} times" in told.error
    assert rows(engine, "SELECT count(*) FROM inbox") == [(20,)]
