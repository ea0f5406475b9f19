"""Put orders together. The one place that knows which parts are used; each can be replaced by an argument."""

from functools import partial

from flask import Flask
from sqlalchemy import Engine

from services.orders import openapi, settle_orders, tables
from services.orders.admin import admin_blueprint
from services.orders.api import add_routes
from services.orders.backlog import Gate
from services.orders.order_events import SOURCE
from services.orders.settings import ApiSettings, ConsumerSettings
from shared import kafka
from shared.consumer import Consumer, Handler, Policy
from shared.database import connect, create_engine, transaction
from shared.dedup_window import DedupWindow
from shared.http import install
from shared.http.parked import parked_blueprint
from shared.http.server import THREADS
from shared.inbox import DatabaseInbox, Inbox
from shared.inbox_parking import InboxLot
from shared.offset_commit import GroupMember
from shared.outbox_parking import OutboxLot
from shared.wakeup import Wakeup


def build_api(settings: ApiSettings, *, engine: Engine | None = None) -> Flask:
    """Make the HTTP application. To be called in the process that serves it, after any fork."""
    used = engine or create_engine(
        settings.database_url,
        settings.database_password_file,
        settings.instance,
        pool_size=THREADS,
        pool_timeout=settings.wait_seconds,
    )

    gate = Gate(used, settings.backlog_limit_seconds, settings.backlog_limit_events)

    def ready() -> None:
        with transaction(used) as connection:
            tables.probe(connection)
        gate.check()

    app = Flask("services.orders")
    install(app, ready)
    app.add_url_rule("/openapi.json", view_func=openapi.document)
    app.register_blueprint(admin_blueprint(used, settings.admin_token_file))
    app.register_blueprint(parked_blueprint(used, [OutboxLot(), InboxLot()], settings.admin_token_file))
    add_routes(
        app,
        used,
        gate,
        Wakeup(partial(connect, settings.database_url, settings.database_password_file, settings.instance)).wake,
        body_limit_bytes=settings.body_limit_bytes,
        wait_seconds=settings.wait_seconds,
    )
    return app


def build_consumer(
    settings: ConsumerSettings,
    *,
    inbox: Inbox | None = None,
    handler: Handler = settle_orders.settle_orders,
    engine: Engine | None = None,
    kafka_consumer: GroupMember | None = None,
) -> Consumer:
    """Make one member of the group that hears billing; its ``run`` blocks until stopped."""
    window = DedupWindow.checked(settings.dedup_window_days, settings.longest_replay_days)
    return Consumer(
        kafka=kafka_consumer
        or GroupMember(
            kafka.consumer_config(
                settings.kafka_bootstrap_servers,
                settings.consumer_group,
                settings.instance,
                settings.group_protocol,
                settings.max_poll_interval_seconds,
            )
        ),
        engine=engine or _waking_engine(settings),
        inbox=inbox or DatabaseInbox(settings.consumer_group),
        handler=handler,
        group=settings.consumer_group,
        topics=[settings.billing_topic],
        batch_size=settings.batch_size,
        read=settle_orders.read,
        policy=Policy.HOLD,
        window=window,
        source=SOURCE,
    )


def _waking_engine(settings: ConsumerSettings) -> Engine:
    """Make an engine whose transactions, once they have ended, wake the relay."""
    access = (settings.database_url, settings.database_password_file, settings.instance)
    engine = create_engine(*access, pool_size=1)
    Wakeup(partial(connect, *access)).after_transactions_of(engine)
    return engine
