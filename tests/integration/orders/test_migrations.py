"""The migrations make what the tables say."""

from alembic import command
from alembic.config import Config
from sqlalchemy import Engine, inspect

from tests.integration.orders.conftest import INI


def test_migrations_and_tables_agree(engine: Engine) -> None:
    """From an empty database they lead to the declared schema, and back to an empty one."""
    config = Config(INI, ini_section="orders")
    with engine.connect() as connection:
        config.attributes["connection"] = connection
        command.check(config)
        command.downgrade(config, "base")
        connection.commit()
    assert inspect(engine).get_table_names() == ["alembic_version"]
