"""What an operator asks of the read model: ``python -m services.analytics rebuild begin | switch SCHEMA | clean``.

Run as the owner of the database. The answer is one JSON object, which is how the ``once`` command asks; it has the
whole of a rebuild, of which these are the steps that only this service can do.
"""

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from services.analytics import rebuild
from shared import database
from shared.settings import read, setting


@dataclass(frozen=True, slots=True)
class Settings:
    """All that a step of a rebuild needs of the environment."""

    database_url: str = setting(help="postgresql://role@host:port/database, without a password")
    database_password_file: str = setting("", help="file with the role's password; empty: none needed")


Verb = Callable[[rebuild.Database, argparse.Namespace], Any]

VERBS: Mapping[str, Verb] = {
    "begin": lambda connection, _asked: rebuild.begin(connection),
    "switch": lambda connection, asked: rebuild.switch(connection, asked.schema),
    "clean": lambda connection, _asked: rebuild.clean(connection),
}


def main(arguments: Sequence[str], environ: Mapping[str, str]) -> None:
    """Do what the arguments say and print the answer. Raises RefusedError with words when it must not be done."""
    parser = argparse.ArgumentParser(prog="python -m services.analytics rebuild", description="A step of a rebuild.")
    parser.add_argument("verb", choices=VERBS)
    parser.add_argument("schema", nargs="?", default="", help="of the version, for `switch`")
    asked = parser.parse_args(arguments)
    settings = read(Settings, environ)
    with database.connect(settings.database_url, settings.database_password_file, "analytics-rebuild") as connection:
        answer = VERBS[asked.verb](connection, asked)
    print(json.dumps(asdict(answer)))  # noqa: T201  # the answer of a one-shot
