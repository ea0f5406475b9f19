"""Engines and transactions.

The caller owns the transaction: a use case opens one with ``transaction(engine)``, and whatever writes through its
connection (outbox, inbox, handlers) never commits. ``synchronous_commit`` stays at the server's safe value.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import psycopg
from sqlalchemy import URL, Connection, Engine, event, make_url
from sqlalchemy import create_engine as sqlalchemy_engine
from sqlalchemy.exc import ArgumentError, DBAPIError, InterfaceError, OperationalError

from shared.errors import ConfigurationError
from shared.settings import read_secret

_CONNECTION: Final[dict[str, Any]] = {
    "connect_timeout": 5,
    # A process that hangs in a transaction must not hold its locks for ever: billing's number series would stand still
    # for all members. The server ends such a session; what the process does next fails as if the database were away.
    "options": "-c TimeZone=UTC -c jit=off -c idle_in_transaction_session_timeout=10s",
    # A dead server is noticed within about ten seconds, also on a connection that waits for an answer.
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}


def create_engine(
    url: str,
    password_file: str | None,
    application_name: str,
    pool_size: int = 5,
    *,
    search_path: str = "",
    **options: Any,
) -> Engine:
    """Make an engine whose connections carry the process's name. ``search_path`` is a schema, or empty for public.

    The password is read from its file at each new connection, so a rotated secret needs no restart. Opens nothing yet.
    """
    engine = sqlalchemy_engine(
        _address(url),
        pool_size=pool_size,
        max_overflow=0,
        pool_pre_ping=True,
        # Parameters are customers' data; an error that is logged must not carry them.
        hide_parameters=True,
        connect_args={"application_name": application_name, **_CONNECTION, **_looking_in(search_path)},
        **options,
    )
    if password_file:
        _take_password_from(engine, password_file)
    return engine


def connect(url: str, password_file: str | None, application_name: str) -> psycopg.Connection[tuple[Any, ...]]:
    """Open one connection in autocommit mode, for a loop whose statements each stand alone."""
    target = _address(url).set(drivername="postgresql")
    if password_file:
        target = target.set(password=read_secret(password_file))
    return psycopg.connect(
        target.render_as_string(hide_password=False), autocommit=True, application_name=application_name, **_CONNECTION
    )


@contextmanager
def transaction(engine: Engine) -> Iterator[Connection]:
    """Open one transaction: committed when the block ends, rolled back when it raises."""
    with engine.begin() as connection:
        yield connection


def is_away(error: BaseException) -> bool:
    """Tell whether an error means that the database could not be asked, rather than that it said no."""
    if isinstance(error, (OperationalError, InterfaceError)):
        return True
    return isinstance(error, DBAPIError) and error.connection_invalidated


def _looking_in(schema: str) -> dict[str, str]:
    return {"options": f"{_CONNECTION['options']} -c search_path={schema}"} if schema else {}


def _address(url: str) -> URL:
    try:
        return make_url(url)
    except (ArgumentError, ValueError) as error:
        # The text itself is not repeated: somebody may have put a password into it.
        raise ConfigurationError(
            "DATABASE_URL is not an address. Write postgresql+psycopg://role@host:port/database, without a password."
        ) from error


def _take_password_from(engine: Engine, password_file: str) -> None:
    @event.listens_for(engine, "do_connect")
    def provide_password(_dialect: Any, _record: Any, _args: Any, parameters: dict[str, Any]) -> None:
        parameters["password"] = read_secret(password_file)
