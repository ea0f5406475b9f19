"""What the outbox costs those who write: transactions per second of ``place_order``, without HTTP.

Sixteen connections in four processes place orders as fast as they can. Rivals differ in one thing each: no event, the
event, a relay at work beside it, the textbook's partial index, and a NOTIFY inside the transaction.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from subprocess import PIPE

from chaos.bench import backlog
from chaos.bench.place import Child, Place
from chaos.bench.rounds import Rival

WITHOUT, WITH, WITH_RELAY = "without an outbox (the limit)", "with the outbox", "with the outbox, relay at work"
PARTIAL_INDEX, NOTIFY = "with the textbook's marks and partial index", "with NOTIFY in the transaction"
PROCESSES = 4
THREADS = 4

# What the textbook adds to the table: a mark, and an index of the rows without one.
_MARKS = (
    "ALTER TABLE outbox ADD COLUMN published_at timestamptz, ADD COLUMN attempts int NOT NULL DEFAULT 0",
    "CREATE INDEX textbook_pending ON outbox (occurred_at) WHERE published_at IS NULL",
)
_NO_MARKS = ("ALTER TABLE outbox DROP COLUMN published_at, DROP COLUMN attempts",)
_NOTIFY = (
    "CREATE FUNCTION textbook_notify() RETURNS trigger LANGUAGE plpgsql AS "
    "$$ BEGIN PERFORM pg_notify('textbook', NEW.id::text); RETURN NULL; END $$",
    "CREATE TRIGGER textbook_notify AFTER INSERT ON outbox FOR EACH ROW EXECUTE FUNCTION textbook_notify()",
)
_NO_NOTIFY = ("DROP FUNCTION textbook_notify() CASCADE",)


@dataclass(frozen=True, slots=True)
class Writers:
    place: Place
    seconds: float

    def rivals(self) -> list[Rival]:
        return [
            Rival(WITHOUT, partial(self._write, events=False)),
            Rival(WITH, self._write),
            Rival(WITH_RELAY, self._beside_a_relay),
            Rival(PARTIAL_INDEX, partial(self._changed, _MARKS, _NO_MARKS)),
            Rival(NOTIFY, partial(self._changed, _NOTIFY, _NO_NOTIFY)),
        ]

    def _write(self, *, events: bool = True) -> float:
        environment = self.place.environment(
            "orders-api",
            {
                "BENCH_SECONDS": str(self.seconds),
                "BENCH_THREADS": str(THREADS),
                "BENCH_EVENTS": str(int(events)),
            },
        )
        with self.place.running(["chaos.bench.customer"], [environment] * PROCESSES, stdout=PIPE) as children:
            return sum(_said(child) for child in children)

    def _beside_a_relay(self) -> float:
        with self.place.connect("orders") as connection:
            backlog.start_over(connection)
            connection.execute("TRUNCATE outbox, outbox_parked")
        environment = self.place.environment("relay-orders-1", {"ORDERS_TOPIC": self.place.new_topic()})
        with self.place.running(["services.relay"], [environment]):
            return self._write()

    def _changed(self, before: Sequence[str], after: Sequence[str]) -> float:
        with ExitStack() as stack:
            connection = stack.enter_context(self.place.connect("orders"))
            stack.enter_context(_changes(connection.execute, before, after))
            return self._write()


@contextmanager
def _changes(execute: Callable[..., object], before: Sequence[str], after: Sequence[str]) -> Iterator[None]:
    for statement in before:
        execute(statement)
    try:
        yield
    finally:
        for statement in after:
            execute(statement)


def _said(child: Child) -> float:
    assert child.stdout is not None
    return float(child.stdout.read())
