"""The processes of one copy of the system, as a table.

Each row says what to run, as whom in which database, and what it listens on; a *deployment* adds the addresses. The
environment variables are the same under containers.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from infra.local.profile import Profile
from infra.postgres.roles import GRANTS

MAIN = "main"
DATABASES = tuple(GRANTS)
HOUSEHOLDS = tuple(kind for kind, roles in GRANTS.items() if f"{kind}_housekeeper" in roles)
"""The services that have a housekeeper."""
TOPICS: Mapping[str, str] = {
    "ORDERS_TOPIC": "orders.events",
    "BILLING_TOPIC": "billing.events",
    "DEAD_LETTER_TOPIC": "dead.letters",
}

Listens = Literal["http", "smtp", "metrics", "connect"]

Engine = Literal["polling", "celery", "cdc"]
ENGINES: tuple[Engine, ...] = get_args(Engine)
"""What publishes events: relays that poll, relays that Celery's Beat wakes, or Debezium reading the log."""
OUTBOXES = ("orders", "billing")
"""The databases with an outbox."""


@dataclass(frozen=True, slots=True)
class Group:
    """A consumer group with a database of its own, both of the service's name: what it reads, and its members."""

    topics: tuple[str, ...]
    members: tuple[str, ...]

    def at_least(self, count: int) -> tuple[str, ...]:
        """Name the members, and as many further ones as are missing."""
        stem = self.members[0].rpartition("-")[0]
        return self.members + tuple(f"{stem}-{number}" for number in range(len(self.members) + 1, count + 1))


GROUPS: Mapping[str, Group] = {
    "orders": Group(("billing.events",), ("orders-consumer-1",)),
    "billing": Group(("orders.events",), ("billing-1", "billing-2")),
    "analytics": Group(("orders.events", "billing.events"), ("analytics-1",)),
}
"""Each has an API beside its members and, for its chores, a housekeeper. How to add one: docs/how-to/."""


@dataclass(frozen=True, slots=True)
class Program:
    """One process. ``environment`` holds what is particular to it and wins over what the deployment adds."""

    name: str
    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    autostart: bool = True
    autorestart: bool = True
    database: str | None = None
    """One of DATABASES, without the namespace."""
    role: str | None = None
    group: str | None = None
    """Its consumer group, without the namespace."""
    listens: Listens = "metrics"
    sources: tuple[str, ...] = ()
    """Databases whose events it reads from the write-ahead log."""
    through: Mapping[str, str] = field(default_factory=dict)
    """A server's address → the address at which this process reaches it instead."""


def programs(namespace: str, engine: Engine = "polling", profile: Profile = Profile.SMALL) -> dict[str, Program]:
    """Return the processes of a namespace by name. An engine is nothing but the choice of which of them run."""
    rows = [
        *(program for service in GROUPS for program in _service(service, engine, namespace, profile)),
        _worker(namespace),
        _mail_sink(),
        *(_housekeeper(service, namespace) for service in HOUSEHOLDS),
        *([connect()] if engine == "cdc" else []),
    ]
    return {row.name: row for row in rows}


def in_namespace(name: str, namespace: str) -> str:
    """Name a topic or group within a namespace."""
    return name if namespace == MAIN else f"{namespace}.{name}"


def database_name(name: str, namespace: str) -> str:
    """Name a database within a namespace; a hyphen would have to be quoted in SQL."""
    return name if namespace == MAIN else f"{namespace.replace('-', '_')}_{name}"


def _service(service: str, engine: Engine, namespace: str, profile: Profile) -> list[Program]:
    members = [_consumer(service, name) for name in GROUPS[service].at_least(profile.members)]
    publishers = _publishers(service, engine, namespace) if service in OUTBOXES else []
    return [_api(service), *members, *publishers]


def _api(service: str) -> Program:
    return Program(
        name=f"{service}-api",
        argv=_module(f"services.{service}", "api"),
        database=service,
        role=f"{service}_api",
        listens="http",
    )


def _consumer(service: str, name: str) -> Program:
    return Program(
        name=name,
        argv=_module(f"services.{service}", "consumer"),
        database=service,
        role=f"{service}_consumer",
        group=service,
    )


def connect() -> Program:
    """Debezium on Kafka Connect, for the events of both outboxes."""
    return Program(name="connect", argv=_module("infra.cdc"), listens="connect", sources=OUTBOXES)


def relay_queue(source: str, namespace: str) -> str:
    """Name the queue in which Celery's Beat puts the ticks of an outbox's relays."""
    return in_namespace(f"{source}.relay", namespace)


def _publishers(source: str, engine: Engine, namespace: str) -> list[Program]:
    """Two relays per outbox, for what the engine leaves to them."""
    events = ["event"] if engine != "cdc" else []
    commands = ["command"] if source == "billing" else []
    environment = {"RELAY_SOURCE": source, "RELAY_DESTINATIONS": ",".join(events + commands)}
    if engine == "celery":
        environment["RELAY_QUEUE"] = relay_queue(source, namespace)
    role = ("worker",) if engine == "celery" else ()
    return [_relay(source, number, role, environment) for number in (1, 2) if events + commands]


def _relay(source: str, number: int, role: tuple[str, ...], environment: Mapping[str, str]) -> Program:
    return Program(
        name=f"relay-{source}-{number}",
        argv=_module("services.relay", *role),
        environment=environment,
        database=source,
        role=f"{source}_relay",
    )


def _worker(namespace: str) -> Program:
    return Program(
        name="notifications-1",
        argv=_module("services.notifications", "worker"),
        environment={"NOTES_QUEUE": in_namespace("billing.housekeeping", namespace)},
        database="notifications",
        role="notifications_worker",
    )


def _housekeeper(service: str, namespace: str) -> Program:
    return Program(
        name=f"{service}-housekeeper-1",
        argv=_module(f"services.{service}", "housekeeper"),
        environment={"HOUSEKEEPING_QUEUE": in_namespace(f"{service}.housekeeping", namespace)},
        # A run is over before anything in it is old; only billing's has work there, which is mails.
        autostart=namespace == MAIN or service == "billing",
        database=service,
        role=f"{service}_housekeeper",
    )


def _mail_sink() -> Program:
    return Program(name="mail-sink", argv=_module("services.notifications.mail_sink"), listens="smtp")


def _module(name: str, *arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-m", name, *arguments)
