"""A role gets another password while a process works."""

from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import make_url, text
from sqlalchemy.exc import OperationalError

from shared.database import create_engine, is_away
from shared.failures import Failure, failure_of
from tests.conftest import DatabaseFactory


@pytest.fixture
def role(postgres_url: DatabaseFactory) -> Iterator[tuple[str, Callable[[str], None]]]:
    """Return the address of a role, without a password, and a function that gives it one."""
    url, name = postgres_url(driver="postgresql"), f"test_{uuid4().hex}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(name)))

        def change(password: str) -> None:
            statement = sql.SQL("ALTER ROLE {} PASSWORD {}")
            connection.execute(statement.format(sql.Identifier(name), sql.Literal(password)))

        address = make_url(url).set(drivername="postgresql+psycopg", username=name, password=None)
        yield address.render_as_string(), change
        connection.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(name)))


def test_a_rotated_password_needs_no_restart(role: tuple[str, Callable[[str], None]], tmp_path: Path) -> None:
    """Open sessions go on; new ones take the file's password. Between file and role a new session is refused, which
    every loop here takes for a database that is away."""
    url, change = role
    file = tmp_path / "password"
    file.write_text("first")
    change("first")
    engine = create_engine(url, str(file), "test", pool_size=2)
    with engine.connect() as old:
        file.write_text("second")
        with pytest.raises(OperationalError) as refused:
            engine.connect()
        assert is_away(refused.value)
        assert failure_of(refused.value) is Failure.TRANSIENT
        assert old.execute(text("SELECT 1")).scalar() == 1
        change("second")
        with engine.connect() as new:
            assert new.execute(text("SELECT 1")).scalar() == 1
    engine.dispose()
