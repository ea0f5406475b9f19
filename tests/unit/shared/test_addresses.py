"""An address that cannot be used stops the start with words, wherever it is first used."""

import socket

import pytest

from shared import database, metrics
from shared.errors import ConfigurationError


@pytest.mark.parametrize("url", ["", "garbage", "postgresql+psycopg://role@host:port/db"])
def test_a_database_url_that_is_none_is_a_wrong_setting(url: str) -> None:
    """The message shows the form, and does not repeat what may hold a password."""
    for make in (database.create_engine, database.connect):
        with pytest.raises(ConfigurationError, match="postgresql\\+psycopg://role@host:port/database"):
            make(url, None, "test")


def test_a_metrics_port_that_is_taken_is_a_wrong_setting() -> None:
    """The message names the port and the variable."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigurationError, match=rf"127.0.0.1:{port}.*METRICS_PORT"):
            metrics.serve("127.0.0.1", port)
