"""Journals: what was appended is there after a crash, and reads back as it was."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest

from chaos.history import (
    Change,
    Delivery,
    FaultMark,
    FaultPhase,
    Intent,
    LogRecord,
    Mail,
    Operation,
    Outcome,
    ProcessMark,
    Record,
    Result,
    Run,
    plain,
    read_run,
    write_rows,
    write_run,
)
from chaos.journal import Journal, JournalReader

AT = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)

RECORDS: list[Record] = [
    Intent(n=1, op=Operation.PLACE, key="k", customer_id="c", order_ref="r", expect=Outcome.INVOICED, started_at=AT,
           result=Result.INFO),
    LogRecord(topic="t", partition=0, offset=3, key="a", event_id="e", type="OrderPlaced", aggregate_type="order",
              aggregate_id="a", aggregate_version=1, payload='{"ü": 1}', sha256="00", timestamp=AT, archived_at=AT,
              headers={"ce_id": "e"}),
    Delivery(group="g", topic="t", partition=0, offset=3, last_offset=9, instance="i", member="m", generation=1, at=AT,
             duplicate=True),
    Delivery(group="g", topic="t", partition=0, offset=3, instance="i", member="m", generation=1, at=AT,
             duplicate=False),
    Mail(at=AT, message_id="<e@x>", recipient="r", sha256="00", answered=False),
    FaultMark(fault="f", phase=FaultPhase.HIT, at=AT, pid=7),
    ProcessMark(at=AT, instance="billing-1", pid=7, what=Change.EXITED),
]  # fmt: skip


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_a_record_reads_back_as_it_was_written(tmp_path: Path, record: Record) -> None:
    """Writing and reading a record of any kind gives an equal record."""
    path = tmp_path / record.file
    with Journal[Record](path) as journal:
        journal.append(record)

    assert list(JournalReader(path, type(record))) == [record]


def test_a_killed_writer_leaves_all_its_whole_lines(tmp_path: Path) -> None:
    """After SIGKILL the journal has every line that was appended."""
    path = tmp_path / "mail.jsonl"
    code = (
        "import os, sys\nfrom pathlib import Path\nfrom datetime import UTC, datetime\n"
        "from chaos.history import Mail\nfrom chaos.journal import Journal\n"
        "journal = Journal(Path(sys.argv[1]))\n"
        "for n in range(50):\n"
        "    journal.append(Mail(at=datetime.now(UTC), message_id=str(n), recipient='r', sha256=''))\n"
        "os.kill(os.getpid(), 9)\n"
    )

    subprocess.run([sys.executable, "-c", code, str(path)], check=False)

    assert [mail.message_id for mail in JournalReader(path, Mail)] == [str(n) for n in range(50)]


def test_a_torn_last_line_is_counted_and_cut_off_by_the_next_writer(tmp_path: Path) -> None:
    """A reader skips and counts a torn line; a writer that opens the journal again removes it."""
    path = tmp_path / "mail.jsonl"
    mail = Mail(at=AT, message_id="1", recipient="r", sha256="")
    with Journal[Mail](path) as journal:
        journal.append(mail)
    with path.open("ab") as file:
        file.write(b'{"at": "2026')
    reader = JournalReader(path, Mail)
    assert list(reader) == [mail]
    assert reader.torn == 1

    with Journal[Mail](path) as journal:
        assert journal.torn == 1
        journal.append(mail)

    assert list(JournalReader(path, Mail)) == [mail, mail]


def test_damage_in_the_middle_is_an_error(tmp_path: Path) -> None:
    """An unreadable whole line is named, never skipped."""
    path = tmp_path / "mail.jsonl"
    path.write_text("nonsense\n")

    with pytest.raises(ValueError, match="line 1"):
        list(JournalReader(path, Mail))


def test_rows_of_a_database_become_plain_json(tmp_path: Path) -> None:
    """Bytes are text when they are UTF-8 and hexadecimal otherwise; ids and times are strings."""
    assert plain(b"\xc3\xa9") == "é"
    assert plain(b"\xff\x00") == "\\xff00"
    assert plain(UUID(int=1)) == "00000000-0000-0000-0000-000000000001"
    assert plain(AT) == "2026-03-01T12:00:00.000000+00:00"
    assert write_rows(tmp_path / "t.jsonl", [{"a": b"x"}, {"a": None}]) == 2
    with pytest.raises(TypeError, match="no place in the evidence"):
        plain(object())


def test_run_json_reads_back(tmp_path: Path) -> None:
    """The description of a run is one object that can be rewritten when the run ends."""
    run = Run(run="r-1", scenario="s", seed=1, started_at=AT, expect={"duplicates": ["log"]}, groups={"g": ["t"]})
    write_run(tmp_path, run)

    assert read_run(tmp_path) == run
