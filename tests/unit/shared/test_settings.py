"""Settings are read once, and a wrong one stops the start with words."""

from dataclasses import dataclass

import pytest

from shared.errors import ConfigurationError
from shared.settings import read, read_secret, setting


@dataclass(frozen=True, slots=True)
class Settings:
    database_url: str = setting(help="where the database is")
    http_port: int = setting(8000, help="port of the API", minimum=1)
    lease_seconds: float = setting(6.0, help="length of a lease", minimum=1)
    verbose: bool = setting(False, help="say more")
    protocol: str = setting("consumer", help="group protocol", choices=("consumer", "classic"))
    destinations: tuple[str, ...] = setting(("event",), help="what to carry", choices=("event", "command"))


REQUIRED = {"DATABASE_URL": "postgresql://somewhere"}


def test_a_field_takes_its_variable_or_its_default() -> None:
    """A field's name in capitals is its variable; what is not set keeps its default."""
    settings = read(Settings, REQUIRED | {"HTTP_PORT": "9000", "VERBOSE": "yes", "DESTINATIONS": "event, command"})
    assert settings == Settings("postgresql://somewhere", 9000, 6.0, True, "consumer", ("event", "command"))


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("HTTP_PORT", "eighty"),
        ("HTTP_PORT", "0"),
        ("LEASE_SECONDS", "0.5"),
        ("LEASE_SECONDS", ""),
        ("LEASE_SECONDS", "nan"),
        ("LEASE_SECONDS", "inf"),
        ("HTTP_PORT", "65536"),
        ("DATABASE_URL", ""),
        ("DESTINATIONS", " , "),
        ("VERBOSE", "maybe"),
        ("PROTOCOL", "newest"),
        ("DESTINATIONS", "event,letter"),
    ],
)
def test_a_wrong_value_stops_the_start_and_names_its_variable(variable: str, value: str) -> None:
    """The message has the variable, its value and what it is for."""
    with pytest.raises(ConfigurationError, match=f"{variable}={value!r}"):
        read(Settings, REQUIRED | {variable: value})


def test_all_faults_are_named_at_once() -> None:
    """Nobody mends settings one start at a time."""
    with pytest.raises(ConfigurationError) as raised:
        read(Settings, {"HTTP_PORT": "x", "VERBOSE": "x"})
    assert all(name in str(raised.value) for name in ("DATABASE_URL", "HTTP_PORT", "VERBOSE"))


def test_a_secret_that_cannot_be_read_is_a_wrong_setting() -> None:
    """The message names the file and what to do."""
    with pytest.raises(ConfigurationError, match="no-such-file"):
        read_secret("no-such-file")
