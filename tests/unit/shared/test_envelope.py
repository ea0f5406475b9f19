"""An event's envelope survives the way through Kafka's headers, or says what is wrong with them."""

from datetime import UTC, datetime
from uuid import UUID

import pytest

from shared.envelope import Envelope, from_message, to_headers
from shared.errors import PermanentError

EVENT = Envelope(
    event_id=UUID("01a22a08-9346-71f2-976c-34f819da01da"),
    type="OrderPlaced",
    source="/orders",
    aggregate_type="order",
    aggregate_id="order-1",
    aggregate_version=1,
    dataschema="urn:effectively-once:OrderPlaced:1",
    payload=b'{"order_id":"order-1"}',
    occurred_at=datetime(2026, 2, 28, 12, 0, 0, 123456, tzinfo=UTC),
    traceparent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
)


def test_an_envelope_comes_back_as_it_was() -> None:
    """Headers and value hold everything, to the microsecond."""
    assert from_message(to_headers(EVENT), EVENT.payload) == EVENT


def test_unknown_headers_are_ignored() -> None:
    """A newer producer may say more."""
    assert from_message([*to_headers(EVENT), ("ce_new", b"x"), ("empty", None)], EVENT.payload) == EVENT


@pytest.mark.parametrize("missing", ["ce_id", "ce_type", "ce_subject", "ce_aggregateversion", "ce_time"])
def test_a_missing_header_is_permanent_and_named(missing: str) -> None:
    """Trying again would not bring it."""
    headers = [(name, value) for name, value in to_headers(EVENT) if name != missing]
    with pytest.raises(PermanentError, match=missing):
        from_message(headers, EVENT.payload)


@pytest.mark.parametrize(("name", "value"), [("ce_id", b"7"), ("ce_aggregateversion", b"one"), ("ce_type", b"\xff")])
def test_a_broken_header_is_permanent(name: str, value: bytes) -> None:
    """Whatever stands in a header, reading it raises nothing else."""
    headers = [(n, value if n == name else v) for n, v in to_headers(EVENT)]
    with pytest.raises(PermanentError):
        from_message(headers, EVENT.payload)


def test_a_message_without_a_value_is_permanent() -> None:
    """A tombstone is no event."""
    with pytest.raises(PermanentError, match="no value"):
        from_message(to_headers(EVENT), None)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ce_aggregateversion", b"0"),
        ("ce_aggregateversion", b"2147483648"),
        ("ce_time", b"2026-01-01T00:00:00"),
        ("ce_subject", b""),
        ("ce_subject", b"order\x001"),
        ("ce_type", b"Order\x00Placed"),
    ],
)
def test_what_no_database_would_note_is_permanent(name: str, value: bytes) -> None:
    """Such a message is refused by itself, before it can fail the statement that it shares with its batch."""
    headers = [(known, value if known == name else given) for known, given in to_headers(EVENT)]
    with pytest.raises(PermanentError):
        from_message(headers, b"{}")
