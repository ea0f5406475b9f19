"""Which relay published an outbox row, and when: read from the relays' own log lines (``chunk published``)."""

import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from gettext import gettext as _
from pathlib import Path

from infra.trace.moment import Moment, Where
from infra.trace.rows import OutboxRow

_MARK = '"chunk published"'


def of_rows(logs: Iterable[Path], rows: Iterable[OutboxRow]) -> Iterator[Moment]:
    """Yield one moment for each time that a relay published a chunk which held one of the rows."""
    rows = list(rows)
    for log in logs:
        for line in _lines(log):
            chunk = json.loads(line)
            for row in rows:
                if _holds(chunk, row):
                    sentence = _("{relay} (epoch {epoch}) published {type} v{version}").format(
                        relay=chunk["relay"], epoch=chunk["epoch"], type=row.type, version=row.aggregate_version
                    )
                    yield Moment(datetime.fromisoformat(chunk["at"]), Where.RELAY, sentence)


def _holds(chunk: dict[str, object], row: OutboxRow) -> bool:
    """A chunk holds the rows of its lanes within its ids."""
    return (
        chunk["destination"] == row.destination
        and row.lane in list(chunk["lanes"])  # type: ignore[call-overload]  # JSON
        and int(str(chunk["first_id"])) <= row.id <= int(str(chunk["last_id"]))
    )


def _lines(log: Path) -> Iterator[str]:
    """Yield the lines of a log and of what was rotated away from it. A torn last line is left out."""
    for part in sorted(log.parent.glob(f"{log.name}*"), reverse=True):
        with part.open(encoding="utf-8", errors="replace") as lines:
            yield from (line for line in lines if _MARK in line and line.endswith("}\n"))
