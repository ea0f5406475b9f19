"""Payloads: what is written can be read, what cannot be read is permanent."""

import pytest

from shared.errors import PermanentError
from shared.events import OrderConfirmed, decode, encode


def test_a_payload_comes_back_as_it_was() -> None:
    """Encoding and decoding are each other's inverse."""
    payload = OrderConfirmed(order_id="order-1", invoice_number="INV-2026-000001")
    assert decode("OrderConfirmed", encode(payload)) == payload


def test_unknown_fields_are_ignored() -> None:
    """A newer producer does not stop an older consumer."""
    assert decode("OrderConfirmed", b'{"order_id":"1","invoice_number":"2","new":[1]}') == OrderConfirmed(
        order_id="1", invoice_number="2"
    )


@pytest.mark.parametrize(
    ("type_name", "payload"),
    [
        ("OrderForgotten", b"{}"),
        ("OrderConfirmed", b"{"),
        ("OrderConfirmed", b""),
        ("OrderConfirmed", b"\xff\xfe"),
        ("OrderConfirmed", b'{"order_id":"1"}'),
        ("OrderCancelled", b'{"order_id":"1","reason":"mood","currency":"EUR","amount_minor":1}'),
        ("OrderCancelled", b'{"order_id":"1","reason":"customer","currency":"EUR","amount_minor":1.5}'),
        ("OrderCancelled", b'{"order_id":"1","reason":"customer","currency":"EUR","amount_minor":-1}'),
    ],
)
def test_what_cannot_be_read_is_permanent(type_name: str, payload: bytes) -> None:
    """An unknown type, broken bytes or a wrong value raise PermanentError and nothing else."""
    with pytest.raises(PermanentError):
        decode(type_name, payload)


@pytest.mark.parametrize("schema", ["urn:effectively-once:OrderConfirmed:2", "urn:effectively-once:OrderConfirmed:new"])
def test_a_schema_that_this_code_is_too_old_for_is_permanent(schema: str) -> None:
    """Its fields may mean something else, so the bytes are not even tried."""
    written = encode(OrderConfirmed(order_id="1", invoice_number="2"))
    with pytest.raises(PermanentError):
        decode("OrderConfirmed", written, schema)
