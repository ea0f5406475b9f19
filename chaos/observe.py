"""Write down what is there at the end: databases, offsets, deliveries, processes, settings. Plain files, no judgement.

Every database is read on the primary in one REPEATABLE READ transaction, so its tables belong to one moment. Different
databases are read one after the other; the run is quiescent by then, or it is judged as not having become so.
"""

import json
import os
import platform
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psycopg
from confluent_kafka import libversion
from psycopg import sql
from psycopg.rows import dict_row

from chaos.history import Change, Delivery, OwnerMark, ProcessMark, write_rows
from chaos.journal import Journal
from infra.kafka.marks import Marks
from shared.kafka import producer_config

DURABILITY = ("server_version", "fsync", "synchronous_commit", "full_page_writes", "wal_level")
PRODUCER = ("acks", "enable.idempotence", "enable.gapless.guarantee", "delivery.timeout.ms")
LIBRARIES = ("confluent-kafka", "SQLAlchemy", "psycopg", "celery", "flask", "effectively-once")

_TABLES = """
SELECT c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relname <> 'alembic_version'
ORDER BY c.relname
"""


NAMED_BY_RUN = ("consumer", "topic")
"""Columns that hold the name of a group or a topic, which carries the run's prefix."""


def dump_databases(urls: Mapping[str, str], prefix: str, directory: Path) -> dict[str, int]:
    """Write every row of every table as ``db/<database>/<table>.jsonl``, topics and groups under their plain names.

    Returns the numbers of rows.
    """
    rows = {}
    for database, url in urls.items():
        with psycopg.connect(url, row_factory=dict_row) as connection:
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            for table in [row["name"] for row in connection.execute(_TABLES)]:
                target = directory / "db" / database / f"{table}.jsonl"
                rows[f"{database}.{table}"] = write_rows(target, _plainly(_all_rows(connection, table), prefix))
    return rows


def _plainly(rows: Iterable[dict[str, Any]], prefix: str) -> Iterator[dict[str, Any]]:
    for row in rows:
        named = {name: str(row[name]).removeprefix(prefix) for name in NAMED_BY_RUN if row.get(name) is not None}
        yield {**row, **named}


def _all_rows(connection: psycopg.Connection[dict[str, Any]], table: str) -> Iterator[dict[str, Any]]:
    # A cursor on the server: a table may be larger than this process should be.
    with connection.cursor(name="dump") as cursor:
        cursor.itersize = 5_000
        yield from cursor.execute(sql.SQL("SELECT * FROM {}").format(sql.Identifier(table)))


def dump_offsets(kafka: str, groups: Mapping[str, list[str]], prefix: str, path: Path) -> None:
    """Write committed offset, low and end mark of each group's partitions, under plain names."""
    marks = Marks(kafka)
    found = {
        group: {topic: _offsets(marks, prefix + group, prefix + topic) for topic in topics}
        for group, topics in groups.items()
    }
    path.write_text(json.dumps(found, indent=1) + "\n")


def _offsets(marks: Marks, group: str, topic: str) -> dict[str, dict[str, int | None]]:
    places = marks.partitions([topic])
    committed, lows, ends = marks.committed(group, places), marks.lows(places), marks.ends(places)
    return {
        str(place[1]): {"committed": committed.get(place), "low": lows[place], "end": ends[place]} for place in places
    }


def dump_deliveries(deliveries: Iterable[Delivery], path: Path) -> None:
    journal = Journal[Delivery](path)
    try:
        for delivery in sorted(deliveries, key=lambda found: found.at):
            journal.append(delivery)
    finally:
        journal.close()


def dump_processes(happenings: Iterable[tuple[datetime, str, int | None, str]], path: Path) -> None:
    """Write starts and ends as the supervisor saw them: (when, name, pid, started | exited | stopped)."""
    with Journal[ProcessMark](path) as journal:
        for at, name, pid, what in happenings:
            change = Change.STARTED if what == "started" else Change.EXITED
            journal.append(ProcessMark(at=at.astimezone(UTC), instance=name, pid=pid, what=change, detail=what))


def dump_owners(marks: Iterable[OwnerMark], path: Path) -> None:
    with Journal[OwnerMark](path) as journal:
        for mark in sorted(marks, key=lambda mark: mark.at):
            journal.append(mark)


def copy_mail(journal: Path, path: Path) -> None:
    """The sink's journal as it stands; an empty one says that the sink received nothing."""
    if journal.exists():
        shutil.copyfile(journal, path)
    else:
        path.touch()


def environment(url: str, kafka: str) -> dict[str, Any]:
    """What the run ran on: versions, commit and the settings that a durability claim hangs on."""
    with psycopg.connect(url, row_factory=dict_row) as connection:
        settings = {name: _show(connection, name) for name in DURABILITY}
    return {
        "python": platform.python_version(),
        "machine": {"system": platform.platform(), "processors": _processors()},
        "libraries": {name: version(name) for name in LIBRARIES},
        "librdkafka": libversion()[0],
        "commit": _commit(),
        "postgres": settings,
        "kafka": {"bootstrap": kafka, "producer": _producer_settings(kafka)},
    }


def _show(connection: psycopg.Connection[dict[str, Any]], name: str) -> str:
    row = connection.execute("SELECT current_setting(%s) AS value", [name]).fetchone()
    return str(row["value"]) if row else ""


def _producer_settings(kafka: str) -> dict[str, Any]:
    settings = producer_config(kafka, "observed")
    return {name: settings.get(name) for name in PRODUCER}


def _processors() -> int:
    return os.cpu_count() or 0


def _commit() -> str | None:
    if shutil.which("git") is None:
        return None
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--abbrev=12"],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() or None
