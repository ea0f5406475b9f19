"""The journal of deliveries: one line a topic, offsets as ranges."""

from dataclasses import replace

from shared.delivery_log import batch_lines, ranges
from shared.inbox import Delivery
from tests.unit.shared.test_envelope import EVENT

FIRST = Delivery(EVENT, "orders.events", 3, 120, "member", 7)


def test_neighbours_fold_into_ranges() -> None:
    """A replay of any length is one range per partition."""
    assert ranges([3, 1, 2, 7, 9, 8]) == [[1, 3], [7, 9]]
    assert ranges([]) == []


def test_a_line_tells_duplicates_apart_by_where_they_stood() -> None:
    """Two copies of one event in one batch are one effect and one duplicate."""
    copy = replace(FIRST, offset=121)
    other = replace(FIRST, partition=5, offset=9)
    (line,) = batch_lines([FIRST, copy, other], [FIRST, other])
    assert (line["applied"], line["duplicates"]) == (2, 1)
    assert line["partitions"] == {
        "3": {"offsets": [[120, 121]], "duplicates": [[121, 121]]},
        "5": {"offsets": [[9, 9]], "duplicates": []},
    }


def test_each_topic_of_a_batch_has_its_line() -> None:
    """Offsets mean something only within their topic."""
    lines = list(batch_lines([FIRST, replace(FIRST, topic="billing.events")], []))
    assert [line["topic"] for line in lines] == ["orders.events", "billing.events"]
