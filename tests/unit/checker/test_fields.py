"""With msgspec or without, the judge reads the same."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaos.checker.evidence import Evidence
from chaos.checker.fields import FastFields, Fields
from chaos.checker.lines import Lines, Unusable
from chaos.checker.tables import INTENT, TABLES
from chaos.checker.verdict import judge, to_document
from chaos.specimens import every_shape

PROJECT = Path(__file__).parents[3]
VALUES = st.one_of(st.none(), st.booleans(), st.integers(-(2**53), 2**53), st.text(max_size=20))
ROWS = st.lists(
    st.fixed_dictionaries({"a": VALUES, "b": VALUES}, optional={"c": VALUES, "other": VALUES}), min_size=1, max_size=20
)
WITHOUT = """
import sys
sys.modules["msgspec"] = None
import json
from pathlib import Path
from chaos.checker.fields import Fields, fields
from chaos.checker.verdict import judge, to_document
assert type(fields("ab")) is Fields
print(json.dumps(to_document(judge(Path(sys.argv[1]))), default=str))
"""


@given(ROWS)
def test_both_parsers_find_the_same_fields(rows: list[dict[str, object]]) -> None:
    """Whatever stands in the lines, both give the same columns, and leave out what nobody asked for."""
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    wanted = ("a", "b"), ("c", "d")

    fast = [[*column] for column in FastFields(*wanted).columns(lines)]

    assert fast == [[*column] for column in Fields(*wanted).columns(lines)]
    assert fast == [[row.get(name) for row in rows] for name in "abcd"]


@pytest.mark.parametrize("kind", [Fields, FastFields])
@pytest.mark.parametrize(
    "damage",
    [
        b'{"a": 1, "b": 2\n', b'{"a": "1\n2", "b": 2}\n', b'{"a": 1, "b": 2}{"a": 1, "b": 2}\n', b"nonsense\n",
        b'{"a": 1,\n"b": 2}\n', b'{"a": "\xff", "b": 2}\n',
    ],
)  # fmt: skip
def test_damage_is_named_by_its_line(tmp_path: Path, kind: type[Fields], damage: bytes) -> None:
    """An unreadable line is reported with file and number, whichever parser met it."""
    file = tmp_path / "some.jsonl"
    file.write_bytes(b'{"a": 1, "b": 2}\n' + damage + b'{"a": 3, "b": 4}\n')

    with pytest.raises(Unusable, match=r"some\.jsonl, line 2 is damaged"):
        list(Lines(file).pieces(kind(("a", "b"))))


@pytest.mark.parametrize("kind", [Fields, FastFields])
@pytest.mark.parametrize("line", [b'{"a": 1}', b"[1, 2]", b'"text"', b"7", b"null"])
def test_a_line_that_is_no_row_is_no_row(tmp_path: Path, kind: type[Fields], line: bytes) -> None:
    """An object without a needed field, and what is no object at all, are refused by both parsers."""
    file = tmp_path / "some.jsonl"
    file.write_bytes(line + b"\n")

    with pytest.raises((KeyError, TypeError, AttributeError)):
        list(Lines(file).pieces(kind(("a", "b"))))


@pytest.mark.parametrize("kind", [Fields, FastFields])
def test_blank_lines_say_nothing(tmp_path: Path, kind: type[Fields]) -> None:
    """An empty line between two rows is no row and no damage."""
    file = tmp_path / "some.jsonl"
    file.write_bytes(b'{"a": 1, "b": 2}\n\n{"a": 3, "b": 4}\n')

    assert [[[*column] for column in piece] for piece in Lines(file).pieces(kind(("a", "b")))] == [[[1, 3], [2, 4]]]


def test_a_judge_without_anything_installed_comes_to_the_same_verdict(tmp_path: Path) -> None:
    """With msgspec hidden, every answer, count and canary on a history of every shape is the same."""
    history = every_shape()
    history.rows["db/billing/payment"][0]["amount_minor"] += 1
    history.write(tmp_path)
    said = subprocess.run(
        [sys.executable, "-c", WITHOUT, tmp_path], cwd=PROJECT, capture_output=True, text=True, check=True
    ).stdout

    assert json.loads(said) == json.loads(json.dumps(to_document(judge(tmp_path)), default=str))


def test_every_table_reads_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every table of a history of every shape has the same rows by either parser."""
    every_shape().write(tmp_path)
    fast = Evidence.of(tmp_path)
    tables = {name: fast.table(name) for name in TABLES}
    monkeypatch.setattr("chaos.checker.fields.msgspec", None)
    plain = Evidence.of(tmp_path)

    assert type(INTENT.fields) is Fields
    assert {name: plain.table(name) for name in TABLES} == tables
