from alembic import command as alembic
from alembic.config import Config
from sqlalchemy import Engine


def test_the_migrations_make_the_tables_that_the_code_declares(engine: Engine, alembic_config: Config) -> None:
    """Raises when the two differ; they can be undone."""
    with engine.connect() as connection:
        alembic_config.attributes["connection"] = connection
        alembic.check(alembic_config)
        alembic.downgrade(alembic_config, "base")
        connection.commit()
