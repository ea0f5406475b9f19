"""What a copy of the system has on the servers: databases, roles, topics, groups, queues. Made here, and removed.

Invariant: what is the whole server's, roles and templates, is written by one at a time.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import psycopg
from psycopg import sql
from redis import Redis

from infra.cdc import slot
from infra.kafka.topics import admin, delete_topics, ensure_topics
from infra.local import templates
from infra.local.server import Report
from infra.local.services import DATABASES, MAIN, OUTBOXES
from infra.migrate import migrate
from infra.postgres.roles import all_roles, ensure_database, ensure_functions, ensure_roles, owner

if TYPE_CHECKING:
    from infra.local.deployment import Deployment
    from infra.local.stack import LocalStack


def make(deployment: "Deployment", stack: "LocalStack", report: Report) -> None:
    """Make what is not there yet. May be repeated; the servers must be up."""
    report("Making databases, roles, schemas and grants")
    _make_databases(deployment, stack)
    report("Making topics")
    profile, names = stack.profile, deployment.topics.values()
    ensure_topics(stack.servers.kafka, names, replication=profile.brokers, min_insync=profile.min_insync)


def _make_databases(deployment: "Deployment", stack: "LocalStack") -> None:
    """Make databases and their schemas: those of a run by copying templates, which the first run of a schema leaves."""
    is_run = deployment.namespace != MAIN
    with _one_at_a_time(stack) as connection:
        ensure_roles(connection, {role: stack.home.secret(role) for role in all_roles()})
        fresh = templates.missing(connection, {kind: deployment.database(kind) for kind in DATABASES})
        copied = {kind for kind in fresh if is_run and templates.copy(connection, *fresh[kind])}
        for kind in DATABASES:
            ensure_database(connection, deployment.database(kind), kind)
    for kind in [kind for kind in DATABASES if kind not in copied]:
        _migrate(deployment, stack, kind)
    if is_run and (made := fresh.keys() - copied):
        with _one_at_a_time(stack) as connection:
            for kind in sorted(made):
                templates.keep(connection, deployment.database(kind), kind)


@contextmanager
def _one_at_a_time(stack: "LocalStack") -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """Lend a superuser's connection, to one caller at a time."""
    with psycopg.connect(stack.superuser_url("postgres"), autocommit=True) as connection:
        connection.execute("SELECT pg_advisory_lock(20260101)")
        yield connection


def _migrate(deployment: "Deployment", stack: "LocalStack", kind: str) -> None:
    with psycopg.connect(deployment.superuser_url(kind), autocommit=True) as connection:
        ensure_functions(connection, kind)
    role = owner(kind)
    migrate(kind, deployment.database_url(kind, role), str(stack.home.secret_file(role)))


def remove(deployment: "Deployment", stack: "LocalStack") -> None:
    """Remove databases, topics, groups and the queues of a deployment that is down."""
    for kind in OUTBOXES:
        slot.drop(stack.superuser_url("postgres"), deployment.slot(kind))
    with psycopg.connect(stack.superuser_url("postgres"), autocommit=True) as connection:
        for kind in DATABASES:
            statement = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)")
            connection.execute(statement.format(sql.Identifier(deployment.database(kind))))
    delete_topics(stack.servers.kafka, [*deployment.topics.values(), *map(deployment.heartbeat_topic, OUTBOXES)])
    _delete_groups(deployment, stack)
    with closing(Redis.from_url(stack.redis_url(deployment.redis_database))) as client:
        client.delete(deployment.celery_queue, *deployment.housekeeping_queues(), *deployment.relay_queues())


def _delete_groups(deployment: "Deployment", stack: "LocalStack") -> None:
    if not deployment.groups:
        return
    client = admin(stack.servers.kafka)  # held until the answers are in: they come through its thread
    for answer in client.delete_consumer_groups(list(deployment.groups.values())).values():
        answer.exception()  # a group that never was, or is already gone, is as good as deleted
