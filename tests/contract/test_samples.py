"""What stood in a real log can be read by everyone who hears it, in every version that was ever published."""

import json

import pytest
from jsonschema import Draft202012Validator

from infra.contracts import schemas
from services.notifications.wiring import read_command
from shared import events
from shared.errors import PermanentError
from shared.events import PaymentDeclined, PaymentDeclinedV1, SendInvoice
from tests.contract.agreement import Sample, heard_by, samples, schema_of


def test_every_version_of_every_type_has_one_sample() -> None:
    """A shape without a sample would be read by nobody's test."""
    published = [
        events.dataschema(name, number)
        for name in events.PAYLOADS
        for number, _ in enumerate(schemas.shapes(name), start=1)
    ]
    assert sorted(sample.headers["ce_dataschema"] for sample in samples()) == sorted(published)


@pytest.mark.parametrize("sample", samples(), ids=lambda sample: sample.name)
def test_a_sample_obeys_the_schema_that_it_names(sample: Sample) -> None:
    """The committed schemas describe what was really written, headers and payload."""
    Draft202012Validator(schema_of(sample.headers["ce_dataschema"])).validate(json.loads(sample.payload))
    Draft202012Validator(schemas.headers()).validate(dict(sample.headers))


@pytest.mark.parametrize("sample", samples(), ids=lambda sample: sample.name)
def test_a_sample_is_read_in_todays_shape_whatever_was_added(sample: Sample) -> None:
    """Unknown fields, at every depth, change nothing; handlers never see an older shape."""
    read = sample.delivery().payload
    assert type(read) is events.PAYLOADS[sample.headers["ce_type"]]
    assert sample.delivery(payload=sample.with_more_fields()).payload == read


@pytest.mark.parametrize("service", ["orders", "billing", "analytics", "notifications"])
def test_every_service_hears_something(service: str) -> None:
    """The tests of the services would pass with nothing to read."""
    assert heard_by(service)


def test_notifications_reads_what_billing_commands() -> None:
    """A command comes through the queue: its event id beside its payload."""
    for sample in heard_by("notifications"):
        event_id, command = read_command(sample.headers["ce_id"], json.loads(sample.with_more_fields()))
        assert str(event_id) == sample.headers["ce_id"]
        assert isinstance(command, SendInvoice)


def test_version_1_of_a_declined_payment_is_upcast() -> None:
    """What was called the reason is the code; nothing is made up for people to read."""
    old = PaymentDeclinedV1(order_id="o", reason="amount_above_limit", currency="EUR", amount_minor=7)
    new = PaymentDeclined(order_id="o", code="amount_above_limit", detail="", currency="EUR", amount_minor=7)
    assert events.decode("PaymentDeclined", events.encode(old), events.dataschema("PaymentDeclined", 1)) == new
    assert events.decode("PaymentDeclined", events.encode(new), events.dataschema("PaymentDeclined")) == new


def test_a_consumer_of_yesterday_parks_todays_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """It refuses by the schema's number, before it takes a field for something that it no longer is."""
    new = PaymentDeclined(order_id="o", code="amount_above_limit", detail="", currency="EUR", amount_minor=7)
    written, schema = events.encode(new), events.dataschema("PaymentDeclined")
    monkeypatch.setattr(events, "PAYLOADS", {**events.PAYLOADS, "PaymentDeclined": PaymentDeclinedV1})
    monkeypatch.setattr(events, "OLDER", {})
    monkeypatch.setitem(events._READERS, "PaymentDeclined", events._readers("PaymentDeclined"))
    with pytest.raises(PermanentError, match="Deploy a consumer that knows it, then redrive"):
        events.decode("PaymentDeclined", written, schema)
