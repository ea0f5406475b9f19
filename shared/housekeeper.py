"""A housekeeper: a service's small worker that does chores by the clock and takes notes from other services.

One process for both: Celery Beat puts the chores into the housekeeper's own queue, where the notes arrive, too.

Invariant: a chore may run twice, at the same time in two processes, or not for a while; each has to be written so that
this changes nothing. What a chore could not do, it says; the next run tries again.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from time import monotonic
from typing import Any, Final

from prometheus_client import Counter, Gauge

from shared.logs import get_logger
from shared.queue_worker import Worker, worker_app

Note = Callable[..., None]
"""What to do with a task that another service sends; its arguments are the task's own."""

LONG_AGO: Final = datetime(2000, 1, 1, tzinfo=UTC)

DONE = Gauge("housekeeper_chore_done_timestamp_seconds", "When a chore last ended well", ["chore"])
FAILED = Counter("housekeeper_chore_failures_total", "Chores that raised an error", ["chore"])

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Chore:
    """Work for every so many seconds, and once at the start."""

    name: str
    every_seconds: float
    work: Callable[[], Mapping[str, object]]
    """Returns what it did, for the log; nothing to tell is an empty mapping."""


def housekeeper(
    instance: str, redis_url: str, queue: str, chores: Sequence[Chore], notes: Mapping[str, Note] | None = None
) -> Worker:
    """Make the worker; ``notes`` are the tasks that others may send, by name."""
    app = worker_app(instance, redis_url, queue)
    for chore in chores:
        app.task(_done(chore), name=chore.name, shared=False)
    for name, note in (notes or {}).items():
        app.task(note, name=name, shared=False)
    app.conf.beat_schedule = {chore.name: _entry(chore) for chore in chores}
    return Worker(app, instance, beat=True)


def _entry(chore: Chore) -> dict[str, Any]:
    return {
        "task": chore.name,
        "schedule": chore.every_seconds,
        # Due at once: a machine that is off at night must not put its daily chores off for ever.
        "last_run_at": LONG_AGO,
        # A chore that had to wait is not made up for, the next one does its work.
        "options": {"expires": max(chore.every_seconds, 1.0)},
    }


def _done(chore: Chore) -> Callable[[], None]:
    FAILED.labels(chore.name)  # said from the start, as none

    def run() -> None:
        started = monotonic()
        try:
            found = chore.work()
        except Exception as error:  # noqa: BLE001  # whatever it is, the next run tries again
            FAILED.labels(chore.name).inc()
            log.error("chore failed", chore=chore.name, kind=type(error).__name__, detail=str(error).splitlines()[:1])
            return
        DONE.labels(chore.name).set_to_current_time()
        if found:
            log.info("chore done", chore=chore.name, seconds=round(monotonic() - started, 3), **found)

    return run
