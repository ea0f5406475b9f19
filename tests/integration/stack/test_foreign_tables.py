"""Tables that another role owns, as a dump leaves them that was restored without its owners."""

from collections.abc import Iterator
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import make_url

from infra.migrate import migrate
from shared.errors import ConfigurationError
from tests.conftest import DatabaseFactory


@pytest.fixture
def stranger(postgres_url: DatabaseFactory) -> Iterator[str]:
    """Return the address, as somebody else, of a database whose tables the superuser has made."""
    url, name = postgres_url(driver="postgresql"), f"stranger_{uuid4().hex}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE alembic_version (version_num text)")
        connection.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD 'x'").format(sql.Identifier(name)))
        yield make_url(url).set(username=name, password="x").render_as_string(hide_password=False)
        connection.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(name)))


def test_tables_of_another_role_are_refused_with_words(stranger: str) -> None:
    """And not with the server's words in the middle of a migration. Seen red without the look."""
    with pytest.raises(ConfigurationError, match=r"belong to postgres.*--no-owner"):
        migrate("orders", stranger, "")
