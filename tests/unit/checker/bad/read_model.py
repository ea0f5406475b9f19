"""The read model: S19."""

from __future__ import annotations

from chaos.specimens import History
from tests.unit.checker.bad.bad import bad


@bad("S19")
def _(h: History) -> None:
    """the read model lost an amount"""
    h.rows["db/analytics/revenue"][0]["amount_minor"] -= 1


@bad("S19")
def _(h: History) -> None:
    """the read model put revenue on the wrong day"""
    h.rows["db/analytics/revenue"][0]["day"] = "2026-03-02"


@bad("S19")
def _(h: History) -> None:
    """the read model counts an order in two states"""
    h.rows["db/analytics/orders_by_state"].append({"state": "placed", "orders": 1})


@bad("S19")
def _(h: History) -> None:
    """the read model moved an order to another day"""
    h.rows["db/analytics/orders_by_day"][0]["day"] = "2026-03-02"


@bad("S19")
def _(h: History) -> None:
    """the read model left an order in the state of before"""
    row = next(r for r in h.rows["db/analytics/orders_by_day"] if r["state"] == "confirmed")
    row["orders"] -= 1
    h.rows["db/analytics/orders_by_day"].append({**row, "state": "placed", "orders": 1})


@bad("S19")
def _(h: History) -> None:
    """the read model added an article to another currency"""
    h.rows["db/analytics/ordered_skus"][0]["currency"] = "XXX"


@bad("S19")
def _(h: History) -> None:
    """the read model counted an order's articles twice"""
    row = h.rows["db/analytics/ordered_skus"][0]
    row.update(orders=row["orders"] + 1, quantity=row["quantity"] + 1, amount_minor=row["amount_minor"] + 999)
