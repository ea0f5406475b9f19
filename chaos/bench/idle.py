"""What a relay costs while there is nothing to do: the processor time of its process, as a share of one core.

Processor time, not the clock: so it is nearly the same figure on a machine that has other things to do.
"""

import time
from dataclasses import dataclass
from typing import Final

import psutil

from chaos.bench.place import Child, Place

PATIENCE_SECONDS = 60.0
LEFT_OUT_SECONDS = 8.0
"""After a relay has its lanes: it finds ever less often that there is nothing."""

_OWNED: Final = """
SELECT count(DISTINCT relay_lane.destination) FROM relay_position JOIN relay_lane USING (position_id) WHERE owner = %s
"""


@dataclass(frozen=True, slots=True)
class Deployed:
    """A relay as it is deployed."""

    process: str
    database: str
    destinations: int
    carries: str


RELAYS: Final = (
    Deployed("relay-orders-1", "orders", 1, "events"),
    Deployed("relay-billing-1", "billing", 2, "events and commands"),
)


def measure(place: Place, seconds: float) -> dict[str, float]:
    """Return what share of a core each relay takes, by what it carries."""
    environments = [place.environment(relay.process, {}) for relay in RELAYS]
    with place.running(["services.relay"], environments) as children:
        for relay in RELAYS:
            _wait_until_at_work(place, relay)
        time.sleep(LEFT_OUT_SECONDS)
        before, begun = [_used(child) for child in children], time.monotonic()
        time.sleep(seconds)
        used, passed = [_used(child) for child in children], time.monotonic() - begun
    return {relay.carries: (after - first) / passed for relay, first, after in zip(RELAYS, before, used, strict=True)}


def _wait_until_at_work(place: Place, relay: Deployed) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    with place.connect(relay.database) as connection:
        while connection.execute(_OWNED, [relay.process]).fetchone() != (relay.destinations,):
            if time.monotonic() > end:
                raise RuntimeError(f"{relay.process} has no lanes after {PATIENCE_SECONDS:.0f} s; see children.log")
            time.sleep(0.1)


def _used(child: Child) -> float:
    """Return the seconds of processor time so far. Raises when the process has ended: that would be idle indeed."""
    times = psutil.Process(child.pid).cpu_times()
    return float(times.user + times.system)
