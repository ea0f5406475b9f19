"""Put notifications together: a Celery worker around ``send_invoice``. The only module that knows Celery.

A task is acknowledged after it has run, a worker that dies gives its task back after the visibility timeout, and JSON
is all that is read. So a command comes at least once, with one hole that Celery's Redis transport leaves: a message is
popped first and noted as unacknowledged then, so one that is handed over in the last moment of Redis or of the worker
is in neither list. Its invoice has no line in the ledger, which is how it can be found and sent.

One process with one task at a time (pool ``solo``): nothing is forked, so nothing can cross a fork. More throughput
means more processes.
"""

import warnings
from collections.abc import Callable
from typing import Any, Final
from uuid import UUID

import msgspec
from celery import Celery, Task, signals
from celery.exceptions import Reject
from celery.platforms import SecurityWarning
from sqlalchemy import Engine
from sqlalchemy.exc import InterfaceError, OperationalError

from services.notifications.errors import MailRefused
from services.notifications.mailer import Mailer
from services.notifications.redis_transport import Transport
from services.notifications.send_invoice import InvoiceSender
from services.notifications.settings import Settings
from shared.database import create_engine
from shared.errors import TransientError
from shared.events import SendInvoice

TASK: Final = "notifications.send_invoice"

Send = Callable[[UUID, SendInvoice], None]


class KeptTask(Task):  # type: ignore[misc]  # Celery ships no types
    """A task whose command stays in the queue when its next attempt cannot be put there."""

    def retry(self, *args: Any, **options: Any) -> Any:
        try:
            return super().retry(*args, **options)
        except Reject as error:
            # Celery would drop the message here: the queue did not take the next attempt.
            raise Reject(error.reason, requeue=True) from error


class Worker:
    """A Celery worker in this process. ``run`` blocks until SIGTERM, finishes the task in hand and returns."""

    def __init__(self, app: Celery, instance: str) -> None:
        self._app = app
        self._instance = instance

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
        worker.start()
        return int(worker.exitcode or 0)


def build(settings: Settings, *, engine: Engine | None = None, send: Send | None = None) -> Worker:
    """Make the worker; ``send`` is what it does with a command."""
    return Worker(build_app(settings, send or build_sender(settings, engine).send), settings.instance)


def build_sender(settings: Settings, engine: Engine | None = None) -> InvoiceSender:
    return InvoiceSender(
        engine or build_engine(settings),
        Mailer(settings.smtp_host, settings.smtp_port, settings.smtp_timeout_seconds),
        settings.mail_from,
        settings.sending_lease_seconds,
    )


def build_engine(settings: Settings) -> Engine:
    return create_engine(settings.database_url, settings.database_password_file, settings.instance, pool_size=1)


def build_app(settings: Settings, send: Send) -> Celery:
    app = Celery("notifications", broker=settings.redis_url, set_as_current=False)
    app.conf.update(
        task_default_queue=settings.celery_queue,
        task_serializer="json",
        accept_content=["json"],
        task_ignore_result=True,
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        worker_prefetch_multiplier=1,
        # Mails that wait for their next attempt are held by the worker; more than this many stay in the queue.
        worker_eta_task_limit=100,
        worker_hijack_root_logger=False,
        worker_redirect_stdouts=False,
        worker_enable_remote_control=False,
        broker_transport=f"{Transport.__module__}:{Transport.__name__}",
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_transport_options={
            "visibility_timeout": settings.visibility_timeout_seconds,
            # Look for tasks of dead workers every five seconds; the default is every hundred.
            "unacked_restore_interval": 5,
            "unacked_restore_throttle": 1,
            "socket_keepalive": True,
        },
    )
    _register(app, settings, send)
    return app


def _register(app: Celery, settings: Settings, send: Send) -> None:
    @app.task(  # type: ignore[untyped-decorator]  # Celery ships no types
        name=TASK,
        base=KeptTask,
        autoretry_for=(TransientError, OperationalError, InterfaceError),
        max_retries=settings.retries,
        # Exponential from one second, full jitter.
        retry_backoff=1,
        retry_backoff_max=settings.retry_ceiling_seconds,
        retry_jitter=True,
    )
    def send_invoice(*, event_id: str, command: dict[str, Any]) -> None:
        send(*read_command(event_id, command))


def read_command(event_id: str, command: dict[str, Any]) -> tuple[UUID, SendInvoice]:
    """Read a task's arguments. Raises MailRefused when they are not a command."""
    try:
        return UUID(event_id), msgspec.convert(command, SendInvoice)
    except (ValueError, msgspec.ValidationError) as error:
        raise MailRefused(f"the task {event_id!r} does not hold a SendInvoice command: {error}") from error


def _keep_our_logging(**_: object) -> None: ...
