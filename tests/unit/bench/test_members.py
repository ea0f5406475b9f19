"""Marks of several members, put into one line."""

from chaos.bench.members import together


def test_what_all_have_done_by_when_is_the_sum_of_what_each_had() -> None:
    """In the order of the clock they share."""
    line = together([[(1.0, 10), (3.0, 30)], [(2.0, 5), (4.0, 6)]])
    assert line == [(1.0, 10), (2.0, 15), (3.0, 35), (4.0, 36)]
