"""Put notifications together: a Celery worker around ``send_invoice``. The only module that knows Celery.

What the queue promises, and its one hole, stand in ``shared/queue_worker.py``. An invoice whose command fell into that
hole has no line in the ledger here, and billing, which hears of each mail that was settled, commands it again.
"""

from collections.abc import Callable
from typing import Any, Final
from uuid import UUID

import msgspec
from celery import Celery, Task
from celery.exceptions import Reject
from opentelemetry.trace import SpanKind
from sqlalchemy import Engine
from sqlalchemy.exc import InterfaceError, OperationalError

from services.notifications.errors import MailRefused
from services.notifications.mailer import Mailer
from services.notifications.notes import Notes
from services.notifications.send_invoice import InvoiceSender, Settled, tell_nobody
from services.notifications.settings import Settings
from shared.celery import queue_client
from shared.database import create_engine
from shared.errors import TransientError
from shared.events import SendInvoice
from shared.queue_worker import Worker, worker_app
from shared.tracing import span

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


def build(settings: Settings, *, engine: Engine | None = None, send: Send | None = None) -> Worker:
    """Make the worker; ``send`` is what it does with a command."""
    notes = Notes(queue_client(settings.redis_url, settings.instance), settings.notes_queue)
    app = build_app(settings, send or build_sender(settings, engine, notes.add).send)
    return Worker(app, settings.instance, beside={"notes": notes.run})


def build_sender(settings: Settings, engine: Engine | None = None, settled: Settled = tell_nobody) -> InvoiceSender:
    return InvoiceSender(
        engine or build_engine(settings),
        Mailer(settings.smtp_host, settings.smtp_port, settings.smtp_timeout_seconds),
        settings.mail_from,
        settings.sending_lease_seconds,
        settled,
    )


def build_engine(settings: Settings) -> Engine:
    return create_engine(settings.database_url, settings.database_password_file, settings.instance, pool_size=1)


def build_app(settings: Settings, send: Send) -> Celery:
    app = worker_app("notifications", settings.redis_url, settings.celery_queue, settings.visibility_timeout_seconds)
    _register(app, settings, send)
    return app


def _register(app: Celery, settings: Settings, send: Send) -> None:
    @app.task(  # type: ignore[untyped-decorator]  # Celery ships no types
        name=TASK,
        shared=False,  # of this app alone: another one in the process has a sender of its own
        bind=True,
        base=KeptTask,
        autoretry_for=(TransientError, OperationalError, InterfaceError),
        max_retries=settings.retries,
        # Exponential from one second, full jitter.
        retry_backoff=1,
        retry_backoff_max=settings.retry_ceiling_seconds,
        retry_jitter=True,
    )
    def send_invoice(task: Task, *, event_id: str, command: dict[str, Any]) -> None:
        with span(TASK, SpanKind.CONSUMER, (task.request.headers or {}).get("traceparent")):
            send(*read_command(event_id, command))


def read_command(event_id: str, command: dict[str, Any]) -> tuple[UUID, SendInvoice]:
    """Read a task's arguments. Raises MailRefused when they are not a command."""
    try:
        return UUID(event_id), msgspec.convert(command, SendInvoice)
    except (ValueError, msgspec.ValidationError) as error:
        raise MailRefused(f"the task {event_id!r} does not hold a SendInvoice command: {error}") from error
