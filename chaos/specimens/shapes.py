"""A good history in which everything normal happens at least once."""

from __future__ import annotations

from typing import Any

from chaos.specimens.history import History


def every_shape(**expect: Any) -> History:
    """A good history in which everything normal happens: all shapes, lost answers, copies, replays, a crash window."""
    history = History(
        **{
            "duplicates": ["log", "deliveries"], "suppressed": True, "owner_change": ["billing"], "pending_pairs": 1,
            "overlap": True, "operations": ["place", "cancel", "invoiced", "declined", "cancelled", "replayed"],
            **expect,
        }
    )  # fmt: skip
    _owners(history)
    for currency, amount in (("EUR", 1999), ("JPY", 1200), ("KWD", 12345), ("EUR", 501)):
        history.order("invoiced", amount, currency)
        history.order("cancelled", amount, currency)
        history.order("cancelled_early", amount, currency, burst=True)
    history.order("declined", 1_000_001)
    history.order("cancelled_declined", 1_000_001, burst=True)
    _unclear_answers(history)
    _crash_windows(history)
    return history.finish()


def _owners(history: History) -> None:
    """Let one relay of each database hold all lanes."""
    history.rows["owners"] = [
        {"at": history.tick(), "instance": f"relay-{database}-1", "of": f"{database}: events", "unit": f"lane {lane}",
         "what": "taken"}
        for database in ("orders", "billing") for lane in range(16)
    ]  # fmt: skip


def _unclear_answers(history: History) -> None:
    repeated = history.order("invoiced", 700)
    history.attempt(repeated, amount=700, replayed=True)
    lost = history.order("invoiced", 800)
    history.the("intents", order_id=lost).update(result="info", order_id=None)
    history.attempt(None, result="info", ref="never-arrived")
    history.attempt(None, result="fail", ref="refused")
    late = history.order("invoiced", 900)
    history.attempt(late, op="cancel", result="info", amount=900, expect="cancelled")
    history.attempt(history.order("declined", 2_000_000), op="cancel", result="fail", expect="cancelled")
    torn = history.order("invoiced", 950)
    history.rows["intents"].append({**history.the("intents", order_id=torn), "result": "ok"})
    history.rows["intents"].insert(0, {**history.the("intents", order_id=torn), "result": "info", "order_id": None})


def _crash_windows(history: History) -> None:
    history.fault("relay-killed-after-publish")
    event = history.rows["db/orders/outbox"][0]
    history.publish(event)
    history.publish(event, generation=2)
    first = history.rows["log"][0]
    history.deliver("billing", first, instance="billing-2", generation=3)
    history.replay("billing", instance="billing-2", generation=4)
    copy = dict(history.rows["mail"][0], answered=False)
    history.rows["mail"].append(copy)
    invoice = history.rows["db/billing/invoice"][0]
    history.rows["faults"].append(
        {"fault": "relay-killed-after-publish", "act": "1", "phase": "hit", "at": invoice["applied_at"],
         "target": "relay-orders-1", "pid": 1, "failpoint": "relay.after_publish_before_settle", "detail": None}
    )  # fmt: skip
