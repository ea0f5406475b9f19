"""Back-off: grows, has a ceiling, is spread, and starts anew after a success."""

from shared.retry import Backoff


def test_delays_stay_under_a_ceiling_that_grows() -> None:
    """The n-th delay lies between zero and first * 2^(n-1), never above the ceiling."""
    backoff = Backoff(first_seconds=0.1, ceiling_seconds=1.0)
    delays = [backoff.next() for _ in range(200)]
    limits = [min(1.0, 0.1 * 2**n) for n in range(200)]
    assert all(0 <= delay <= limit for delay, limit in zip(delays, limits, strict=True))
    assert len({round(delay, 6) for delay in delays[10:]}) > 100


def test_a_success_starts_anew() -> None:
    """After a reset the first delay is short again."""
    backoff = Backoff(first_seconds=0.1)
    for _ in range(20):
        backoff.next()
    backoff.reset()
    assert backoff.failures == 0
    assert backoff.next() <= 0.1
