"""Who may do what in which database.

Invariant: a process can touch only what its work needs, so that a fault in one service cannot reach another's data.
The owner of a database makes and migrates its tables; no process of a service runs as owner. Writers of an outbox
cannot set ``xid`` and ``id``: the relay's reading order rests on both being drawn by the database.

Roles are the same for all namespaces of a server; databases are not.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from psycopg import Connection, sql

Rights = Mapping[str, tuple[str, ...]]
"""Table → privileges. A table that does not exist is passed over: a service may be older than this list."""

_CDC_ROLE = "_cdc"

_READ = ("SELECT",)
_APPEND = ("SELECT", "INSERT")
_CHANGE = ("SELECT", "INSERT", "UPDATE")
_ALL = ("SELECT", "INSERT", "UPDATE", "DELETE")
_ADD_EVENT = (
    "INSERT (event_id, aggregate_type, aggregate_id, aggregate_version, destination, type, source, dataschema, "
    "payload, traceparent)",
)

_RELAY: Rights = {
    "outbox": _READ,
    "relay_position": _ALL,
    "relay_lane": _ALL,
    "relay_member": _ALL,
    "outbox_parked": _ALL,
    "outbox_purged": _READ,
}
_CDC: Rights = {
    "outbox": _READ,
    "cdc_heartbeat": ("SELECT", "INSERT", "DELETE"),
    "relay_position": ("SELECT", "UPDATE (done, floor_id, target, target_floor, after_id)"),
}
_WATCH_INBOX: Rights = {
    # What a person decides about a parked delivery; the consumer does it.
    "inbox_parked": ("SELECT", "UPDATE (state, discarded_reason, discarded_at)"),
}
_CONSUME: Rights = {
    # It takes back what it has just recorded when that turns out to be a case for the lot.
    "inbox": ("SELECT", "INSERT", "DELETE"),
    "inbox_parked": _ALL,
    "inbox_attempts": _ALL,
    "inbox_begun": _ALL,
}
_PURGE_INBOX: Rights = {
    # Days are made and dropped by functions; what was given up is deleted, and what was done is noted.
    "inbox_parked": ("SELECT", "UPDATE (state)", "DELETE"),
    "retention_run": _CHANGE,
}
_WATCH_OUTBOX: Rights = {
    "outbox": _READ,
    "relay_position": _READ,
    "relay_lane": _READ,
    "relay_member": _READ,
    # What a person decides about a parked row; the relay does it.
    "outbox_parked": ("SELECT", "UPDATE (state, tries, discarded_reason, discarded_at)"),
}
_PURGE_OUTBOX: Rights = {
    **_WATCH_OUTBOX,
    **_PURGE_INBOX,
    "outbox": ("SELECT", "DELETE"),
    "outbox_parked": ("SELECT", "UPDATE (state, tries, discarded_reason, discarded_at)", "DELETE"),
    "outbox_purged": _CHANGE,
}
"""No relay may delete an event, and whoever deletes them cannot move a position."""


def _consumer_only(service: str, *effects: str) -> Mapping[str, Rights]:
    """Return the rights in a service that only listens: its consumer writes the tables of effects, its API reads."""
    return {
        f"{service}_api": {**_WATCH_INBOX, **dict.fromkeys(effects, _READ)},
        f"{service}_consumer": {**_CONSUME, **dict.fromkeys(effects, _ALL)},
        f"{service}_housekeeper": _PURGE_INBOX,
    }


GRANTS: Mapping[str, Mapping[str, Rights]] = MappingProxyType(
    {
        "orders": {
            "orders_api": {
                **_WATCH_OUTBOX,
                **_WATCH_INBOX,
                "orders": _CHANGE,
                "idempotency_key": _ALL,
                "outbox": (*_READ, *_ADD_EVENT),
            },
            "orders_consumer": {**_CONSUME, "orders": ("SELECT", "UPDATE"), "outbox": _ADD_EVENT},
            "orders_relay": _RELAY,
            "orders_housekeeper": _PURGE_OUTBOX,
            "orders_cdc": _CDC,
        },
        "billing": {
            "billing_api": {
                **_WATCH_OUTBOX,
                **_WATCH_INBOX,
                "bill": _READ,
                "payment": _READ,
                "invoice": _READ,
                "credit_note": _READ,
                "number_series": _READ,
            },
            "billing_consumer": {
                **_CONSUME,
                "bill": _CHANGE,
                "payment": _CHANGE,
                "invoice": _APPEND,
                "credit_note": _APPEND,
                "number_series": _CHANGE,
                "outbox": _ADD_EVENT,
            },
            "billing_relay": _RELAY,
            "billing_housekeeper": {
                **_PURGE_OUTBOX,
                "bill": _READ,
                "invoice": (
                    *_READ,
                    "UPDATE (mail_commanded_at, mail_reminders, mail_outcome, mail_settled_at)",
                ),
            },
            "billing_cdc": _CDC,
        },
        "analytics": _consumer_only(
            "analytics", "revenue", "orders_by_state", "orders_by_day", "ordered_skus", "order_state"
        ),
        "notifications": {"notifications_worker": {"sent_email": _CHANGE}},
    }
)
"""Database → role → rights."""


def owner(database: str) -> str:
    """Name the role that owns a database and migrates it."""
    return f"{database}_owner"


def all_roles() -> list[str]:
    """Name every role, owners first."""
    return [owner(database) for database in GRANTS] + [role for roles in GRANTS.values() for role in roles]


def ensure_roles(connection: Connection[object], passwords: Mapping[str, str]) -> None:
    """Make each role that is missing and set its password. Needs a superuser."""
    known = {row[0] for row in connection.execute("SELECT rolname FROM pg_roles").fetchall()}  # type: ignore[index]
    for role, password in passwords.items():
        verb = sql.SQL("ALTER" if role in known else "CREATE")
        statement = sql.SQL("{} ROLE {} LOGIN {} PASSWORD {}")
        # A replication slot can be read only by a role that may replicate, which is more than its tables: all the log.
        attribute = sql.SQL("REPLICATION" if role.endswith(_CDC_ROLE) else "NOREPLICATION")
        connection.execute(statement.format(verb, sql.Identifier(role), attribute, sql.Literal(password)))


def ensure_database(connection: Connection[object], name: str, kind: str) -> None:
    """Make a database of a kind (``orders``, ...) that only its own roles can connect to.

    Needs a superuser's connection in autocommit: PostgreSQL makes no database inside a transaction.
    """
    found = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone()
    if found is None:
        made = sql.SQL("CREATE DATABASE {} OWNER {}").format(sql.Identifier(name), sql.Identifier(owner(kind)))
        connection.execute(made)
    connection.execute(sql.SQL("REVOKE ALL ON DATABASE {} FROM PUBLIC").format(sql.Identifier(name)))
    roles = sql.SQL(", ").join(map(sql.Identifier, GRANTS[kind]))
    connection.execute(sql.SQL("GRANT CONNECT ON DATABASE {} TO {}").format(sql.Identifier(name), roles))


def ensure_functions(connection: Connection[object], kind: str) -> None:
    """Let relay and owner read the server's identity, and the housekeeper who holds a transaction open.

    Concerns the connected database. Needs a superuser.
    """
    for role in (owner(kind), *GRANTS[kind]):
        name = sql.Identifier(role)
        if role.endswith(("_relay", "_owner")):
            connection.execute(sql.SQL("GRANT EXECUTE ON FUNCTION pg_control_system() TO {}").format(name))
        if role.endswith("_housekeeper"):
            connection.execute(sql.SQL("GRANT pg_read_all_stats TO {}").format(name))


def grant(connection: Connection[object], kind: str) -> None:
    """Give each role of the connected database its rights, and take away what it had beyond them. Needs the owner."""
    existing = set(_tables(connection))
    for role, rights in GRANTS[kind].items():
        name = sql.Identifier(role)
        connection.execute(sql.SQL("REVOKE ALL ON ALL TABLES IN SCHEMA public FROM {}").format(name))
        connection.execute(sql.SQL("GRANT USAGE ON SCHEMA public TO {}").format(name))
        for table in rights.keys() & existing:
            _grant_table(connection, role, table, rights[table])
    if "outbox" in existing:
        _grant_sequence(connection, kind)
    if _has_days(connection):
        _grant_days(connection, kind)


def ungranted(connection: Connection[object], kind: str) -> list[str]:
    """List the tables that no role may touch, which is a table forgotten here."""
    named = {table for rights in GRANTS[kind].values() for table in rights}
    return sorted(set(_tables(connection)) - named - {"alembic_version"})


def _grant_table(connection: Connection[object], role: str, table: str, privileges: Iterable[str]) -> None:
    for privilege in privileges:
        statement = sql.SQL("GRANT {} ON {} TO {}").format(
            sql.SQL(privilege),  # from the constants above, never from outside
            sql.Identifier(table),
            sql.Identifier(role),
        )
        connection.execute(statement)


def _grant_sequence(connection: Connection[object], kind: str) -> None:
    """Let relay and connector see how far ids have been drawn: their floor comes from there."""
    for role in GRANTS[kind]:
        if role.endswith(("_relay", _CDC_ROLE)):
            connection.execute(sql.SQL("GRANT SELECT ON SEQUENCE outbox_id_seq TO {}").format(sql.Identifier(role)))


def _has_days(connection: Connection[object]) -> bool:
    row = connection.execute("SELECT to_regproc('inbox_make_days') IS NOT NULL").fetchone()
    return bool(row and row[0])  # type: ignore[index]


def _grant_days(connection: Connection[object], kind: str) -> None:
    """Let the housekeeper make and drop the inbox's days, by functions that have the owner's rights and do no more."""
    for role in GRANTS[kind]:
        if role.endswith("_housekeeper"):
            statement = sql.SQL("GRANT EXECUTE ON FUNCTION inbox_make_days(date, date), inbox_drop_days(date) TO {}")
            connection.execute(statement.format(sql.Identifier(role)))


def _tables(connection: Connection[object]) -> list[str]:
    rows = connection.execute(
        "SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace "
        "AND c.relkind IN ('r', 'p') AND NOT c.relispartition"
    ).fetchall()
    return [row[0] for row in rows]  # type: ignore[index]
