"""Alembic's entry: migrate the orders database over a given connection, or over ``sqlalchemy.url``."""

from alembic import context
from sqlalchemy import Connection, create_engine

from services.orders.tables import metadata
from shared.inbox_partitions import is_partition


def declared(name: str | None, kind: str, _parents: object) -> bool:
    """Compare what the code declares: the inbox as a whole, not its days."""
    return not (kind == "table" and name and is_partition(name))


def migrate(connection: Connection) -> None:
    context.configure(connection=connection, target_metadata=metadata, include_name=declared)
    with context.begin_transaction():
        context.run_migrations()


given: Connection | None = context.config.attributes.get("connection")
if given is not None:
    migrate(given)
else:
    with create_engine(context.config.get_main_option("sqlalchemy.url", "")).connect() as opened:
        migrate(opened)
