"""What a relay costs while there is nothing to do: the processor time of its process, as a share of one core.

Processor time, not the clock: so it is the same figure on a machine that has other things to do.
"""

import time
from typing import Final

import psutil

from chaos.bench.place import Child, Place

RELAYS: Final = {"relay-orders-1": "events", "relay-billing-1": "events and commands"}
"""As they are deployed, and what each carries."""
LEFT_OUT_SECONDS = 8.0
"""The beginning: processes start, take their lanes, and find ever less often that there is nothing."""


def measure(place: Place, seconds: float) -> dict[str, float]:
    """Return what share of a core each relay takes, by what it carries."""
    environments = [place.environment(name, {}) for name in RELAYS]
    with place.running(["services.relay"], environments) as children:
        time.sleep(LEFT_OUT_SECONDS)
        before, begun = [_used(child) for child in children], time.monotonic()
        time.sleep(seconds)
        used, passed = [_used(child) for child in children], time.monotonic() - begun
    return {what: (after - first) / passed for what, first, after in zip(RELAYS.values(), before, used, strict=True)}


def _used(child: Child) -> float:
    """Return the seconds of processor time so far. Raises when the process has ended: that would be idle indeed."""
    assert child.poll() is None, "a relay has ended; its words are in children.log"
    times = psutil.Process(child.pid).cpu_times()
    return float(times.user + times.system)
