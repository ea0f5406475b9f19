"""A counterexample is told as a story that fits a screen."""

from __future__ import annotations

from pathlib import Path

from chaos.checker.finding import Family
from chaos.checker.registry import INVARIANTS
from chaos.checker.story import LONGEST, Story, to_text
from chaos.checker.turning import TURNS
from chaos.checker.verdict import judge
from chaos.specimens import History, every_shape

SCREEN = 24


def invoiced_twice() -> tuple[History, str]:
    history = every_shape()
    row = dict(history.rows["db/billing/invoice"][0])
    number, sequence = history.draw("INV")
    history.rows["db/billing/invoice"].append({**row, "number": number, "sequence": sequence})
    return history, row["order_id"]


def test_a_story_tells_an_orders_whole_way_in_time_order(tmp_path: Path) -> None:
    """Request, outbox, log, deliveries, effects and mail of the guilty order follow one another."""
    history, order_id = invoiced_twice()

    (story, *_rest) = judge(history.write(tmp_path), canaries=False).stories

    kinds = [moment.kind for moment in story.moments]
    assert story.order_id == order_id
    assert kinds[0] == "request"
    assert {"outbox", "log", "effect", "mail", "fault"} <= set(kinds)
    assert [m.at for m in story.moments] == sorted(m.at for m in story.moments)
    assert sum("invoice INV" in m.what for m in story.moments if m.kind == "effect") == 2


def test_a_story_fits_a_screen_and_counts_what_it_leaves_out(tmp_path: Path) -> None:
    """However often an order was delivered again, its story stays short, and duplicates give way first."""
    history, _order_id = invoiced_twice()
    for generation in range(5, 25):
        history.replay("billing", generation=generation)

    story = judge(history.write(tmp_path), canaries=False).stories[0]

    assert len(story.moments) == LONGEST
    assert story.left_out > 20
    assert len(to_text(story).splitlines()) <= SCREEN
    assert f"{story.left_out} less telling moments are left out" in to_text(story)


def test_moments_inside_a_fault_window_are_marked(tmp_path: Path) -> None:
    """What happened between a fault's injection and its healing bears the fault's name."""
    history, _order_id = invoiced_twice()
    history.the("faults", phase="inject")["at"] = "2026-03-01T11:00:00+00:00"

    story = judge(history.write(tmp_path), canaries=False).stories[0]

    marked = [m for m in story.moments if m.during]
    assert marked
    assert "◀ relay-killed-after-publish" in to_text(story)


def test_a_story_without_some_of_its_journals_is_still_told(tmp_path: Path) -> None:
    """Missing files leave holes in a story, and do not stop it."""
    history, _order_id = invoiced_twice()
    history.write(tmp_path)
    for file in ("intents.jsonl", "deliveries.jsonl", "mail.jsonl", "faults.jsonl"):
        (tmp_path / file).unlink()

    stories = judge(tmp_path, canaries=False).stories

    assert any(m.kind == "effect" for m in stories[0].moments)


# The turning point


def turned(story: Story) -> tuple[str, str | None, str | None]:
    """Return the line at which it went wrong, who did it and where."""
    assert story.turning is not None
    assert story.turning.moment is not None
    return story.moments[story.turning.moment].what, story.turning.who, story.turning.where


def told(history: History, directory: Path, invariant: str) -> Story:
    stories = judge(history.write(directory), canaries=False).stories
    return next(story for story in stories if story.invariant == invariant)


def test_every_rule_but_those_of_vacuity_says_what_should_have_happened() -> None:
    """No violation is told without the sentence that a newcomer needs."""
    assert TURNS.keys() == {i.id for i in INVARIANTS if i.family is not Family.VACUITY}


def test_a_doubled_invoice_turns_at_the_second_one(tmp_path: Path) -> None:
    """The member and the copy by which the second invoice came are named, and the replay that had struck before."""
    history, _order_id = invoiced_twice()
    second = history.rows["db/billing/invoice"][-1]
    second["applied_at"] = history.tick()
    copy = history.the("log", event_id=second["event_id"])
    history.rows["deliveries"].append(
        {"group": "billing", "topic": copy["topic"], "partition": copy["partition"], "offset": copy["offset"],
         "instance": "billing-2", "member": "m", "generation": 4, "at": history.tick(), "duplicate": False}
    )  # fmt: skip

    story = told(history, tmp_path, "S11")

    what, who, where = turned(story)
    assert second["number"] in what
    assert who == "billing-2"
    assert where == f"{copy['topic']}/{copy['partition']}@{copy['offset']}"
    assert story.turning
    assert "relay-killed-after-publish: hit relay-orders-1" in str(story.turning.fault)
    assert f" ► {story.moments[story.turning.moment or 0].at:%H:%M:%S}" in to_text(story)
    assert "What should have happened: Billing's inbox knows the event" in to_text(story)


def test_an_event_that_its_relay_passed_over_turns_where_a_later_row_was_sent(tmp_path: Path) -> None:
    """The row, its lane and the relay that owned the lane are named."""
    history = every_shape()
    placed = history.rows["db/orders/outbox"][0]
    history.unpublish(placed["event_id"])
    history.finish()
    later = next(
        e for e in history.rows["db/orders/outbox"] if e["lane"] == placed["lane"] and e["id"] > placed["id"]
    )  # fmt: skip
    history.rows["owners"] = [
        {"at": "2026-03-01T11:00:00+00:00", "instance": "relay-orders-2", "of": "orders: events",
         "unit": f"lane {placed['lane']}", "what": "taken"}
    ]  # fmt: skip

    story = told(history, tmp_path, "S05")

    what, who, where = turned(story)
    assert f"sends row {later['id']} and has not sent row {placed['id']}" in what
    assert who == "relay-orders-2"
    assert where == f"orders outbox, row {placed['id']}, lane {placed['lane']}"


def test_versions_the_wrong_way_round_are_told_in_the_order_of_the_log(tmp_path: Path) -> None:
    """The version that stands first in the log is the turning point, though it was stamped later than the other."""
    history = every_shape()
    order_id = next(
        e["aggregate_id"] for e in history.rows["db/orders/outbox"] if e["aggregate_version"] == 2
    )  # fmt: skip
    first, second = list(history.all("log", aggregate_id=order_id, aggregate_type="order"))[:2]
    first["offset"], second["offset"] = second["offset"], first["offset"]

    story = told(history, tmp_path, "S09")

    what, _who, where = turned(story)
    assert " v2 in the log" in what
    assert where == f"{second['topic']}/{second['partition']}@{second['offset']}"
    told_of = [moment.what for moment in story.moments if moment.kind == "log" and "orders.events" in moment.what]
    assert " v2 in the log" in told_of[0]
    assert " v1 in the log" in told_of[1]


def test_an_event_that_its_group_went_past_turns_where_the_next_one_is_applied(tmp_path: Path) -> None:
    """The member that goes on behind it is named, and the place that was left undone."""
    history = every_shape()
    rows = history.rows["db/billing/inbox"]
    first = next(r for r in rows if any(
        o["partition"] == r["partition"] and o["offset"] > r["offset"] for o in rows if o["topic"] == r["topic"]
    ))  # fmt: skip
    history.drop("db/billing/inbox", event_id=first["event_id"])

    story = told(history, tmp_path, "S20")

    what, _who, where = turned(story)
    assert where == f"{first['topic']}/{first['partition']}@{first['offset']}"
    assert "lies behind, and had no effect" in what


def test_a_rule_of_sums_is_told_by_an_order_that_was_handled_twice(tmp_path: Path) -> None:
    """A counter that is too high names no order; the story looks for an event that its group did not know again."""
    history = every_shape()
    revenue = history.rows["db/analytics/revenue"][0]
    revenue.update(invoices=revenue["invoices"] + 1, amount_minor=revenue["amount_minor"] + 1999)
    for row in history.rows["deliveries"]:
        row["duplicate"] = row["duplicate"] and row["group"] != "analytics"
    again = next(row for row in history.rows["deliveries"] if row["group"] == "analytics")
    history.rows["deliveries"].append({**again, "at": history.tick(), "instance": "analytics-1"})

    story = told(history, tmp_path, "S17")

    _what, who, where = turned(story)
    assert who == "analytics-1"
    assert str(where).startswith(again["topic"])
    assert story.order_id


def test_a_story_says_when_no_fault_had_struck(tmp_path: Path) -> None:
    """What goes wrong by itself is not blamed on a fault."""
    history, _order_id = invoiced_twice()
    history.rows["faults"] = []

    assert "No fault had struck" in to_text(told(history, tmp_path, "S11"))


def test_a_key_that_stands_for_two_orders_turns_at_the_answer_that_names_the_second(tmp_path: Path) -> None:
    """Both answers name their order, so that a reader sees the second one."""
    history = every_shape()
    first = next(history.all("intents", op="place", result="ok"))
    second = {**first, "n": 10_000, "order_id": history.new_id(), "started_at": history.tick()}
    history.rows["intents"].append(second)

    what, who, where = turned(told(history, tmp_path, "S24"))

    assert f"order …{second['order_id'][-8:]}" in what
    assert who == "orders"
    assert second["key"][:8] in str(where)
