"""What customers ask for: a pure function of a seed and a number.

The mix is that of a small shop: most orders have one to four lines and one in twenty has dozens; seven currencies with
0, 2 and 3 decimals; about 8 in 100 are too large to be paid, 6 in 100 are cancelled, 5 in 100 are sent twice.

The payment rule (a total above 10,000.00 is declined) is written down here a second time on purpose: the load says what
it expects, whatever billing does.
"""

import random
from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

DECIMALS = {"EUR": 2, "USD": 2, "GBP": 2, "CHF": 2, "SEK": 2, "JPY": 0, "KWD": 3}
_CURRENCY_WEIGHTS = (40, 20, 12, 8, 8, 8, 4)
LIMIT_MAJOR = 10_000

SHARE_DECLINED = 0.08
SHARE_CANCELLED = 0.06
SHARE_SENT_TWICE = 0.05
SHARE_READ = 0.30
SHARE_LARGE = 0.05
CUSTOMERS = 500

_GOODS = ("green-tea", "black-tea", "tea-pot", "strainer", "cup", "saucer", "sugar", "honey", "caddy", "whisk")

Outcome = Literal["invoiced", "declined"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shopping:
    """One customer's visit: an order, and what follows it."""

    customer_id: str
    body: dict[str, Any]
    currency: str
    amount_minor: int
    outcome: Outcome
    sent_twice: bool
    cancelled_after_seconds: float | None
    read: bool


def shopping(seed: int, number: int) -> Shopping:
    """Return the n-th visit."""
    dice = random.Random(f"{seed}/{number}")  # noqa: S311  # a plan, not a secret
    currency = dice.choices(list(DECIMALS), _CURRENCY_WEIGHTS)[0]
    lines = _lines(dice, 10 ** DECIMALS[currency], too_large=dice.random() < SHARE_DECLINED)
    amount_minor = sum(line["quantity"] * line["unit_price_minor"] for line in lines)
    customer = dice.randrange(CUSTOMERS)
    customer_id = str(UUID(int=customer + 1, version=4))
    return Shopping(
        customer_id=customer_id,
        body={
            "customer_id": customer_id,
            "email": f"customer-{customer}@example.com",
            "currency": currency,
            "lines": lines,
        },
        currency=currency,
        amount_minor=amount_minor,
        outcome=outcome_of(currency, amount_minor),
        sent_twice=dice.random() < SHARE_SENT_TWICE,
        cancelled_after_seconds=dice.choice((0.0, 0.5, 2.0)) if dice.random() < SHARE_CANCELLED else None,
        read=dice.random() < SHARE_READ,
    )


def outcome_of(currency: str, amount_minor: int) -> Outcome:
    return "declined" if amount_minor > LIMIT_MAJOR * 10 ** DECIMALS[currency] else "invoiced"


def _lines(dice: random.Random, unit: int, *, too_large: bool) -> list[dict[str, Any]]:
    """Return lines that come to clearly more than the limit, or clearly less, whatever the currency's decimals."""
    if too_large:
        return [_line(dice, 2, LIMIT_MAJOR * unit // 2 + dice.randint(1, 1_000 * unit))]
    if dice.random() < SHARE_LARGE:
        return [_line(dice, dice.randint(1, 5), dice.randint(1, 20 * unit)) for _ in range(dice.randint(30, 90))]
    return [_line(dice, dice.randint(1, 3), dice.randint(1, 200 * unit)) for _ in range(dice.randint(1, 4))]


def _line(dice: random.Random, quantity: int, unit_price_minor: int) -> dict[str, Any]:
    return {"sku": dice.choice(_GOODS), "quantity": quantity, "unit_price_minor": unit_price_minor}
