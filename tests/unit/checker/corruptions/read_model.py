"""What may be wrong with the read model: S19."""

from __future__ import annotations

from chaos.specimens import Varied
from tests.unit.checker.corruptions.corruption import corruption
from tests.unit.checker.corruptions.pick import DAYS, REVENUE, SKUS, STATES, some

# S19: the read model


@corruption("S19")
def _(h: Varied) -> None:
    """revenue is off by a little"""
    some(h, h.rows[REVENUE])["amount_minor"] += h.dice.choice((-1, 1))


@corruption("S19")
def _(h: Varied) -> None:
    """what was credited is off by a little"""
    some(h, h.rows[REVENUE])["credited_minor"] += h.dice.choice((-1, 1))


@corruption("S19")
def _(h: Varied) -> None:
    """revenue stands under another day"""
    some(h, h.rows[REVENUE])["day"] = "2026-02-28"


@corruption("S19")
def _(h: Varied) -> None:
    """revenue stands under another currency"""
    some(h, h.rows[REVENUE])["currency"] = "XXX"


@corruption("S19")
def _(h: Varied) -> None:
    """one order is counted in a state that it is not in"""
    some(h, h.rows[STATES])["orders"] += h.dice.choice((-1, 1))


@corruption("S19")
def _(h: Varied) -> None:
    """one order is counted on a day on which it was not placed"""
    some(h, h.rows[DAYS])["day"] = "2026-02-28"


@corruption("S19")
def _(h: Varied) -> None:
    """one order is counted in a currency in which it was not placed"""
    some(h, h.rows[DAYS])["currency"] = "XXX"


@corruption("S19")
def _(h: Varied) -> None:
    """one article was ordered once more or less"""
    row = some(h, h.rows[SKUS])
    row[h.dice.choice([name for name, value in row.items() if isinstance(value, int)])] += h.dice.choice((-1, 1))


@corruption("S19", "S17")
def _(h: Varied) -> None:
    """a line of revenue is lost"""
    h.rows[REVENUE].remove(some(h, [row for row in h.rows[REVENUE] if row["amount_minor"]]))


@corruption("S19", "S17")
def _(h: Varied) -> None:
    """a row of the read model stands there twice"""
    rows = h.rows[h.dice.choice((REVENUE, STATES, DAYS, SKUS))]
    rows.append(dict(some(h, rows)))


@corruption("S19")
def _(h: Varied) -> None:
    """the count of a state is lost"""
    h.rows[STATES].remove(some(h, [row for row in h.rows[STATES] if row["orders"]]))


@corruption("S19")
def _(h: Varied) -> None:
    """a state is counted that no order is in"""
    h.rows[STATES].append({"state": "nowhere", "orders": 1})


@corruption("S19")
def _(h: Varied) -> None:
    """an article's line is lost"""
    h.rows[SKUS].remove(some(h, h.rows[SKUS]))


@corruption("S19")
def _(h: Varied) -> None:
    """an article is counted that nobody ordered"""
    h.rows[SKUS].append({"currency": "EUR", "sku": "air", "orders": 1, "quantity": 1, "amount_minor": 1})
