"""Put billing's housekeeper together: what it does by the clock, and the notes it takes."""

from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import Final

import msgspec
from redis import Redis
from sqlalchemy import Engine

from services.billing.mails import Patience, Reminder
from services.billing.remind_mails import MailReminder
from services.billing.settings import Settings
from shared import retention
from shared.celery import queue_client
from shared.database import create_engine
from shared.housekeeper import Chore, housekeeper
from shared.inbox_partitions import EVERY_SECONDS, make_days
from shared.queue_worker import Worker

SEND_INVOICE: Final = "notifications.send_invoice"
MAILS_SETTLED: Final = "billing.mails_settled"


def build(settings: Settings, *, engine: Engine | None = None) -> Worker:
    """Make the housekeeper; its ``run`` blocks until stopped."""
    engine = engine or build_engine(settings)
    reminder = build_reminder(settings, engine)
    return housekeeper(
        settings.instance,
        settings.redis_url,
        settings.housekeeping_queue,
        chores=[
            Chore("billing.remind_mails", settings.mail_check_seconds, reminder.run),
            Chore("billing.inbox_days", EVERY_SECONDS, partial(make_days, engine)),
            Chore("billing.retention", retention.EVERY_SECONDS, purge(settings)),
        ],
        notes={MAILS_SETTLED: reminder.settled},
    )


def build_engine(settings: Settings) -> Engine:
    return create_engine(settings.database_url, settings.database_password_file, settings.instance, pool_size=1)


def build_reminder(settings: Settings, engine: Engine) -> MailReminder:
    queue = queue_client(settings.redis_url, settings.instance)

    def send(reminder: Reminder) -> None:
        queue.send_task(
            SEND_INVOICE,
            kwargs={"event_id": str(reminder.event_id), "command": msgspec.to_builtins(reminder.command)},
            task_id=str(reminder.event_id),
            queue=settings.celery_queue,
            headers={"traceparent": reminder.traceparent} if reminder.traceparent else {},
            retry=False,
        )

    def waiting_in_queue() -> int:
        with closing(Redis.from_url(settings.redis_url, socket_timeout=4)) as redis:
            return int(redis.llen(settings.celery_queue))

    patience = Patience(settings.mail_overdue_seconds, settings.mail_overdue_ceiling_seconds, settings.mail_reminders)
    return MailReminder(engine, patience, waiting_in_queue=waiting_in_queue, send=send)


def purge(settings: Settings) -> Callable[[], dict[str, object]]:
    """Return the deletion of what is too old, by this service's rules. Raises ConfigurationError for wrong ones."""
    rules = retention.Rules.checked(settings.dedup_window_days, settings.outbox_kept_days, settings.discarded_kept_days)
    access = (settings.database_url, settings.database_password_file, settings.instance)
    return partial(retention.chore, access, rules, outbox=True)
