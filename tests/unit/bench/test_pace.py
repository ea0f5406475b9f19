"""Rates and ratios of measurements."""

import pytest

from chaos.bench.pace import middle_rate
from chaos.bench.plot import strip_plot
from chaos.bench.report import Comparison, table
from chaos.bench.rounds import Rival, Spread, alternate, ratio


def test_the_slow_beginning_and_end_are_left_out_of_a_rate() -> None:
    """100/s in the middle, whatever the first and the last fifth took."""
    slow_start = [(float(second), 10 * second) for second in range(3)]
    middle = [(2 + second / 10, 20 + 10 * second) for second in range(1, 7)]
    slow_end = [(50.0, 90), (90.0, 100)]

    assert middle_rate([*slow_start, *middle, *slow_end]) == pytest.approx(100)


def test_nothing_done_has_no_rate() -> None:
    """A rival that did nothing is an error, not a zero in a table."""
    with pytest.raises(ValueError, match="no rate"):
        middle_rate([])


def test_each_round_begins_with_another_rival_and_has_all_of_them() -> None:
    """Whoever goes first has the coldest machine; it must not always be the same one."""
    order: list[str] = []
    rivals = [Rival(name, lambda name=name: float(order.append(name) or 1)) for name in "abc"]  # type: ignore[misc]

    alternate(rivals, 2, lambda _line: None)

    assert "".join(order) == "abcbca"


def test_a_ratio_is_taken_within_a_round() -> None:
    """A machine that halves its speed between two rounds does not change the ratio."""
    assert ratio({"x": [100, 50], "y": [200, 100]}, "x", "y") == Spread(0.5, 0.5, 0.5)


def test_a_comparison_shows_every_rival_in_table_and_plot() -> None:
    """The names may hold characters that mean something in SVG."""
    rates = {"a < b": [1.0, 2.0, 3.0], "limit": [4.0, 4.0, 4.0]}

    assert table(Comparison("t", "w", "u", rates, "limit"))[2] == "| a < b | 2 (1–3) | 0.50 (0.25–0.75) |"
    assert "a &lt; b" in strip_plot("t", "u", rates)
