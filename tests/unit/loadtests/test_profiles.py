"""The load is what its README says, and its journal never claims to know more than it does."""

import json
from collections import Counter
from pathlib import Path

import pytest

from loadtests.journal import Intent, Journal, result_of
from loadtests.profiles import DECIMALS, LIMIT_MAJOR, shopping

VISITS = [shopping(seed=1, number=number) for number in range(5_000)]


def test_the_same_seed_plans_the_same_orders() -> None:
    """A run can be repeated."""
    assert shopping(7, 3) == shopping(7, 3)
    assert shopping(7, 3) != shopping(8, 3)


def test_the_mix_is_as_described() -> None:
    """Shares within a few standard deviations; all seven currencies; large orders among the small ones."""
    counts = Counter(visit.outcome for visit in VISITS)
    assert 0.065 < counts["declined"] / len(VISITS) < 0.095
    assert 0.045 < sum(visit.cancelled_after_seconds is not None for visit in VISITS) / len(VISITS) < 0.075
    assert 0.035 < sum(visit.sent_twice for visit in VISITS) / len(VISITS) < 0.065
    assert {visit.currency for visit in VISITS} == DECIMALS.keys()
    assert max(len(visit.body["lines"]) for visit in VISITS) > 50


@pytest.mark.parametrize("currency", DECIMALS)
def test_declined_orders_exist_in_every_currency_and_only_above_the_limit(currency: str) -> None:
    """The limit is in whole units, whatever the number of decimals."""
    visits = [visit for visit in VISITS if visit.currency == currency]
    assert {visit.outcome for visit in visits} == {"declined", "invoiced"}
    for visit in visits:
        above = visit.amount_minor > LIMIT_MAJOR * 10 ** DECIMALS[currency]
        assert (visit.outcome == "declined") == above


def test_an_attempt_is_written_down_before_it_is_made(tmp_path: Path) -> None:
    """Killed in between, the journal has an open question."""
    journal = Journal(tmp_path / "journal.jsonl")
    begun = journal.begin(
        Intent(
            op="place",
            key="k",
            customer_id="c",
            order_ref="r",
            order_id=None,
            currency="EUR",
            amount_minor=1,
            expect="invoiced",
        )
    )
    before = (tmp_path / "journal.jsonl").read_text()
    journal.end(begun, "ok", 201, "o", replayed=False)
    lines = [json.loads(line) for line in (tmp_path / "journal.jsonl").read_text().splitlines()]
    assert json.loads(before)["result"] == "info"
    assert [(line["n"], line["result"], line["order_id"]) for line in lines] == [(1, "info", None), (1, "ok", "o")]


@pytest.mark.parametrize(
    ("status", "op", "result"),
    [
        (201, "place", "ok"),
        (200, "cancel", "ok"),
        (422, "place", "fail"),
        (404, "cancel", "fail"),
        (409, "cancel", "fail"),
        (409, "place", "info"),
        (429, "place", "info"),
        (500, "place", "info"),
        (503, "cancel", "info"),
        (0, "place", "info"),
    ],
)
def test_only_a_definite_answer_is_taken_for_one(status: int, op: str, result: str) -> None:
    """A time-out or an error of the server may hide an order that was placed."""
    assert result_of(status, op) == result
