"""One picture of the whole system at a moment, taken from outside.

What cannot be asked (a server that is down) is left out and named in ``trouble``; it never stops the picture.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import TypeVar

from infra.kafka import health
from infra.kafka.health import Health
from infra.local.profile import Profile
from infra.local.services import GROUPS, OUTBOXES, in_namespace
from infra.local.stack import LocalStack
from infra.status.backlog import Backlog, backlog, invoices_without_mail, parked_deliveries
from infra.status.feeds import Feed, complaints, feeds, interrupted
from infra.status.lag import Lag, lags
from infra.status.replication import Replica, replication
from infra.status.replication import complaints as complaints_of_standbys

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Process:
    name: str
    state: str
    pid: int | None
    since: datetime | None
    restarts: int
    url: str | None
    memory_bytes: int


@dataclass(frozen=True, slots=True)
class Trend:
    """How a backlog moves. ``growth_per_second`` is negative while it drains."""

    growth_per_second: float
    drain_seconds: float | None
    """None: nothing to drain, or not draining."""


@dataclass(slots=True)
class Picture:
    servers: list[Process]
    services: list[Process]
    addresses: dict[str, str]
    engine: str = "polling"
    feeds: dict[str, Feed] = field(default_factory=dict)
    lag: dict[str, Lag] = field(default_factory=dict)
    parked: dict[str, int] = field(default_factory=dict)
    """Group → deliveries in its parking lot."""
    outbox: dict[str, Backlog] = field(default_factory=dict)
    trend: dict[str, Trend] = field(default_factory=dict)
    invoices_without_mail: int | None = None
    kafka: Health | None = None
    """Of a cluster: its copies."""
    replicas: dict[str, Replica] = field(default_factory=dict)
    trouble: list[str] = field(default_factory=list)


def take(stack: LocalStack, observe_seconds: float = 1.0) -> Picture:
    """Take the picture; the backlog is looked at twice, some time apart, to see where it goes."""
    servers = stack.servers
    picture = Picture(
        servers=_server_processes(stack),
        services=_service_processes(stack),
        addresses=_addresses(stack),
    )
    if picture.servers and stack.profile is not Profile.SMALL:
        _look_at_copies(stack, picture)
    if not picture.services:
        return picture  # nobody has made databases and topics to be asked about, or nobody works on them
    deployment = stack.deployment()
    picture.engine = deployment.engine
    picture.feeds = _ask(picture, "the engine", lambda: feeds(deployment)) or {}
    picture.trouble += _ask(picture, "the engine", lambda: [*interrupted(deployment), *complaints(picture.feeds)]) or []
    first, begun = _backlogs(stack, picture), time.monotonic()
    groups = {in_namespace(group, deployment.namespace): read.topics for group, read in GROUPS.items()}
    picture.lag = _ask(picture, "Kafka", lambda: lags(servers.kafka, groups)) or {}
    picture.parked = _lots(stack, picture)
    urls = deployment.superuser_url("billing"), deployment.superuser_url("notifications")
    picture.invoices_without_mail = _ask(picture, "PostgreSQL", lambda: invoices_without_mail(*urls))
    if any(each.pending for each in first.values()):
        time.sleep(max(0.0, observe_seconds - (time.monotonic() - begun)))
    picture.outbox = _backlogs(stack, picture)
    passed = time.monotonic() - begun
    picture.trend = {
        name: trend(first[name].pending, now.pending, passed) for name, now in picture.outbox.items() if name in first
    }
    return picture


def _look_at_copies(stack: LocalStack, picture: Picture) -> None:
    picture.kafka = _ask(picture, "Kafka", lambda: health.health(stack.servers.kafka))
    picture.trouble += health.complaints(picture.kafka) if picture.kafka else []
    url, names = stack.superuser_url("postgres"), stack.database_names()
    found = _ask(picture, "PostgreSQL", lambda: replication(url, names))
    if found is not None:
        picture.replicas = found.replicas
        picture.trouble += complaints_of_standbys(found)


def _addresses(stack: LocalStack) -> dict[str, str]:
    servers = stack.servers
    brokers = zip(stack.broker_names(), servers.kafka.split(","), strict=True)
    found = {"postgres": str(servers.postgres), **dict(brokers), "redis": str(servers.redis)}
    return found if servers.standby is None else {**found, "postgres-2": str(servers.standby)}


def trend(before: int, now: int, seconds: float) -> Trend:
    """Tell from two readings where a backlog goes."""
    growth = (now - before) / seconds
    return Trend(growth, now / -growth if now and growth < 0 else None)


def _backlogs(stack: LocalStack, picture: Picture) -> dict[str, Backlog]:
    found = {}
    for name in OUTBOXES:
        url = stack.deployment().superuser_url(name)
        answer = _ask(picture, f"the outbox of {name}", partial(backlog, url))
        if answer is not None:
            found[name] = answer
    return found


def _lots(stack: LocalStack, picture: Picture) -> dict[str, int]:
    found = {}
    for group in GROUPS:  # each has a database of its own name
        url = stack.deployment().superuser_url(group)
        answer = _ask(picture, f"the parking lot of {group}", partial(parked_deliveries, url))
        if answer is not None:
            found[group] = answer
    return found


def _ask(picture: Picture, whom: str, question: Callable[[], T]) -> T | None:
    try:
        return question()
    except Exception as error:  # noqa: BLE001  # a status must show what it can, whatever is broken
        said = str(error).strip().splitlines() or [type(error).__name__]
        line = f"{whom} did not answer: {said[0]}"
        if line not in picture.trouble:
            picture.trouble.append(line)
        return None


def _server_processes(stack: LocalStack) -> list[Process]:
    return [
        Process(each.name, each.state, each.pid, each.since, each.restarts, None, stack.memory_bytes(each))
        for each in stack.server_processes()
    ]


def _service_processes(stack: LocalStack) -> list[Process]:
    deployment = stack.deployment()
    return [
        Process(
            each.name,
            each.state,
            each.pid,
            each.since,
            each.restarts,
            deployment.address(each.name),
            deployment.memory_bytes(each),
        )
        for each in deployment.processes()
    ]
