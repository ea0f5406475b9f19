"""The command queue's receiving side: a Celery worker in this process that loses no task which the queue has accepted.

A task is acknowledged after it has run, a worker that dies gives its task back after the visibility timeout, and JSON
is all that is read. So a task comes at least once, with one hole that Celery's Redis transport leaves: a message is
popped first and noted as unacknowledged then, so one that is handed over in the last moment of Redis or of the worker
is in neither list. Whoever must not lose a task has to be able to find that it was never done.

One process with one task at a time (pool ``solo``): nothing is forked, so nothing can cross a fork. More throughput
means more processes.
"""

import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from celery import Celery, signals
from celery.beat import EmbeddedService
from celery.platforms import SecurityWarning

from shared.redis_transport import Transport

VISIBILITY_TIMEOUT_SECONDS: Final = 45
"""After which the queue takes a worker for dead, unless the settings of a service say otherwise."""

LAST_WORDS_SECONDS: Final = 5.0

Loop = Callable[[threading.Event], None]


def worker_app(
    name: str, redis_url: str, queue: str, visibility_timeout_seconds: int = VISIBILITY_TIMEOUT_SECONDS
) -> Celery:
    """Make a Celery application that works on one queue. Opens nothing yet."""
    app = Celery(name, broker=redis_url, set_as_current=False)
    app.conf.update(
        task_default_queue=queue,
        task_serializer="json",
        accept_content=["json"],
        task_ignore_result=True,
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        worker_prefetch_multiplier=1,
        # Tasks that wait for their next attempt are held by the worker; more than this many stay in the queue.
        worker_eta_task_limit=100,
        worker_hijack_root_logger=False,
        worker_redirect_stdouts=False,
        worker_enable_remote_control=False,
        broker_transport=f"{Transport.__module__}:{Transport.__name__}",
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_transport_options={
            "visibility_timeout": visibility_timeout_seconds,
            # Look for tasks of dead workers every five seconds; the default is every hundred.
            "unacked_restore_interval": 5,
            "unacked_restore_throttle": 1,
            "socket_keepalive": True,
        },
    )
    return app


class Worker:
    """A Celery worker in this process. ``run`` blocks until SIGTERM, finishes the task in hand and returns.

    With ``beat`` the application's schedule runs in a thread beside it, kept in memory: what was due while the process
    was down is due at its start. ``beside`` are loops in threads of their own that end with the worker.
    """

    def __init__(
        self, app: Celery, instance: str, *, beat: bool = False, beside: Mapping[str, Loop] | None = None
    ) -> None:
        self._app = app
        self._instance = instance
        self._beat = beat
        self._beside = dict(beside or {})

    def run(self) -> int:
        """Work until stopped by a signal; return the exit status."""
        # With a receiver for it, Celery leaves the logging that we have set up alone.
        signals.setup_logging.connect(_keep_our_logging)
        # Celery warns of root because a queue of pickles could run anything; ours takes JSON only.
        warnings.simplefilter("ignore", SecurityWarning)
        worker = self._app.Worker(
            hostname=f"{self._instance}@once",
            pool="solo",
            without_gossip=True,
            without_mingle=True,
            without_heartbeat=True,
            quiet=True,
        )
        if self._beat:
            EmbeddedService(self._app, thread=True, scheduler_cls="celery.beat:Scheduler").start()
        with self._loops_beside():
            worker.start()
        return int(worker.exitcode or 0)

    @contextmanager
    def _loops_beside(self) -> Iterator[None]:
        stop = threading.Event()
        threads = [threading.Thread(target=loop, args=(stop,), name=name) for name, loop in self._beside.items()]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            stop.set()
            for thread in threads:
                thread.join(LAST_WORDS_SECONDS)


def _keep_our_logging(**_: object) -> None: ...
