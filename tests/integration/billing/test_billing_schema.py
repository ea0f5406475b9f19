from alembic import command
from alembic.config import Config
from sqlalchemy import Engine

from infra.postgres.roles import ungranted
from tests.integration.billing.orders import migrate, rows


def test_the_migrations_make_the_tables_that_the_code_declares(engine: Engine, alembic_config: Config) -> None:
    """Raises when the two differ."""
    with engine.connect() as connection:
        alembic_config.attributes["connection"] = connection
        command.check(alembic_config)


def test_the_migrations_can_be_undone(engine: Engine, alembic_config: Config) -> None:
    """Down to nothing and up again."""
    with engine.connect() as connection:
        alembic_config.attributes["connection"] = connection
        command.downgrade(alembic_config, "base")
        connection.commit()
        left = rows(engine, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        assert left == [("alembic_version",)]
        migrate(connection, alembic_config)


def test_every_table_is_granted_to_somebody(engine: Engine) -> None:
    """A table without a grant is one that the roles have forgotten."""
    with engine.begin() as connection:
        assert ungranted(connection.connection.driver_connection, "billing") == []  # type: ignore[arg-type]
