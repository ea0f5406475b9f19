"""A counterexample is told as a story that fits a screen."""

from __future__ import annotations

from pathlib import Path

from chaos.checker.story import LONGEST, to_text
from chaos.checker.verdict import judge
from chaos.specimens import History, every_shape


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
    assert len(to_text(story).splitlines()) == LONGEST + 2
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
