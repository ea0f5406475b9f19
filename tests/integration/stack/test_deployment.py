"""A deployment beside others: made, started, hurt, removed; and who may do what in its databases."""

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.request import urlopen
from uuid import uuid4

import psycopg
import pytest
from psycopg.errors import InsufficientPrivilege, OperationalError

from infra.kafka.topics import admin
from infra.local import templates
from infra.local.deployment import Deployment
from infra.local.services import programs
from infra.local.stack import LocalStack
from infra.postgres.roles import GRANTS, ungranted
from tests.conftest import eventually

_FEW = ("orders-api", "relay-orders-1", "mail-sink")


@pytest.fixture(scope="module")
def deployment(stack: LocalStack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    namespace = f"life-{uuid4().hex[:8]}"
    table = {name: program for name, program in programs(namespace).items() if name in _FEW}
    table["mail-sink-2"] = replace(table["mail-sink"], name="mail-sink-2", autostart=False)
    deployment = stack.deployment(namespace, tmp_path_factory.mktemp("a deployment é") / "x", table)
    deployment.prepare()
    yield deployment
    deployment.destroy()


@pytest.fixture
def running(deployment: Deployment) -> Deployment:
    deployment.start()
    return deployment


def connect(deployment: Deployment, stack: LocalStack, role: str, kind: str) -> psycopg.Connection:
    server = stack.servers.postgres
    return psycopg.connect(
        host=server.host,
        port=server.port,
        user=role,
        password=stack.home.secret(role),
        dbname=deployment.database(kind),
        autocommit=True,
    )


def test_preparing_again_changes_nothing(deployment: Deployment) -> None:
    deployment.prepare()


_SHAPE = """
SELECT c.relname, c.relkind, c.relowner::regrole::text, c.relacl::text[]::text,
       pg_get_userbyid(d.datdba), d.datacl::text
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace, pg_database d
WHERE n.nspname = 'public' AND d.datname = current_database() ORDER BY 1
"""


def test_a_copy_of_a_template_is_what_migrating_makes(stack: LocalStack, tmp_path: Path) -> None:
    """Tables, owners and grants are the same whether a run's databases were migrated or copied."""
    shapes = []
    for number in range(2):
        deployment = stack.deployment(f"shape-{uuid4().hex[:8]}-{number}", tmp_path / str(number), {})
        if number == 0:
            drop_templates(stack)
        try:
            deployment.prepare()
            shapes.append({kind: shape(deployment, kind) for kind in GRANTS})
        finally:
            deployment.destroy()
    assert shapes[0] == shapes[1]
    assert all(shapes[0].values())


def drop_templates(stack: LocalStack) -> None:
    with psycopg.connect(stack.superuser_url("postgres"), autocommit=True) as connection:
        for kind in GRANTS:
            connection.execute(f"DROP DATABASE IF EXISTS {templates.name(kind)}".encode())


def shape(deployment: Deployment, kind: str) -> list[tuple[object, ...]]:
    with psycopg.connect(deployment.superuser_url(kind)) as connection:
        return connection.execute(_SHAPE.encode()).fetchall()


def test_starting_again_leaves_the_running_processes_alone(running: Deployment) -> None:
    before = {name: running.pid(name) for name in _FEW}
    running.start()
    assert {name: running.pid(name) for name in _FEW} == before
    assert None not in before.values()


def test_a_spare_waits_until_it_is_started_and_stays_down_once_stopped(running: Deployment) -> None:
    assert running.pid("mail-sink-2") is None
    running.start_process("mail-sink-2")
    eventually(lambda: running.pid("mail-sink-2"), 10, "the spare runs")
    running.stop_process("mail-sink-2")
    assert running.pid("mail-sink-2") is None


def test_a_killed_process_comes_back_and_its_restart_is_counted(running: Deployment) -> None:
    before = running.pid("relay-orders-1")
    assert before is not None
    os.kill(before, signal.SIGKILL)
    eventually(lambda: running.pid("relay-orders-1") not in (None, before), 20, "another process")
    restarts = {each.name: each.restarts for each in running.processes()}
    assert restarts["relay-orders-1"] == 1
    assert restarts["orders-api"] == 0


def test_an_api_answers_where_its_url_says(running: Deployment) -> None:
    with urlopen(running.url("orders-api") + "/readyz", timeout=5) as answer:
        assert answer.status == 200


def test_no_password_stands_in_an_environment(deployment: Deployment, stack: LocalStack) -> None:
    values = " ".join(deployment.environment("orders-api").values())
    assert stack.home.secret("orders_api") not in values
    assert Path(deployment.environment("orders-api")["DATABASE_PASSWORD_FILE"]).stat().st_mode & 0o077 == 0


def test_no_table_is_without_a_role_that_may_use_it(deployment: Deployment) -> None:
    for kind in GRANTS:
        with psycopg.connect(deployment.superuser_url(kind)) as connection:
            assert ungranted(connection, kind) == []


def test_every_table_that_is_granted_exists(deployment: Deployment) -> None:
    for kind, roles in GRANTS.items():
        with psycopg.connect(deployment.superuser_url(kind)) as connection:
            for table in {table for rights in roles.values() for table in rights}:
                assert connection.execute("SELECT to_regclass(%s)", [table]).fetchone() != (None,), f"{kind}: {table}"


def test_a_role_cannot_even_connect_to_another_services_database(deployment: Deployment, stack: LocalStack) -> None:
    for stranger, kind in (("orders_api", "billing"), ("billing_consumer", "orders"), ("analytics_api", "billing")):
        with pytest.raises(OperationalError, match="permission denied for database"):
            connect(deployment, stack, stranger, kind)


def test_a_relay_cannot_read_orders_nor_write_the_outbox(deployment: Deployment, stack: LocalStack) -> None:
    with connect(deployment, stack, "orders_relay", "orders") as connection:
        connection.execute("SELECT count(*) FROM outbox")
        connection.execute("SELECT pg_sequence_last_value('outbox_id_seq')")
        connection.execute("SELECT system_identifier FROM pg_control_system()")
        for forbidden in ("SELECT * FROM orders", "DELETE FROM outbox", "INSERT INTO outbox DEFAULT VALUES"):
            with pytest.raises(InsufficientPrivilege):
                connection.execute(forbidden)


@pytest.mark.parametrize("column", ["xid", "id"])
def test_a_writer_cannot_choose_an_events_place(deployment: Deployment, stack: LocalStack, column: str) -> None:
    with connect(deployment, stack, "orders_api", "orders") as connection, pytest.raises(InsufficientPrivilege):
        connection.execute(f"INSERT INTO outbox ({column}) OVERRIDING SYSTEM VALUE VALUES ('1')")


def test_a_service_cannot_change_its_schema(deployment: Deployment, stack: LocalStack) -> None:
    with connect(deployment, stack, "billing_consumer", "billing") as connection:
        for forbidden in ("CREATE TABLE mine ()", "ALTER TABLE invoice ADD x int", "DROP TABLE inbox"):
            with pytest.raises(InsufficientPrivilege):
                connection.execute(forbidden)


def test_destroying_removes_databases_topics_and_processes(stack: LocalStack, tmp_path: Path) -> None:
    namespace = f"gone-{uuid4().hex[:8]}"
    table = {"mail-sink": programs(namespace)["mail-sink"]}
    doomed = stack.deployment(namespace, tmp_path / "x", table)
    doomed.prepare()
    doomed.start()
    doomed.destroy()
    doomed.destroy()
    with psycopg.connect(stack.superuser_url("postgres")) as connection:
        left = connection.execute("SELECT datname FROM pg_database WHERE datname LIKE %s", [f"{namespace[:4]}_%"])
        assert doomed.database("orders") not in {name for (name,) in left}
    assert not set(doomed.topics.values()) & set(admin(stack.servers.kafka).list_topics(timeout=5).topics)
    assert not doomed.is_up()
