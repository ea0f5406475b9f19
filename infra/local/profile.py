"""How many of each server a home has: ``small`` (one of each, for a laptop) or ``cluster`` (so that one may go).

Invariant: a home keeps the profile that its data were made with. A log that was formatted for one broker is not one of
a cluster's, so another profile means empty data or another home.
"""

from enum import StrEnum


class Profile(StrEnum):
    SMALL = "small"
    CLUSTER = "cluster"

    @property
    def brokers(self) -> int:
        """Return how many Kafka nodes there are, each a broker and a controller."""
        return 3 if self is Profile.CLUSTER else 1

    @property
    def min_insync(self) -> int:
        """Return how many copies must have a message before it counts: one broker may be away, and not two."""
        return max(1, self.brokers - 1)

    @property
    def members(self) -> int:
        """Return the least number of processes of each relay and consumer group."""
        return 2 if self is Profile.CLUSTER else 1
