from alembic import command
from alembic.config import Config
from sqlalchemy import Engine

from tests.integration.analytics.news import rows


def test_the_migrations_make_the_tables_that_the_code_declares(engine: Engine, alembic_config: Config) -> None:
    """Raises when the two differ; they can be undone."""
    with engine.connect() as connection:
        alembic_config.attributes["connection"] = connection
        command.check(alembic_config)
        command.downgrade(alembic_config, "base")
        connection.commit()
    assert rows(engine, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'") == [("alembic_version",)]
