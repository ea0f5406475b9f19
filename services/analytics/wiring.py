"""Put analytics together. The one place that knows which parts are used; each can be replaced by an argument."""

from flask import Flask
from sqlalchemy import Engine

from services.analytics import count_orders, openapi
from services.analytics.api import create_app
from services.analytics.settings import Settings
from shared import http, kafka
from shared.consumer import Consumer, Handler, Policy
from shared.database import create_engine
from shared.dedup_window import DedupWindow
from shared.http.parked import parked_blueprint
from shared.inbox import DatabaseInbox, Inbox
from shared.inbox_parking import InboxLot
from shared.offset_commit import GroupMember


def build(
    settings: Settings,
    *,
    inbox: Inbox | None = None,
    handler: Handler = count_orders.apply,
    engine: Engine | None = None,
    kafka_consumer: GroupMember | None = None,
) -> Consumer:
    """Make one member of analytics' consumer group; its ``run`` blocks until stopped.

    With a ``rebuild_schema`` it fills that version instead of the live one: from the first event on, in a group of its
    own, behind an inbox and a lot of its own that answer to the live consumer's name, since they will be that one's.
    """
    window = DedupWindow.checked(settings.dedup_window_days, settings.longest_replay_days)
    return Consumer(
        kafka=kafka_consumer or build_kafka_consumer(settings),
        engine=engine or build_engine(settings, pool_size=1),
        inbox=inbox or DatabaseInbox(settings.consumer_group),
        handler=handler,
        group=_group(settings),
        topics=[settings.orders_topic, settings.billing_topic],
        batch_size=settings.batch_size,
        read=count_orders.read,
        # Sums have no order, and an order's state follows its versions: later events need not wait.
        policy=Policy.SKIP,
        # A version that is built from the first event on has an inbox that has forgotten nothing.
        window=None if settings.rebuild_schema else window,
        consumer=settings.consumer_group,
        # No source, so no notices: this database has no outbox (docs/decisions/0014).
    )


def build_kafka_consumer(settings: Settings) -> GroupMember:
    return GroupMember(
        kafka.consumer_config(
            settings.kafka_bootstrap_servers,
            _group(settings),
            settings.instance,
            settings.group_protocol,
            settings.max_poll_interval_seconds,
        )
    )


def build_engine(settings: Settings, pool_size: int = 5) -> Engine:
    access = (settings.database_url, settings.database_password_file, settings.instance)
    return create_engine(*access, pool_size, search_path=settings.rebuild_schema)


def _group(settings: Settings) -> str:
    return ".".join(filter(None, (settings.consumer_group, settings.rebuild_schema)))


def build_api(settings: Settings) -> Flask:
    engine = build_engine(settings)
    app = create_app(engine)
    app.add_url_rule("/openapi.json", view_func=openapi.document)
    if settings.admin_token_file:
        app.register_blueprint(parked_blueprint(engine, [InboxLot()], settings.admin_token_file))
    return app


def serve_api(settings: Settings) -> None:
    """Serve the read-only API until SIGTERM; the application is made in the worker, after its fork."""
    http.serve(lambda: build_api(settings), settings.http_host, settings.http_port, settings.http_workers)
