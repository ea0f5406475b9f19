"""What an operator asks of an outbox: ``python -m services.relay status | rewind | rebase | retention``.

Run as the relay's role, except that ``rebase`` needs the owner of the database and ``retention`` the housekeeper. With
``--json`` the answer is one object, which is how the ``once`` command asks.
"""

import argparse
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from services.relay import rebase, rewind, standing
from services.relay.position import Database
from shared import database
from shared import outbox_retention as retention
from shared.settings import read, setting


@dataclass(frozen=True, slots=True)
class Settings:
    """All that an operator's command needs of the environment."""

    database_url: str = setting(help="postgresql://role@host:port/database, without a password")
    database_password_file: str = setting("", help="file with the role's password; empty: none needed")


_UNITS: Mapping[str, int] = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)([smhd]?)")


def main(arguments: Sequence[str], environ: Mapping[str, str]) -> None:
    """Do what the arguments say and print the answer. Raises RefusedError with words when it must not be done."""
    asked = _parser().parse_args(arguments)
    settings = read(Settings, environ)
    verb: Callable[[Database, argparse.Namespace], Any] = asked.verb
    with database.connect(settings.database_url, settings.database_password_file, f"relay-{asked.name}") as connection:
        answer = asdict(verb(connection, asked))
    print(_as_json(answer) if asked.json else _as_text(answer))  # noqa: T201  # the answer of a one-shot


def _status(connection: Database, _asked: argparse.Namespace) -> standing.Overview:
    return standing.overview(connection)


def _rewind(connection: Database, asked: argparse.Namespace) -> rewind.Plan:
    do = rewind.plan if asked.dry_run else rewind.rewind
    return do(connection, asked.to, asked.destination, asked.lanes)


def _rebase(connection: Database, asked: argparse.Namespace) -> rebase.Rebased:
    do = rebase.plan if asked.dry_run else rebase.rebase
    return do(connection, xids_kept=asked.xids_kept)


def _retention(connection: Database, asked: argparse.Namespace) -> retention.Purged:
    return retention.purge(connection, asked.older_than, asked.batch)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m services.relay", description="Without a verb: run a relay.")
    parser.set_defaults(json=False)
    verbs = parser.add_subparsers(required=True, dest="name")
    _verb(verbs, "status", _status, "show lanes, owners, leases and what is pending")
    back = _verb(verbs, "rewind", _rewind, "publish again from some place on")
    back.add_argument("--to", required=True, help="outbox id, ISO 8601 time, or `earliest`")
    back.add_argument("--destination", default="event", choices=("event", "command"))
    back.add_argument("--lanes", type=_lanes, default=(), help="such as 0,3,7; default: all")
    back.add_argument("--dry-run", action="store_true", help="say what would go out again, and change nothing")
    anew = _verb(verbs, "rebase", _rebase, "take over an outbox that was written in another cluster")
    anew.add_argument("--xids-kept", action="store_true", help="only the cluster's identity is new: pg_upgrade")
    anew.add_argument("--dry-run", action="store_true", help="say what would become pending, and change nothing")
    old = _verb(verbs, "retention", _retention, "delete published events of a certain age")
    old.add_argument("--older-than", type=duration, required=True, help="age such as 7d, 12h, 90m or seconds")
    old.add_argument("--batch", type=_positive, default=5000, help="rows looked at in one transaction")
    return parser


def _verb(verbs: Any, name: str, verb: Callable[..., Any], help: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = verbs.add_parser(name, help=help, description=help)
    parser.add_argument("--json", action="store_true", help="answer with one JSON object")
    parser.set_defaults(verb=verb)
    return parser


def duration(text: str) -> float:
    """Read an age in seconds: ``7d``, ``12h``, ``90m``, ``30s`` or a plain number."""
    found = _DURATION.fullmatch(text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no age; write it as 7d, 12h, 90m or in seconds")
    return float(found[1]) * _UNITS[found[2]]


def _lanes(text: str) -> tuple[int, ...]:
    if not all(part.strip().isdecimal() for part in text.split(",")):
        raise argparse.ArgumentTypeError(f"{text!r} are no lanes; write them as 0,3,7")
    return tuple(int(part) for part in text.split(","))


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of rows; write one of at least 1")
    return int(text)


def _as_json(answer: dict[str, Any]) -> str:
    return json.dumps(answer, default=lambda value: value.isoformat() if isinstance(value, datetime) else str(value))


def _as_text(answer: dict[str, Any]) -> str:
    lines = []
    for name, value in answer.items():
        each = value if isinstance(value, (list, tuple)) else [value]
        lines += [f"{name.replace('_', ' ')}: {_line(part)}" for part in each]
    return "\n".join(lines)


def _line(value: object) -> str:
    return ", ".join(f"{name} {part}" for name, part in value.items()) if isinstance(value, dict) else str(value)
