"""A position's steps: begin, advance, finish."""

from services.relay.position import Position

START = Position("10:20:12,15", 100, None, None, 0)


def test_a_pass_runs_from_done_to_target() -> None:
    """Finishing makes the target what is done, and the target's floor the floor."""
    begun = START.begin("30:40:", 180)
    assert begun == Position("10:20:12,15", 100, "30:40:", 180, 0)
    assert begun.advance(170).finish() == Position("30:40:", 180, None, None, 0)


def test_the_floor_never_falls() -> None:
    """A sequence value read before the last settle is older than the floor."""
    assert START.begin("30:40:", 50).target_floor == 100


def test_a_pass_in_hand_keeps_its_target() -> None:
    """A pass that was taken over ends with what was stored: with a fresh target its id would skip late commits."""
    in_hand = Position("10:20:", 100, "30:40:", 180, 150)
    assert in_hand.begin("50:60:", 250) == in_hand


def test_running_transactions_are_read_from_the_snapshot() -> None:
    """Their rows may lie below the floor."""
    assert START.in_progress() == ["12", "15"]
    assert Position("10:20:", 0, None, None, 0).in_progress() == []
