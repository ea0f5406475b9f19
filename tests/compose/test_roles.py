"""Each role attacked: what a service must not do in a database, it is refused."""

from collections.abc import Mapping

import psycopg
import pytest

from infra.postgres.roles import GRANTS
from tests.compose.conftest import Project
from tests.compose.test_hardening import the_secrets

INSUFFICIENT = "42501"
SERVICES = sorted((role, database) for database, roles in GRANTS.items() for role in roles)
FORBIDDEN: Mapping[str, tuple[str, ...]] = {
    "orders_api": (
        "SELECT * FROM inbox",
        "DELETE FROM orders",
        "UPDATE outbox SET type = 'x'",
        "DELETE FROM outbox",
        "INSERT INTO outbox (xid, id) OVERRIDING SYSTEM VALUE VALUES ('1', 1)",
        "UPDATE relay_position SET floor_id = 0",
    ),
    "orders_consumer": (
        "INSERT INTO orders DEFAULT VALUES",
        "SELECT * FROM idempotency_key",
        "UPDATE inbox SET consumer = 'x'",
        "TRUNCATE inbox",
        "SELECT * FROM outbox",
    ),
    "orders_relay": (
        "SELECT * FROM orders",
        "SELECT * FROM idempotency_key",
        "INSERT INTO outbox (type) VALUES ('x')",
        "UPDATE outbox SET type = 'x'",
        "DELETE FROM outbox",
    ),
    "orders_housekeeper": (
        "SELECT * FROM orders",
        "UPDATE outbox SET type = 'x'",
        "UPDATE relay_position SET floor_id = 0",
        "DELETE FROM inbox",
    ),
    "orders_cdc": ("SELECT * FROM orders", "UPDATE outbox SET type = 'x'", "DELETE FROM outbox", "SELECT * FROM inbox"),
    "billing_api": ("UPDATE invoice SET amount_minor = 0", "INSERT INTO bill DEFAULT VALUES", "DELETE FROM invoice"),
    "billing_consumer": (
        "UPDATE invoice SET amount_minor = 0",
        "DELETE FROM invoice",
        "TRUNCATE inbox",
        "DELETE FROM payment",
        "UPDATE outbox SET type = 'x'",
    ),
    "billing_relay": ("SELECT * FROM invoice", "SELECT * FROM payment", "UPDATE outbox SET type = 'x'"),
    "billing_housekeeper": (
        "UPDATE invoice SET amount_minor = 0",
        "DELETE FROM invoice",
        "SELECT * FROM payment",
        "UPDATE relay_position SET floor_id = 0",
        "DELETE FROM inbox",
    ),
    "billing_cdc": ("SELECT * FROM invoice", "UPDATE outbox SET type = 'x'", "DELETE FROM outbox"),
    "analytics_api": ("UPDATE revenue SET amount_minor = 0", "SELECT * FROM inbox"),
    "analytics_consumer": ("TRUNCATE inbox", "UPDATE inbox SET consumer = 'x'"),
    "analytics_housekeeper": ("SELECT * FROM revenue", "DELETE FROM inbox", "DELETE FROM order_state"),
    "notifications_worker": ("DELETE FROM sent_email",),
}


@pytest.fixture(scope="module")
def passwords(engine: None, system: Project) -> dict[str, str]:
    return the_secrets(system)


def test_every_role_is_attacked(engine: None) -> None:
    """A new role comes with its attacks."""
    assert set(FORBIDDEN) == {role for role, _database in SERVICES}


@pytest.mark.parametrize(("role", "database"), SERVICES)
def test_a_role_is_refused_what_its_work_does_not_need(
    engine: None, system: Project, passwords: dict[str, str], role: str, database: str
) -> None:
    """The database refuses, whatever the code above it was made to do."""
    with connected(system, passwords, role, database) as connection:
        for statement in (*FORBIDDEN[role], "CREATE TABLE planted (id int)", "DROP TABLE alembic_version"):
            with pytest.raises(psycopg.Error) as refused:
                connection.execute(statement.encode())
            assert refused.value.sqlstate == INSUFFICIENT, statement


@pytest.mark.parametrize(("role", "database"), SERVICES)
def test_a_role_cannot_even_enter_another_services_database(
    engine: None, system: Project, passwords: dict[str, str], role: str, database: str
) -> None:
    """Orders' API cannot read billing, and nobody needs to trust that it does not try."""
    for other in set(GRANTS) - {database}:
        with pytest.raises(psycopg.OperationalError, match="permission denied for database"):
            connected(system, passwords, role, other)


@pytest.mark.parametrize("role", ["orders_owner", "orders_api"])
def test_no_role_of_a_service_rules_the_server(
    engine: None, system: Project, passwords: dict[str, str], role: str
) -> None:
    """Neither the owner who migrates nor those who work can make roles, read files or see others' passwords."""
    with connected(system, passwords, role, "orders") as connection:
        for statement in ("CREATE ROLE planted", "COPY (SELECT 1) TO '/tmp/x'", "SELECT * FROM pg_authid"):
            with pytest.raises(psycopg.Error) as refused:
                connection.execute(statement.encode())
            assert refused.value.sqlstate == INSUFFICIENT, statement


def test_nobody_enters_without_a_password(engine: None, system: Project) -> None:
    """The port is published; the password is what keeps others out."""
    for role in ("postgres", "orders_api"):
        with pytest.raises(psycopg.OperationalError, match=r"password|authentication"):
            connected(system, {role: "wrong"}, role, "orders")


def connected(
    system: Project, passwords: Mapping[str, str], role: str, database: str
) -> psycopg.Connection[tuple[object, ...]]:
    return psycopg.connect(
        host="127.0.0.1",
        port=system.port("POSTGRES"),
        user=role,
        password=passwords[role],
        dbname=database,
        autocommit=True,
        connect_timeout=10,
    )
