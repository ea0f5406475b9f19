"""Amounts as people read them: ``EUR 1,234.50``, ``JPY 1,234``, ``KWD 1.234``."""

from decimal import Decimal
from typing import Final

from babel.numbers import format_currency

from services.notifications.errors import MailRefused
from shared.events import CURRENCIES

# The code rather than the symbol: it is never ambiguous, and every font has its letters.
_PATTERN: Final = "¤¤ #,##0.00"


def amount_text(amount_minor: int, currency: str) -> str:
    """Write an amount with its currency's own number of decimals. Raises MailRefused for an unknown currency."""
    decimals = CURRENCIES.get(currency)
    if decimals is None:
        raise MailRefused(f"the currency {currency!r} is not known here, so its amounts cannot be written")
    return str(format_currency(Decimal(amount_minor).scaleb(-decimals), currency, _PATTERN, locale="en"))
