"""Put billing together. The one place that knows which parts are used; each can be replaced by an argument."""

from functools import partial

from flask import Flask
from sqlalchemy import Engine

from services.billing import bill_orders
from services.billing.api import create_app
from services.billing.settings import Settings
from shared import http, kafka
from shared.consumer import Consumer, Handler, Policy
from shared.database import connect, create_engine
from shared.dedup_window import DedupWindow
from shared.http.parked import parked_blueprint
from shared.inbox import DatabaseInbox, Inbox
from shared.inbox_parking import InboxLot
from shared.offset_commit import GroupMember
from shared.outbox_parking import OutboxLot
from shared.wakeup import Wakeup


def build(
    settings: Settings,
    *,
    inbox: Inbox | None = None,
    handler: Handler = bill_orders.apply,
    engine: Engine | None = None,
    kafka_consumer: GroupMember | None = None,
) -> Consumer:
    """Make one member of billing's consumer group; its ``run`` blocks until stopped."""
    window = DedupWindow.checked(settings.dedup_window_days, settings.longest_replay_days)
    return Consumer(
        kafka=kafka_consumer or build_kafka_consumer(settings),
        engine=engine or _waking_engine(settings),
        inbox=inbox or DatabaseInbox(settings.consumer_group),
        handler=handler,
        group=settings.consumer_group,
        topics=[settings.orders_topic],
        batch_size=settings.batch_size,
        read=bill_orders.read,
        # A bill's later events make no sense before its first: they wait.
        policy=Policy.HOLD,
        window=window,
        source=bill_orders.SOURCE,
    )


def build_kafka_consumer(settings: Settings) -> GroupMember:
    return GroupMember(
        kafka.consumer_config(
            settings.kafka_bootstrap_servers,
            settings.consumer_group,
            settings.instance,
            settings.group_protocol,
            settings.max_poll_interval_seconds,
        )
    )


def build_engine(settings: Settings, pool_size: int = 5) -> Engine:
    return create_engine(settings.database_url, settings.database_password_file, settings.instance, pool_size)


def _waking_engine(settings: Settings) -> Engine:
    """Make an engine whose transactions, once they have ended, wake the relay."""
    engine = build_engine(settings, pool_size=1)
    access = (settings.database_url, settings.database_password_file, settings.instance)
    Wakeup(partial(connect, *access)).after_transactions_of(engine)
    return engine


def build_api(settings: Settings) -> Flask:
    engine = build_engine(settings)
    app = create_app(engine)
    if settings.admin_token_file:
        app.register_blueprint(parked_blueprint(engine, [OutboxLot(), InboxLot()], settings.admin_token_file))
    return app


def serve_api(settings: Settings) -> None:
    """Serve the read-only API until SIGTERM; the application is made in the worker, after its fork."""
    http.serve(lambda: build_api(settings), settings.http_host, settings.http_port, settings.http_workers)
