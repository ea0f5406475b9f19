import pytest
from babel.numbers import get_currency_precision

from services.notifications.amounts import amount_text
from services.notifications.errors import MailRefused
from shared.events import CURRENCIES


@pytest.mark.parametrize(
    ("amount_minor", "currency", "text"),
    [
        (0, "EUR", "EUR 0.00"),
        (5, "EUR", "EUR 0.05"),
        (123_456, "EUR", "EUR 1,234.56"),
        (1_234, "JPY", "JPY 1,234"),
        (1_234, "KWD", "KWD 1.234"),
        (10**15, "USD", "USD 10,000,000,000,000.00"),
    ],
)
def test_an_amount_has_its_currencys_own_decimals(amount_minor: int, currency: str, text: str) -> None:
    """None, two or three; no amount is rounded."""
    assert amount_text(amount_minor, currency) == text


@pytest.mark.parametrize("currency", sorted(CURRENCIES))
def test_the_library_and_the_events_agree_on_decimals(currency: str) -> None:
    """If they did not, an invoice would be off by powers of ten."""
    assert get_currency_precision(currency) == CURRENCIES[currency]


def test_an_unknown_currency_cannot_be_written() -> None:
    with pytest.raises(MailRefused, match="XXX"):
        amount_text(1, "XXX")
