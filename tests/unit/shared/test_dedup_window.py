"""For how long an event may come again, by the time in its own id."""

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest

from shared.dedup_window import BeyondWindowError, DedupWindow, own_time
from shared.errors import ConfigurationError, PermanentError

NOW = datetime(2026, 3, 15, 12, tzinfo=UTC)
WINDOW = DedupWindow(14)


def made_at(when: datetime) -> UUID:
    milliseconds = round(when.timestamp() * 1000)
    return UUID(int=milliseconds << 80 | 7 << 76 | 2 << 62 | 1)


def test_an_id_tells_its_time_to_the_millisecond() -> None:
    when = datetime(2026, 1, 31, 23, 59, 59, 999_000, tzinfo=UTC)
    assert own_time(made_at(when)) == when


def test_an_event_at_the_edge_of_the_window_is_applied_and_one_before_it_refused() -> None:
    edge = NOW - timedelta(days=14)
    WINDOW.check(made_at(edge), NOW)
    with pytest.raises(BeyondWindowError, match="from 2026-03-01 11:59 UTC, older than the 14 days"):
        WINDOW.check(made_at(edge - timedelta(milliseconds=1)), NOW)


def test_a_refused_event_is_parked_as_any_that_can_never_be_applied() -> None:
    assert issubclass(BeyondWindowError, PermanentError)


@pytest.mark.parametrize(
    "event_id",
    [uuid4(), made_at(NOW + timedelta(days=900)), UUID(int=(2**48 - 1) << 80 | 7 << 76 | 2 << 62)],
    ids=["another version", "a clock far ahead", "beyond the calendar"],
)
def test_an_id_without_a_past_of_its_own_is_never_beyond(event_id: UUID) -> None:
    """Its row is in the inbox's default partition, and a duplicate is known there."""
    assert not WINDOW.is_beyond(event_id, NOW)


def test_a_window_shorter_than_the_longest_replay_stops_the_start_and_says_what_to_do() -> None:
    with pytest.raises(ConfigurationError, match=r"Set DEDUP_WINDOW_DAYS to 7 or more, or LONGEST_REPLAY_DAYS to 3"):
        DedupWindow.checked(3, 7)
    assert DedupWindow.checked(7, 7) == DedupWindow(7)


@pytest.mark.parametrize("service", ["orders", "billing", "analytics"])
def test_a_consumer_does_not_start_with_such_settings(service: str) -> None:
    """It ends as with every setting that is wrong, before it connects to anything."""
    done = subprocess.run(
        [sys.executable, "-m", f"services.{service}", "consumer"],
        env={
            **os.environ,
            "DATABASE_URL": "postgresql+psycopg://nobody@127.0.0.1:1/nowhere",
            "KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:1",
            "DEDUP_WINDOW_DAYS": "6",
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 78
    assert "DEDUP_WINDOW_DAYS=6 is shorter than LONGEST_REPLAY_DAYS=7" in done.stderr
