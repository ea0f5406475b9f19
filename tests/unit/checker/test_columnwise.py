"""Tables that are kept column by column say what their records would say."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from chaos.checker.columnwise import ByKey, Columnwise
from chaos.checker.evidence import Evidence
from chaos.checker.registry import INVARIANTS
from chaos.checker.result import Answer
from chaos.checker.verdict import ask
from chaos.specimens import every_shape


class Pair(NamedTuple):
    name: str
    number: int


PAIRS = [Pair("a", 1), Pair("b", 2), Pair("a", 3)]
TABLE = Columnwise.of(Pair, PAIRS)


def test_a_table_has_the_rows_that_it_was_made_of() -> None:
    """By length, in order, at a place, in a slice, and as columns."""
    assert len(TABLE) == 3
    assert [*TABLE] == PAIRS == TABLE[:]
    assert (TABLE[1], TABLE[-1], TABLE[1:]) == (PAIRS[1], PAIRS[2], PAIRS[1:])
    assert [*TABLE.column("name")] == ["a", "b", "a"]
    assert [*TABLE.columns("number", "name")] == [(1, "a"), (2, "b"), (3, "a")]
    assert Columnwise.of(Pair, PAIRS) == TABLE
    assert Columnwise.of(Pair, PAIRS[1:]) != TABLE


def test_a_table_without_rows_is_one() -> None:
    """Its columns are there, and empty."""
    empty = Columnwise.of(Pair, [])

    assert (len(empty), [*empty], [*empty.column("name")]) == (0, [], [])


def test_rows_are_chosen_by_the_values_of_a_column() -> None:
    """Among some, outside of some, or by their places, of which there may be none, one or more."""
    assert [*TABLE.among("name", {"a"})] == [PAIRS[0], PAIRS[2]]
    assert [*TABLE.outside("name", {"a"})] == [PAIRS[1]]
    for places in ([], [1], [2, 0]):
        assert [*TABLE.at(places)] == [PAIRS[place] for place in places]
        assert [*TABLE.column_at(places, "number")] == [PAIRS[place].number for place in places]
        assert [*TABLE.numbered(places, "name")] == [(place, (PAIRS[place].name,)) for place in places]
        assert [*TABLE.rearranged(places)] == [PAIRS[place] for place in places]


def test_who_asks_for_a_column_that_was_left_out_gets_no_answer() -> None:
    """A record has an Ellipsis there, which is no value of anything."""
    table = Columnwise(Pair, [["a"], None])

    assert [*table] == [table[0]] == [("a", ...)]
    with pytest.raises(LookupError, match="number was not loaded"):
        table.column("number")


def test_rows_are_found_by_a_key() -> None:
    """As in a dictionary of records."""
    found = ByKey(TABLE, {"first": 0, "last": 2})

    assert dict(found) == {"first": PAIRS[0], "last": PAIRS[2]}
    assert "last" in found
    assert found.get("other") is None


@pytest.mark.parametrize(("rule", "field"), [("S07", "payload"), ("S14", "payload"), ("S07", "aggregate_type")])
def test_a_rule_that_needs_what_nobody_loaded_is_unknown(tmp_path: Path, rule: str, field: str) -> None:
    """A field of the log that was left out makes no rule hold, and none find anything."""
    evidence = Evidence.of(every_shape().write(tmp_path), frozenset({field}))
    asked = [invariant for invariant in INVARIANTS if invariant.id == rule]

    (result,) = ask(evidence, asked, canaries=False).results
    assert result.answer is Answer.UNKNOWN
    assert "was not loaded" in result.reason


@pytest.mark.parametrize("number", [2**64, "x", None, 1.5])
def test_a_number_that_is_none_makes_its_file_unusable(tmp_path: Path, number: object) -> None:
    """The ids of an outbox are kept as machine words: what is no such number is named, and what needs it is UNKNOWN."""
    history = every_shape()
    history.rows["db/orders/outbox"][3]["id"] = number
    evidence = Evidence.of(history.write(tmp_path))
    asked = [invariant for invariant in INVARIANTS if invariant.id == "S04"]

    (result,) = ask(evidence, asked, canaries=False).results
    assert result.answer is Answer.UNKNOWN
    assert "db/orders/outbox.jsonl has a row that cannot be used" in result.reason
