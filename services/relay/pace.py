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
    rest_seconds_per_row: float = 0.002
    longest_rest_seconds: float = 0.02

    def rest_seconds(self, rows: int) -> float:
        """Return how long a relay that keeps up waits for company after a chunk of so many rows.

        A single row is followed at once. Under load each look at the outbox then finds several, and relay, database
        and broker do less work for each: what network cards call interrupt moderation.
        """
        return min(rows * self.rest_seconds_per_row, self.longest_rest_seconds)
