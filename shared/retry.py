"""How long to wait before trying again: exponential back-off with full jitter.

Full jitter (a uniform draw between zero and the ceiling) spreads the clients that failed together, which a fixed or an
"equal" jitter does less well: Marc Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.
"""

import random


class Backoff:
    """Delays for one thing that is tried again and again. Not for use by several threads."""

    def __init__(self, first_seconds: float = 0.1, ceiling_seconds: float = 10.0) -> None:
        self._first = first_seconds
        self._ceiling = ceiling_seconds
        self.failures = 0

    def next(self) -> float:
        """Count a failure and return the seconds to wait after it."""
        self.failures += 1
        ceiling = min(self._ceiling, self._first * 2.0 ** min(self.failures - 1, 32))
        return random.uniform(0.0, ceiling)  # noqa: S311  # spreading load, not keeping a secret

    def reset(self) -> None:
        self.failures = 0
