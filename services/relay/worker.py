"""The engine ``celery``: a Celery worker with its own Beat, which drains the outbox a few times a second.

Invariant: it is the same relay, so every promise of it holds. Each tick works under a name of its own: two ticks that
overlap are two relays, which share lanes by their leases. Under one name the second would take the lanes of the first
as those of its own earlier life, and send again what that one has in hand.

Ticks may be lost, late, doubled or overlapping. One that waited longer than a beat expires, so they do not pile up;
while Redis is away nothing is published, and the first tick after it drains what has come meanwhile.
"""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Final
from uuid import uuid4

from services.relay import wiring
from services.relay.relay import Relay
from services.relay.settings import Settings
from services.relay.transports import Transport
from shared.housekeeper import Chore, housekeeper
from shared.queue_worker import Worker

TICK: Final = "relay.drain_once"


def build(settings: Settings) -> Worker:
    """Make the worker. Its clients of Kafka and of the command queue outlive the ticks."""
    transports = wiring.make_transports(settings)
    tick = Chore(TICK, settings.relay_beat_seconds, partial(drain, settings, transports))
    return housekeeper(settings.instance, settings.redis_url, settings.relay_queue, [tick])


def drain(settings: Settings, transports: Mapping[str, Transport]) -> Mapping[str, int]:
    """Publish what is committed now; return how much, by destination. A destination that waits holds up no other."""
    named = replace(settings, instance=f"{settings.instance}-{uuid4().hex[:8]}")
    relays = wiring.build(named, transports=transports).relays
    with ThreadPoolExecutor(len(relays)) as pool:
        counts = pool.map(Relay.drain_once, relays.values())
        return {destination: count for destination, count in zip(relays, counts, strict=True) if count}
