"""The relay's composition root: the only place that knows all parts."""

import threading
from collections.abc import Callable, Mapping
from functools import partial

from celery import Celery

from services.relay.pace import Pace
from services.relay.position import Database
from services.relay.relay import Relay
from services.relay.settings import Settings
from services.relay.transports import CeleryTransport, KafkaTransport, Transport
from shared import database, lifecycle
from shared.celery import queue_client
from shared.errors import ConfigurationError
from shared.kafka import producer_config

TASKS = {"SendInvoice": "notifications.send_invoice"}


class RelayProcess:
    """One relay per destination, each in a thread and on a connection of its own: neither waits for the other."""

    def __init__(self, relays: dict[str, Relay]) -> None:
        self.relays = relays

    def run(self, stop: threading.Event) -> None:
        lifecycle.run_together(
            {destination: partial(relay.run, stop) for destination, relay in self.relays.items()}, stop
        )


def build(
    settings: Settings,
    *,
    connect: Callable[[], Database] | None = None,
    transports: Mapping[str, Transport] | None = None,
    relay: type[Relay] = Relay,
) -> RelayProcess:
    """Wire a relay. The keyword arguments replace the real parts in tests and guard-off variants."""
    pace = Pace(
        chunk_size=settings.relay_chunk_size,
        lease_seconds=settings.relay_lease_seconds,
        renew_seconds=settings.relay_renew_seconds,
        produce_deadline_seconds=settings.relay_produce_deadline_seconds,
        poll_seconds=settings.relay_poll_seconds,
        idle_poll_seconds=settings.relay_idle_poll_seconds,
    )
    if pace.renew_seconds + pace.produce_deadline_seconds >= pace.lease_seconds:
        raise ConfigurationError(
            f"RELAY_LEASE_SECONDS={pace.lease_seconds} is too short: a renewal ({pace.renew_seconds} s) and a chunk "
            f"({pace.produce_deadline_seconds} s) must fit into it, or a relay would publish on lanes it has lost. "
            "Lengthen the lease or shorten the other two."
        )
    ways = transports or make_transports(settings)
    return RelayProcess(
        {
            destination: relay(
                connect=connect or partial(_connect, settings),
                transport=transport,
                destination=destination,
                name=settings.instance,
                pace=pace,
            )
            for destination, transport in ways.items()
        }
    )


def make_transports(settings: Settings) -> dict[str, Transport]:
    """Make a way out for each destination. Opens nothing yet."""
    return {destination: _transport(settings, destination) for destination in settings.relay_destinations}


def _transport(settings: Settings, destination: str) -> Transport:
    if destination == "command":
        return CeleryTransport(partial(_queue, settings), settings.celery_queue, TASKS)
    return KafkaTransport(
        producer_config(settings.kafka_bootstrap_servers, settings.instance),
        topics(settings),
    )


def topics(settings: Settings) -> dict[str, str]:
    """Return aggregate type → topic."""
    return {
        "order": settings.orders_topic,
        "bill": settings.billing_topic,
        "dead_letter": settings.dead_letter_topic,
    }


def _queue(settings: Settings) -> Celery:
    return queue_client(settings.redis_url, settings.instance)


def _connect(settings: Settings) -> Database:
    return database.connect(settings.database_url, settings.database_password_file, settings.instance)
