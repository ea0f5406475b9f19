"""A good order is read as it was meant."""

import json

import pytest

from services.orders.order_request import read_order
from shared.events import CURRENCIES

ORDER = {"customer_id": "Zo\u00eb \U0001f600", "email": "ada+tea@example.org"}


@pytest.mark.parametrize("currency", CURRENCIES)
def test_amounts_are_counted_in_minor_units_of_each_currency(currency: str) -> None:
    """The total is the sum of quantity times price, whatever the number of decimals."""
    lines = [{"sku": "a", "quantity": 3, "unit_price_minor": 7}, {"sku": "a", "quantity": 1, "unit_price_minor": 100}]
    request = read_order(json.dumps({**ORDER, "currency": currency, "lines": lines}).encode())
    assert request.amount_minor == 121


@pytest.mark.parametrize(("currency", "largest"), [("JPY", 10**8), ("EUR", 10**10), ("KWD", 10**11)])
def test_the_largest_total_is_taken(currency: str, largest: int) -> None:
    """The bound is in whole units of the currency, so that it means the same in each."""
    lines = [{"sku": "a", "quantity": 1, "unit_price_minor": largest}]
    assert read_order(json.dumps({**ORDER, "currency": currency, "lines": lines}).encode()).amount_minor == largest


def test_members_that_are_not_known_are_ignored() -> None:
    """A newer client does not stop an older service."""
    lines = [{"sku": "a", "quantity": 1, "unit_price_minor": 1, "gift": True}]
    body = json.dumps({**ORDER, "currency": "EUR", "lines": lines, "note": "hello"}).encode()
    assert read_order(body).lines[0].sku == "a"


def test_text_of_any_language_is_kept() -> None:
    """Only what cannot be printed is refused."""
    lines = [{"sku": "\u7dd1\u8336", "quantity": 1, "unit_price_minor": 1}]
    body = json.dumps({**ORDER, "currency": "JPY", "lines": lines}).encode()
    request = read_order(body)
    assert (request.customer_id, request.lines[0].sku) == ("Zo\u00eb \U0001f600", "\u7dd1\u8336")
