"""Evidence in which nothing is wrong passes, whatever normal thing happened in the run."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from chaos.checker.verdict import Answer, Status, judge
from chaos.specimens import History, every_shape


def test_a_history_of_every_shape_passes(tmp_path: Path) -> None:
    """All ends, lost answers, repeats, copies, replays and crash windows are a PASS with every canary found."""
    verdict = judge(every_shape().write(tmp_path))

    assert verdict.broken == ()
    assert verdict.unknown == ()
    assert verdict.status is Status.PASS
    assert {canary.fate for canary in verdict.canaries} == {"found"}


@pytest.mark.parametrize("shape", ["invoiced", "declined", "cancelled", "cancelled_early", "cancelled_declined"])
def test_each_shape_of_order_breaks_nothing(tmp_path: Path, shape: str) -> None:
    """An order of any shape, alone in its run, breaks no safety and no liveness rule."""
    history = History()
    history.order(shape, amount=1_000_001 if "declined" in shape else 1500)

    verdict = judge(history.finish().write(tmp_path), canaries=False)

    assert [i for i in verdict.broken if i[0] != "W"] == []
    assert verdict.unknown == ()


def test_republished_copies_are_normal(tmp_path: Path) -> None:
    """A relay that publishes everything once more changes nothing, and its duplicates are counted."""
    history = History(duplicates=["log"])
    history.order()
    for event in list(history.rows["db/orders/outbox"]):
        history.publish(event)

    verdict = judge(history.finish().write(tmp_path))

    assert verdict.status is Status.PASS
    assert verdict.counts["copies"] - verdict.counts["distinct_events_in_log"] == 2


def test_replayed_offsets_are_normal(tmp_path: Path) -> None:
    """A group that reads everything again from the start changes nothing."""
    history = History(duplicates=["deliveries"], suppressed=True)
    history.order()
    history.replay("billing")
    history.replay("analytics")

    assert judge(history.finish().write(tmp_path)).status is Status.PASS


def test_an_unclear_placement_may_have_happened_or_not(tmp_path: Path) -> None:
    """A place attempt with a lost answer is neither a lost order nor a phantom."""
    history = History()
    history.the("intents", order_id=history.order()).update(result="info", order_id=None)
    history.attempt(None, result="info", ref="nowhere")
    history.order()

    assert judge(history.finish().write(tmp_path)).status is Status.PASS


def test_an_unclear_cancellation_leaves_both_ends_open(tmp_path: Path) -> None:
    """A cancellation with a lost answer allows the order to end cancelled, and to end invoiced."""
    history = History()
    history.attempt(history.order("invoiced"), op="cancel", result="info")
    cancelled = history.order("cancelled")
    history.the("intents", order_id=cancelled, op="cancel").update(result="info")

    assert judge(history.finish().write(tmp_path), canaries=False).broken == ("W04",)


def test_a_batch_may_write_its_inbox_rows_in_any_order(tmp_path: Path) -> None:
    """Two events of one batch of one member are in order by their offsets, whatever the clock of their rows says."""
    history = History()
    history.order()
    order_id = history.order("cancelled_early", burst=True)
    rows = list(history.all("db/billing/inbox", aggregate_id=order_id))
    rows[0]["applied_at"], rows[1]["applied_at"] = rows[1]["applied_at"], rows[0]["applied_at"]

    assert judge(history.finish().write(tmp_path), canaries=False).broken == ()


def test_only_half_of_a_stored_pass_is_settled(tmp_path: Path) -> None:
    """A row that the stored pass has not reached may be missing from the log: it is late, not lost."""
    history = History()
    order_id = history.order("invoiced")
    events = list(history.all("db/orders/outbox", aggregate_id=order_id))
    history.unpublish(events[-1]["event_id"])
    history.finish()
    xid = int(events[-1]["xid"])
    for row in history.all("db/orders/relay_position", destination="event"):
        row.update(done=f"{xid - 1}:{xid - 1}:", target=f"{xid + 1}:{xid + 1}:", after_id=events[-1]["id"] - 1)

    broken = judge(history.write(tmp_path), canaries=False).broken

    assert "L01" in broken
    assert "S05" not in broken


def test_poison_excuses_what_the_scenario_spoiled(tmp_path: Path) -> None:
    """An order whose event was spoiled on purpose, parked and never billed, is excused everywhere."""
    history = History()
    history.order("invoiced")
    spoiled = history.new_id()
    history.attempt(spoiled)
    history.accept(spoiled, 1999, "EUR")
    event = history.emit("order", spoiled, "OrderPlaced", publish=False, amount=1999, currency="EUR")
    history.rows["db/orders/outbox_parked"].append(
        {"outbox_id": event["id"], "state": "parked", "attempts": 3, "last_error": "too large"}
    )
    history.run["expect"]["poisoned"] = [event["event_id"]]
    history.finish()
    history.the("db/analytics/orders_by_state", state="confirmed")
    history.rows["db/analytics/orders_by_state"] = [{"state": "confirmed", "orders": 1}]

    assert judge(history.write(tmp_path)).broken == ()


def test_a_spoiled_message_is_excused_by_its_place(tmp_path: Path) -> None:
    """A message without an event id that a scenario put into the log and every group parked breaks nothing."""
    history = History()
    order_id = history.order("invoiced")
    copy = history.publish(history.the("db/orders/outbox", aggregate_id=order_id))
    copy.update(event_id=None, type=None, aggregate_type=None, aggregate_id=None, aggregate_version=None)
    place = {name: copy[name] for name in ("topic", "partition", "offset")}
    for group in ("billing", "analytics"):
        history.rows[f"db/{group}/inbox_parked"] = [{"consumer": group, "event_id": None, "state": "parked", **place}]
    history.run["expect"]["poisoned"] = [f"{copy['topic']}/{copy['partition']}@{copy['offset']}"]

    assert judge(history.finish().write(tmp_path), canaries=False).broken == ()


def test_a_spoiled_message_that_looks_like_an_order_is_excused_by_its_place(tmp_path: Path) -> None:
    """Its headers name an order that nobody placed: it is owed no invoice, and the read model does not count it."""
    history = History()
    order_id = history.order("invoiced")
    copy = history.publish(history.the("db/orders/outbox", aggregate_id=order_id, type="OrderPlaced"))
    copy.update(event_id="spoiled", aggregate_id="nobody's", aggregate_version=1)
    place = {name: copy[name] for name in ("topic", "partition", "offset")}
    for group in ("billing", "analytics"):
        row = {"consumer": group, "event_id": "spoiled", "state": "parked", **place}
        history.rows[f"db/{group}/inbox_parked"] = [row]
    history.run["expect"]["poisoned"] = [f"{copy['topic']}/{copy['partition']}@{copy['offset']}"]
    assert judge(history.finish().write(tmp_path), canaries=False).broken == ()


def test_a_run_that_was_cut_off_is_never_a_pass(tmp_path: Path) -> None:
    """Evidence of a run that did not end says nothing about what it still owed, however good it looks."""
    history = every_shape()
    history.write(tmp_path)
    run = json.loads((tmp_path / "run.json").read_text())
    (tmp_path / "run.json").write_text(json.dumps({**run, "ended_at": None}))

    verdict = judge(tmp_path)

    assert verdict.status is Status.UNKNOWN
    assert {"L01", "L02"} <= set(verdict.unknown)


def test_a_rule_that_cannot_be_asked_of_a_variant_is_left_out(tmp_path: Path) -> None:
    """`not_applicable` takes a rule out of the verdict with its reason."""
    history = every_shape(not_applicable={"S05": "this variant has no relay"})
    history.unpublish(history.rows["db/orders/outbox"][2]["event_id"])

    verdict = judge(history.finish().write(tmp_path))

    result = next(r for r in verdict.results if r.invariant == "S05")
    assert result.answer is Answer.NOT_APPLICABLE
    assert result.reason == "this variant has no relay"


def test_duplicates_that_came_unasked_are_no_reproach(tmp_path: Path) -> None:
    """Without expectations the vacuity rules about duplicates and owners do not apply."""
    history = History()
    history.order()

    verdict = judge(history.finish().write(tmp_path))

    asked = {r.invariant: r.answer for r in verdict.results}
    assert asked["W02"] is asked["W03"] is asked["W06"] is asked["W08"] is Answer.NOT_APPLICABLE


@pytest.mark.parametrize(("seconds_before", "met_work"), [(0.5, True), (1.5, False)])
def test_a_blow_is_felt_for_a_second(tmp_path: Path, seconds_before: float, met_work: bool) -> None:
    """Whoever was struck just before the first order came is still missing when it comes; later on he is not."""
    history = every_shape()
    invoiced = {row["event_id"] for row in history.rows["db/billing/invoice"]}
    first = min(
        datetime.fromisoformat(row["occurred_at"])
        for row in history.rows["db/orders/outbox"]
        if row["event_id"] in invoiced
    )
    for mark in history.rows["faults"]:
        mark["at"] = (first - timedelta(seconds=seconds_before)).isoformat()

    verdict = judge(history.write(tmp_path), canaries=False)

    assert ("W05" not in verdict.broken) is met_work
