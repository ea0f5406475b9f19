"""What a relay says about itself: log lines and metrics, so that its loop can be read without them."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from prometheus_client import Counter, Gauge, Histogram

from services.relay.failures import Fault
from services.relay.lanes import Held
from services.relay.parking import Parked
from services.relay.position import Row
from services.relay.redrive import about
from services.relay.transports import Published
from shared.backlog import Backlog
from shared.logs import get_logger

PUBLISHED = Counter("outbox_events_published_total", "Rows acknowledged by their receiver", ["destination"])
FAILED = Counter(
    "outbox_events_failed_total",
    "Rows handed over and not acknowledged, by whose fault it was",
    ["destination", "fault"],
)
CHUNK_SECONDS = Histogram("outbox_batch_duration_seconds", "From reading a chunk to its last report", ["destination"])
LATENCY_SECONDS = Histogram(
    "outbox_publish_latency_seconds",
    "From writing an event to its report, of up to fifty rows a chunk",
    ["destination"],
    buckets=(0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300, 900, 3600),
)
PENDING = Gauge("outbox_events_pending", "Committed rows that no relay has published yet", ["destination"])
OLDEST = Gauge("outbox_oldest_pending_seconds", "Age of the oldest of them, 0 when there is none", ["destination"])
PARKED = Gauge("outbox_parked", "Rows in the parking lot, on the lanes of this relay", ["destination", "state"])
LANES_OWNED = Gauge("relay_lanes_owned", "Lanes that this relay holds", ["destination"])
BREAKER_OPEN = Gauge("relay_breaker_state", "1 while the receiver is away and waited for", ["destination"])
TAKEOVERS = Counter(
    "relay_lease_takeovers_total", "Leases taken from a relay that did not give them back", ["destination"]
)
_STATES: Final = ("parked", "held", "redriving", "discarded")
_SAMPLE: Final = 50


class Teller:
    def __init__(self, relay: str, destination: str) -> None:
        self._destination = destination
        self._log = get_logger(__name__).bind(relay=relay, destination=destination)
        BREAKER_OPEN.labels(destination).set(0)
        LANES_OWNED.labels(destination).set(0)
        # Said from the start: the first of a series that appears with it is no increase to Prometheus.
        TAKEOVERS.labels(destination)
        for fault in Fault:
            FAILED.labels(destination, fault)

    def published(self, held: Held, rows: Sequence[Row], count: int) -> None:
        PUBLISHED.labels(self._destination).inc(count)
        latency, now = LATENCY_SECONDS.labels(self._destination), datetime.now(UTC)
        for row in rows[: count : -(-count // _SAMPLE)]:
            latency.observe(max(0.0, (now - datetime.fromisoformat(row.occurred_at)).total_seconds()))
        self._log.info(
            "chunk published",
            epoch=held.epoch,
            lanes=held.lanes,
            first_id=rows[0].id,
            last_id=rows[count - 1].id,
            count=count,
        )

    def chunk_took(self, seconds: float) -> None:
        CHUNK_SECONDS.labels(self._destination).observe(seconds)

    def receiver_away(self, held: Held, rows: int, published: Published, delay: float) -> None:
        FAILED.labels(self._destination, Fault.RECEIVER).inc(rows - published.count)
        BREAKER_OPEN.labels(self._destination).set(1)
        self._log.warning(
            "chunk not acknowledged",
            epoch=held.epoch,
            rows=rows,
            acknowledged=published.count,
            retry_in_seconds=round(delay, 3),
            detail=published.error,
        )

    def receiver_answers(self) -> None:
        BREAKER_OPEN.labels(self._destination).set(0)

    def refused(self, held: Held, row: Row, published: Published, attempt: int) -> None:
        """Say that rows were refused, of which this one is the first."""
        FAILED.labels(self._destination, published.fault).inc()
        self._log.warning(
            "refused", epoch=held.epoch, attempt=attempt, fault=published.fault, detail=published.error, **about(row)
        )

    def put_away(self, held: Held, parked: Parked | None, behind: Sequence[Row]) -> None:
        if parked is not None:
            self._log.error(
                "parked", epoch=held.epoch, attempt=parked.attempts, detail=parked.error, **about(parked.row)
            )
        for row in behind:
            self._log.warning("held", epoch=held.epoch, **about(row))

    def in_lot(self, counts: Mapping[str, int]) -> None:
        for state in _STATES:
            PARKED.labels(self._destination, state).set(counts.get(state, 0))

    def backlog(self, found: Iterable[Backlog]) -> None:
        for each in found:
            if each.destination == self._destination:
                PENDING.labels(each.destination).set(each.pending)
                OLDEST.labels(each.destination).set(each.oldest_seconds)

    def fenced(self, held: Held) -> None:
        self._log.warning("fenced", epoch=held.epoch, lanes=held.lanes)

    def taken(self, taken: Sequence[Held]) -> None:
        for held in taken:
            if held.taken_from is not None:
                TAKEOVERS.labels(self._destination).inc()
                self._log.warning("taken over", epoch=held.epoch, lanes=held.lanes, taken_from=held.taken_from)

    def lanes(self, before: Sequence[Held], after: Sequence[Held]) -> None:
        lanes = sorted(lane for held in after for lane in held.lanes)
        LANES_OWNED.labels(self._destination).set(len(lanes))
        if lanes != sorted(lane for held in before for lane in held.lanes):
            self._log.info("lanes changed", lanes=lanes, epochs=[held.epoch for held in after])

    def database_away(self, error: Exception, delay: float) -> None:
        detail = str(error).splitlines()[0] if str(error) else type(error).__name__
        self._log.warning("database away, positions forgotten", retry_in_seconds=round(delay, 3), detail=detail)

    def left_unsettled(self, error: Exception) -> None:
        self._log.warning("left without settling", detail=str(error))
