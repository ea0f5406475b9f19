"""Alembic's entry: migrate the notifications database over a given connection, or over ``sqlalchemy.url``."""

from alembic import context
from sqlalchemy import Connection, create_engine

from services.notifications.tables import metadata


def migrate(connection: Connection) -> None:
    context.configure(connection=connection, target_metadata=metadata)
    with context.begin_transaction():
        context.run_migrations()


given: Connection | None = context.config.attributes.get("connection")
if given is not None:
    migrate(given)
else:
    with create_engine(context.config.get_main_option("sqlalchemy.url", "")).connect() as opened:
        migrate(opened)
