"""How fast a relay works."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pace:
    """The produce deadline lies inside the lease, and renewal well before both."""

    chunk_size: int = 5000
    lease_seconds: float = 6.0
    renew_seconds: float = 1.5
    produce_deadline_seconds: float = 4.0
    poll_seconds: float = 0.005
    idle_poll_seconds: float = 1.0
    settle_seconds: float = 0.2
