"""How much a relay reads at a time, and reading ahead."""

import pytest

from services.relay.appetite import CHUNK_BYTES, FIRST_ROWS, Appetite
from services.relay.position import Row
from services.relay.read_ahead import ReadAhead


def rows(count: int, size: int = 300) -> list[Row]:
    payload = bytes(size)
    return [
        Row(
            n,
            str(n),
            "order",
            str(n),
            1,
            "OrderPlaced",
            "/orders",
            "urn:x",
            payload,
            None,
            "2026-01-01T00:00:00.000000Z",
        )
        for n in range(count)
    ]


def test_full_chunks_of_small_rows_double_up_to_the_limit() -> None:
    """A backlog is drained in large chunks; a trickle never needs them."""
    appetite = Appetite(5000)
    sizes = []
    for _ in range(6):
        sizes.append(appetite.rows)
        appetite.had(rows(appetite.rows))
    assert sizes == [FIRST_ROWS, 1000, 2000, 4000, 5000, 5000]
    appetite.had(rows(10))
    assert appetite.rows == 5000


def test_large_rows_shrink_the_chunk_to_its_bytes() -> None:
    """Memory is bounded by bytes, not by rows."""
    appetite = Appetite(5000)
    appetite.had(rows(FIRST_ROWS, size=CHUNK_BYTES // 100))
    assert appetite.rows == 100
    appetite.had(rows(1, size=CHUNK_BYTES * 2))
    assert appetite.rows == 1


def test_only_what_was_asked_for_is_taken_from_what_was_read_ahead() -> None:
    """Another position, other lanes or another size are read anew."""
    ahead, first, second = ReadAhead(), rows(1), rows(2)
    ahead.start("here", lambda: first)
    assert ahead.take("elsewhere", lambda: second) is second
    ahead.start("here", lambda: first)
    assert ahead.take("here", lambda: second) is first
    assert ahead.take("here", lambda: second) is second
    ahead.close()


def test_a_read_ahead_that_failed_shows_its_error_when_it_is_taken() -> None:
    """A lost connection must not look like an empty outbox."""

    def fail() -> list[Row]:
        raise ConnectionError("gone")

    ahead = ReadAhead()
    ahead.start("here", fail)
    with pytest.raises(ConnectionError):
        ahead.take("here", list)
    ahead.start("here", fail)
    ahead.close()
