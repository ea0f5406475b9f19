"""One trace from the request to the e-mail, over the real databases of orders and billing."""

import threading
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID, uuid4

import msgspec
import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from sqlalchemy import Engine, text

from services.billing import bill_orders
from services.billing import wiring as billing_wiring
from services.billing.settings import Settings as BillingSettings
from services.notifications import settings as notifications
from services.notifications.letter import compose
from services.notifications.wiring import TASK, build_app
from services.orders.settings import ApiSettings
from services.orders.wiring import build_api
from services.relay import settings as relay_settings
from services.relay import wiring as relay_wiring
from shared.database import create_engine, transaction
from shared.envelope import Envelope
from shared.events import SendInvoice
from shared.inbox import DatabaseInbox, Delivery
from shared.tracing import trace_id
from tests.conftest import DatabaseFactory, TopicFactory, eventually
from tests.integration.orders.examples import order_body, order_headers

WRITTEN = text("SELECT * FROM outbox ORDER BY id")


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    """Record spans in memory, for this test only."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer", lambda name: provider.get_tracer(name))
    yield exporter
    provider.shutdown()


def envelopes(engine: Engine) -> list[Envelope]:
    with engine.connect() as connection:
        return [
            Envelope(**{name: getattr(row, name) for name in Envelope.__slots__}) for row in connection.execute(WRITTEN)
        ]


def test_one_trace_leads_from_the_request_to_the_mail(
    postgres_url: DatabaseFactory, spans: InMemorySpanExporter, tmp_path: Path
) -> None:
    """The request's trace id stands in both outboxes and in the letter, and no step begins a trace of its own."""
    url, billing_url = postgres_url(of="orders"), postgres_url(of="billing")
    orders, billing = (create_engine(each, None, "test", pool_size=2) for each in (url, billing_url))
    (tmp_path / "token").write_text("test-token")
    api = ApiSettings(database_url=url, http_port=1, admin_token_file=str(tmp_path / "token"))
    client = build_api(api, engine=orders).test_client()
    assert client.post("/orders", data=order_body(), headers=order_headers()).status_code == 201
    (request,) = spans.get_finished_spans()
    began = trace.format_trace_id(request.context.trace_id)

    (placed,) = envelopes(orders)
    with transaction(billing) as connection:
        batch = DatabaseInbox("billing").new(connection, [Delivery(placed, "orders.events", 0, 0, "member", 1)])
        bill_orders.apply(connection, batch)
    invoice, mail = envelopes(billing)

    letters = []

    def send(event_id: UUID, invoice: SendInvoice) -> None:
        letters.append(compose(event_id, invoice, "shop@example.org", trace_id()))

    worker = build_app(notifications.Settings(database_url="postgresql://nobody@127.0.0.1:1/nowhere"), send)
    worker.tasks[TASK].apply(
        kwargs={"event_id": str(mail.event_id), "command": msgspec.json.decode(mail.payload)},
        headers={"traceparent": mail.traceparent},
        throw=True,
    )
    carried = [str(envelope.traceparent).split("-")[1] for envelope in (placed, invoice, mail)]
    assert [*carried, letters[0]["X-Trace-Id"]] == [began] * 4
    assert {trace.format_trace_id(span.context.trace_id) for span in spans.get_finished_spans()} == {began}
    for engine in (orders, billing):
        engine.dispose()


def test_the_log_carries_the_trace_and_the_batches_that_do_the_work_are_linked_to_it(
    postgres_url: DatabaseFactory, kafka: str, topic: TopicFactory, spans: InMemorySpanExporter, tmp_path: Path
) -> None:
    """Real relays and a real member: request, outbox, headers, billing's batch, its outbox, headers again."""
    orders_url, billing_url = postgres_url(of="orders"), postgres_url(of="billing")
    orders_topic, billing_topic = topic(1), topic(1)
    orders, billing = (create_engine(each, None, "test", pool_size=2) for each in (orders_url, billing_url))
    (tmp_path / "token").write_text("test-token")
    api = ApiSettings(database_url=orders_url, http_port=1, admin_token_file=str(tmp_path / "token"))
    client = build_api(api, engine=orders).test_client()
    began = []
    for _order in range(2):
        assert client.post("/orders", data=order_body(), headers=order_headers()).status_code == 201
        began.append(trace.format_trace_id(spans.get_finished_spans()[-1].context.trace_id))

    def publish(url: str, name: str) -> None:
        settings = relay_settings.Settings(
            instance=name,
            database_url=url,
            kafka_bootstrap_servers=kafka,
            orders_topic=orders_topic,
            billing_topic=billing_topic,
        )
        assert relay_wiring.build(settings).relays["event"].drain_once() == 2

    publish(orders_url, "relay-orders")
    stop = threading.Event()
    member = billing_wiring.build(
        BillingSettings(
            database_url=billing_url,
            kafka_bootstrap_servers=kafka,
            orders_topic=orders_topic,
            consumer_group=f"test.{uuid4().hex}",
        )
    )
    thread = threading.Thread(target=member.run, args=(stop,))
    thread.start()
    try:
        eventually(lambda: len(envelopes(billing)) == 4, 30, "both orders are billed, told and mailed")
    finally:
        stop.set()
        thread.join(20)
    publish(billing_url, "relay-billing")

    assert [trace_ids_in(kafka, orders_topic), trace_ids_in(kafka, billing_topic)] == [began, began]
    assert sorted(str(envelope.traceparent).split("-")[1] for envelope in envelopes(billing)) == sorted(began * 2)
    linked = {span.name: linked_traces(spans, span.name) for span in spans.get_finished_spans() if span.links}
    assert len(linked) >= 2, "a relay's chunk and a member's batch"
    assert all(traces == set(began) for traces in linked.values()), linked
    for engine in (orders, billing):
        engine.dispose()


def linked_traces(spans: InMemorySpanExporter, name: str) -> set[str]:
    found = [span for span in spans.get_finished_spans() if span.name == name]
    return {trace.format_trace_id(link.context.trace_id) for span in found for link in span.links}


def trace_ids_in(kafka: str, topic: str) -> list[str]:
    """Return the trace id in the headers of each message of a topic with one partition, in log order."""
    reader = Consumer({"bootstrap.servers": kafka, "group.id": "nobody", "enable.partition.eof": True})
    reader.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    found: list[str] = []
    while (message := reader.poll(10)) is not None and message.error() is None:
        headers = dict(message.headers() or ())
        found.append(str(headers["traceparent"], "ascii").split("-")[1])  # type: ignore[arg-type]
    reader.close()
    return found
