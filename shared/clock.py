"""The two clocks of a process: wall time for people and records, monotonic time for deadlines.

Nothing in this system is *ordered* by wall time: clocks of two machines differ, and two readings can tie. Order
comes from an aggregate's version, and leases compare the database's clock with itself.
"""

import time
from datetime import UTC, datetime


def utc_now() -> datetime:
    return datetime.now(UTC)


def monotonic() -> float:
    return time.monotonic()
