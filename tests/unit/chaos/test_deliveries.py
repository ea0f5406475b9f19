"""Deliveries read from log lines, and why a duplicate existed."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from chaos.causes import Cause, classify, second_copies
from chaos.deliveries import DeliveryCount, read_line, split
from chaos.history import Delivery
from chaos.journal import Tail

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def line(**changed: object) -> bytes:
    entry = {
        "event": "batch applied",
        "group": "run-1.billing",
        "topic": "run-1.orders.events",
        "member": "m",
        "generation": 4,
        "instance": "billing-1",
        "at": NOON.isoformat(),
        "partitions": {"3": {"offsets": [[120, 125]], "duplicates": [[121, 122]]}},
    }
    return json.dumps({**entry, **changed}).encode() + b"\n"


def delivery(offset: int, *, at: int = 0, duplicate: bool = True, last: int | None = None) -> Delivery:
    return Delivery(
        group="billing",
        topic="orders.events",
        partition=0,
        offset=offset,
        last_offset=last,
        instance="billing-1",
        member="m",
        generation=1,
        at=NOON + timedelta(seconds=at),
        duplicate=duplicate,
    )


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ([], [(1, 9, False)]),
        ([(1, 9)], [(1, 9, True)]),
        ([(3, 4), (9, 9)], [(1, 2, False), (3, 4, True), (5, 8, False), (9, 9, True)]),
        ([(20, 30)], [(1, 9, False)]),
    ],
)
def test_a_range_is_cut_where_it_was_known(known: list[tuple[int, int]], expected: list[object]) -> None:
    """Every offset is in exactly one stretch, and each stretch is all new or all known."""
    assert list(split(1, 9, known)) == expected


def test_a_log_line_becomes_deliveries_under_plain_names() -> None:
    """Topic and group lose the run's prefix; other lines of the log are none of our business."""
    found = list(read_line(line(), "run-1"))
    assert [(d.offset, d.last_offset, d.duplicate) for d in found] == [
        (120, None, False),
        (121, 122, True),
        (123, 125, False),
    ]
    assert {(d.group, d.topic, d.partition) for d in found} == {("billing", "orders.events", 3)}
    assert list(read_line(b'{"event": "partitions assigned"}\n', "run-1")) == []


def test_a_log_is_followed_as_it_grows_and_rotates(tmp_path: Path) -> None:
    """What was counted is not counted again; a half-written line waits for its end; a new file starts anew."""
    log = tmp_path / "billing-1.log"
    count = DeliveryCount("run-1", {log: Tail(log)})
    count.refresh()
    log.write_bytes(line() + line()[:-10])
    count.refresh()
    assert (count.delivered, count.suppressed) == (6, 2)
    with log.open("ab") as stream:
        stream.write(line()[-10:])
    count.refresh()
    assert count.delivered == 12
    log.rename(tmp_path / "billing-1.log.1")
    log.write_bytes(line())
    count.refresh()
    assert count.delivered == 18


def test_each_duplicate_has_one_cause() -> None:
    """A second copy in the log, a redelivery after a death, and a replay are told apart."""
    copies = second_copies(
        [{"topic": "orders.events", "partition": 0, "offset": n, "event_id": e} for n, e in enumerate("abcca")]
    )
    causes = classify(
        [
            delivery(0, last=2, duplicate=False),
            delivery(3, at=1),
            delivery(2, at=2, last=3),
            delivery(4, at=3),
            delivery(0, at=9, last=4),
        ],
        copies,
        {"billing": [NOON + timedelta(seconds=5)]},
    )
    assert causes == {Cause.REPUBLISHED: 2, Cause.REDELIVERED: 2, Cause.REPLAYED: 5}
