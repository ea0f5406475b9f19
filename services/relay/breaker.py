"""The breaker: after a failure that is the receiver's, nothing is sent for a while, ever longer, up to a ceiling.

Full jitter, so that relays which failed together do not come back together. The receiver is asked for a sign of life
before rows are tried on it again.
"""

import time

from shared.retry import Backoff

CEILING_SECONDS = 2.0


class Breaker:
    """Of one relay and one receiver. For one thread."""

    def __init__(self) -> None:
        self._backoff = Backoff(first_seconds=0.1, ceiling_seconds=CEILING_SECONDS)
        self._blocked_until = 0.0

    @property
    def is_open(self) -> bool:
        return self._backoff.failures > 0

    def blocks(self) -> bool:
        """Tell whether it is still too early to try."""
        return self.remaining() > 0

    def remaining(self) -> float:
        return max(0.0, self._blocked_until - time.monotonic())

    def trip(self) -> float:
        """Count a failure, and return the seconds until the next try."""
        delay = self._backoff.next()
        self._blocked_until = time.monotonic() + delay
        return delay

    def close(self) -> None:
        self._backoff.reset()
