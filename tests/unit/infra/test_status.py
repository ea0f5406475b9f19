"""Status: the trend of a backlog, and durations as people say them."""

import pytest

from infra.cli.console import duration
from infra.status.picture import trend


def test_a_shrinking_backlog_has_a_time_to_drain() -> None:
    found = trend(before=300, now=200, seconds=2)
    assert found.growth_per_second == -50
    assert found.drain_seconds == 4


@pytest.mark.parametrize(("before", "now"), [(0, 0), (100, 100), (100, 200), (100, 0)])
def test_a_backlog_that_is_empty_still_or_growing_has_none(before: int, now: int) -> None:
    assert trend(before, now, 1).drain_seconds is None


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.44, "0.4 s"), (12, "12 s"), (180, "3 min"), (7500, "2 h 5 min"), (345_600, "4 days")],
)
def test_durations_are_written_as_people_say_them(seconds: float, text: str) -> None:
    assert duration(seconds) == text
