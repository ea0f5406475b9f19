"""What a settle costs while a transaction is held open: nothing can be vacuumed, and the positions' dead rows pile up.

The relay is ours, in this process, with a stopwatch around its one statement.
"""

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median, quantiles

from chaos.bench import backlog
from chaos.bench.history import held_open, trickle
from chaos.bench.place import Place
from services.relay import wiring
from services.relay.caution import Caution
from services.relay.lanes import Held
from services.relay.position import Position
from services.relay.relay import Relay
from services.relay.session import Session
from services.relay.settings import Settings
from shared.settings import read

PARTS = 6


@dataclass(frozen=True, slots=True)
class Part:
    """Some of the settles, in the order of time. In milliseconds."""

    count: int
    p50: float
    p99: float


@dataclass(slots=True)
class Stopwatch:
    seconds: list[float] = field(default_factory=list)

    def parts(self) -> list[Part]:
        """Cut the settles into parts of equal length."""
        size = max(2, -(-len(self.seconds) // PARTS))
        parts = [self.seconds[first : first + size] for first in range(0, len(self.seconds), size)]
        return [_part(each) for each in parts if len(each) > 1]


def measure(place: Place, seconds: float) -> list[Part]:
    """Relay a trickle for so long while somebody else's transaction stays open."""
    stopwatch, stop = Stopwatch(), threading.Event()
    environment = place.environment("relay-orders-1", {"ORDERS_TOPIC": place.new_topic()})
    relaying = threading.Thread(target=_relay, args=(environment, stopwatch, stop), daemon=True)
    with place.connect("orders") as connection, place.connect("orders") as other:
        backlog.fill(connection, 0)
        with held_open(other):
            relaying.start()
            try:
                trickle(connection, seconds, every_seconds=0.1)
            finally:
                stop.set()
                relaying.join(30)
    return stopwatch.parts()


def _relay(environment: Mapping[str, str], stopwatch: Stopwatch, stop: threading.Event) -> None:
    class TimedSession(Session):
        def _write(self, held: Held, position: Position, caution: Caution) -> bool:
            begun = time.perf_counter()
            written = super()._write(held, position, caution)
            stopwatch.seconds.append(time.perf_counter() - begun)
            return written

    class TimedRelay(Relay):
        session_type = TimedSession

    wiring.build(read(Settings, environment), relay=TimedRelay).run(stop)


def _part(seconds: Sequence[float]) -> Part:
    return Part(len(seconds), 1000 * median(seconds), 1000 * quantiles(seconds, n=100)[98])
