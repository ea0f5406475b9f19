"""The verdict: which bad thing outranks which, what is written down, and what happens to evidence with holes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

from chaos.checker.canary import Canary, Fate
from chaos.checker.finding import Family
from chaos.checker.result import Recovery
from chaos.checker.verdict import Answer, Result, Status, judge, judge_and_write, status_of, to_document, write
from chaos.specimens import History, every_shape
from tests.conftest import eventually

FILES = {
    "intents.jsonl": {"S00", "S01", "S02", "S03", "S24", "W04"},
    "log.jsonl": {
        "S05",
        "S06",
        "S07",
        "S08",
        "S09",
        "S12",
        "S14",
        "S15",
        "S17",
        "S19",
        "S20",
        "S22",
        "L01",
        "W02",
        "W08",
    },
    "db/orders/orders.jsonl": {"S00", "S01", "S02", "S03", "S04", "S13", "S14", "S17", "S23"},
    "db/billing/outbox.jsonl": {"S04", "S05", "S06", "S07", "S18", "L01", "W05", "W08"},
    "db/billing/invoice.jsonl": {"S00", "S11", "S12", "S13", "S14", "S15", "S16", "S17", "S18", "S22", "S23", "W05"},
    "db/analytics/revenue.jsonl": {"S17", "S19"},
    "db/analytics/orders_by_day.jsonl": {"S19"},
    "db/analytics/ordered_skus.jsonl": {"S19"},
    "db/orders/relay_position.jsonl": {"S05"},
    "db/orders/outbox_parked.jsonl": {"S05", "S22", "S25", "L01"},
    "mail.jsonl": {"S18"},
    "offsets.json": {"S17", "S20", "L02", "L03"},
    "deliveries.jsonl": {"W02", "W03", "W06"},
    "faults.jsonl": {"W01", "W05"},
}


def result(answer: Answer, family: Family = Family.SAFETY) -> Result:
    return Result("S99", "A rule.", family, answer, count=int(answer is Answer.BROKEN))


def rank(safety: Answer, vacuity: Answer, fate: Fate) -> Status:
    """The precedence, written down a second time."""
    if safety is Answer.BROKEN:
        return Status.FAIL
    if fate is Fate.MISSED:
        return Status.CHECKER_DEAD
    if Answer.UNKNOWN in (safety, vacuity):
        return Status.UNKNOWN
    return Status.VACUOUS if vacuity is Answer.BROKEN else Status.PASS


@pytest.mark.parametrize(("safety", "vacuity", "fate"), list(product(Answer, Answer, (Fate.FOUND, Fate.MISSED))))
def test_verdicts_have_a_fixed_precedence(safety: Answer, vacuity: Answer, fate: Fate) -> None:
    """FAIL outranks CHECKER_DEAD, that UNKNOWN, that VACUOUS, and only what is left is a PASS."""
    results = [result(safety), result(vacuity, Family.VACUITY), result(Answer.HOLDS)]

    assert status_of(results, [Canary("S99", fate)]) is rank(safety, vacuity, fate)


def test_exit_codes_are_part_of_the_contract() -> None:
    """Scripts may rely on the exit code of each verdict."""
    assert {s.value: s.exit_code for s in Status} == {
        "FAIL": 1, "CHECKER_DEAD": 4, "UNKNOWN": 2, "VACUOUS": 3, "PASS": 0,
    }  # fmt: skip


@pytest.mark.parametrize("file", FILES)
def test_missing_evidence_is_unknown_and_only_where_it_is_needed(tmp_path: Path, file: str) -> None:
    """A rule whose evidence is missing is UNKNOWN, never a pass; rules that do not need it are judged."""
    every_shape().write(tmp_path)
    (tmp_path / file).unlink()

    verdict = judge(tmp_path)

    assert verdict.status is Status.UNKNOWN
    assert set(verdict.unknown) == FILES[file]
    assert verdict.broken == ()
    assert all(Path(file).name in r.reason for r in verdict.results if r.answer is Answer.UNKNOWN)


def test_a_directory_without_a_run_is_unknown(tmp_path: Path) -> None:
    """An empty directory is judged UNKNOWN with a reason, and raises nothing."""
    verdict = judge(tmp_path)

    assert verdict.status is Status.UNKNOWN
    assert "run.json is missing" in verdict.results[0].reason


def test_a_torn_last_line_is_skipped_and_counted(tmp_path: Path) -> None:
    """A journal whose writer was killed in the middle of a line is judged by its whole lines."""
    history = every_shape()
    history.torn["deliveries"] = '{"group": "bill'

    verdict = judge(history.write(tmp_path))

    assert verdict.status is Status.PASS
    assert verdict.torn_lines == {"deliveries.jsonl": 1}


def test_a_damaged_line_is_unknown(tmp_path: Path) -> None:
    """An unreadable line that is not the last one makes what needs its file UNKNOWN, with file and line."""
    every_shape().write(tmp_path)
    mail = tmp_path / "mail.jsonl"
    mail.write_text("{broken\n" + mail.read_text())

    verdict = judge(tmp_path)

    assert verdict.unknown == ("S18",)
    assert "mail.jsonl, line 1" in next(r.reason for r in verdict.results if r.invariant == "S18")


def test_a_row_without_a_needed_field_is_unknown(tmp_path: Path) -> None:
    """A table in another shape is not taken for an empty one."""
    history = every_shape()
    for row in history.rows["mail"]:
        del row["message_id"]

    assert judge(history.write(tmp_path)).unknown == ("S18",)


@pytest.mark.parametrize("gap", ["first", "middle", "last"])
def test_a_hole_in_the_archive_is_unknown_not_a_loss(tmp_path: Path, gap: str) -> None:
    """A log that was not archived whole cannot show that an event is missing."""
    history = every_shape()
    copies = sorted(history.rows["log"], key=lambda c: (c["topic"], c["partition"], c["offset"]))
    one = [c for c in copies if (c["topic"], c["partition"]) == (copies[0]["topic"], copies[0]["partition"])]
    history.rows["log"].remove({"first": one[0], "middle": one[len(one) // 2], "last": one[-1]}[gap])

    verdict = judge(history.write(tmp_path))

    assert "S05" in verdict.unknown
    assert "log.jsonl is incomplete" in next(r.reason for r in verdict.results if r.invariant == "S05")


def test_a_group_without_provenance_leaves_its_order_unknown(tmp_path: Path) -> None:
    """With billing's inbox taken out nobody can say in which order it applied events, and that is no pass."""
    history = every_shape()
    history.rows["db/billing/inbox"] = []

    verdict = judge(history.write(tmp_path))

    assert {"S10", "S20"} <= set(verdict.unknown)
    assert "S17" in verdict.broken


def test_a_run_in_which_nothing_happened_is_vacuous(tmp_path: Path) -> None:
    """A run without a single order passes nothing."""
    assert judge(History().finish().write(tmp_path)).status is Status.VACUOUS


def test_delivery_ranges_mean_every_offset_in_them(tmp_path: Path) -> None:
    """A line of deliveries with `last_offset` counts as one delivery per offset."""
    history = History()
    history.order()
    row = history.rows["deliveries"][-1]
    row["last_offset"] = row["offset"] + 9

    counts = judge(history.finish().write(tmp_path), canaries=False).counts

    assert counts["deliveries"] == len(history.rows["deliveries"]) + 9


def test_the_verdict_is_written_in_ten_lines_with_the_first_counterexample(tmp_path: Path) -> None:
    """verdict.txt fits ten lines however much is wrong, and shows the first violation; verdict.json has everything."""
    history = every_shape()
    history.rows["db/billing/invoice"] = history.rows["db/billing/invoice"] * 2
    history.rows["db/orders/orders"] = history.rows["db/orders/orders"][5:]
    verdict = judge(history.write(tmp_path))

    write(verdict, tmp_path)

    lines = (tmp_path / "verdict.txt").read_text().splitlines()
    document = json.loads((tmp_path / "verdict.json").read_text())
    assert len(lines) <= 10
    assert lines[0].startswith("FAIL")
    assert any(line.startswith("First counterexample") for line in lines)
    assert lines[-1].startswith("What should have happened")
    assert document["status"] == "FAIL"
    assert document["exit_code"] == 1
    assert {r["invariant"] for r in document["results"] if r["answer"] == "broken"} == set(verdict.broken)
    assert document["stories"][0]["moments"]


def an_older_generation(**expect: object) -> History:
    history = every_shape(**expect)
    history.rows["db/billing/inbox"][0]["generation"] = 5
    return history


def test_what_a_run_does_not_claim_is_a_warning_and_no_failure(tmp_path: Path) -> None:
    """A late effect of an older generation is shown where nobody claims fencing, and the verdict is PASS."""
    verdict = judge(an_older_generation().write(tmp_path))

    write(verdict, tmp_path)
    result = next(r for r in verdict.results if r.invariant == "S21")
    assert result.answer is Answer.WARNING
    assert "orders.events/" in result.counterexamples[0].what
    assert verdict.status is Status.PASS
    assert "S21" in (tmp_path / "verdict.txt").read_text()
    assert judge(an_older_generation(fencing=True).write(tmp_path / "claimed")).broken == ("S21",)


def test_a_row_without_a_generation_accuses_nobody(tmp_path: Path) -> None:
    """Where the client did not tell its generation, the rule says nothing of that row."""
    history = an_older_generation(fencing=True)
    for row in history.rows["db/billing/inbox"][1:]:
        row["generation"] = -1

    assert judge(history.write(tmp_path)).broken == ()


def test_recovery_is_measured_from_the_last_healing(tmp_path: Path) -> None:
    """What was ordered before it and invoiced after it counts; the quantiles are of those."""
    history = every_shape()
    placed = [history.the("db/orders/outbox", event_id=i["event_id"]) for i in history.rows["db/billing/invoice"]]
    for mark in history.all("faults", phase="heal"):
        mark["at"] = "2026-03-01T12:10:00+00:00"
    for number, invoice in enumerate(history.rows["db/billing/invoice"][:4], start=1):
        invoice["applied_at"] = f"2026-03-01T12:10:0{number}+00:00"

    found = judge(history.write(tmp_path), canaries=False).recovery

    assert len(placed) > 4
    assert found == Recovery(orders=4, p50_seconds=3.0, p95_seconds=4.0, max_seconds=4.0)


def test_a_run_without_faults_has_no_recovery(tmp_path: Path) -> None:
    """Nothing was healed, so there is nothing to measure."""
    history = History()
    history.order()

    assert judge(history.finish().write(tmp_path), canaries=False).recovery is None


def test_a_killed_checker_leaves_unknown(tmp_path: Path) -> None:
    """SIGKILL while it judges: what an earlier judge wrote no longer stands, and the verdict is UNKNOWN."""
    evidence = every_shape().write(tmp_path / "evidence")
    assert judge_and_write(evidence, tmp_path).status is Status.PASS
    (evidence / "mail.jsonl").unlink()
    os.mkfifo(evidence / "mail.jsonl")  # whoever reads it waits for ever
    program = "import sys; from pathlib import Path; from chaos.checker.verdict import judge_and_write as judge;"
    program += f"judge(Path({str(evidence)!r}), Path({str(tmp_path)!r}))"
    checker = subprocess.Popen([sys.executable, "-c", program])

    try:
        eventually(lambda: "has not finished" in (tmp_path / "verdict.txt").read_text(), 60, "the checker has begun")
    finally:
        checker.kill()
        checker.wait()

    left = json.loads((tmp_path / "verdict.json").read_text())
    assert left["status"] == "UNKNOWN"
    assert left["exit_code"] == 2
    assert {result["answer"] for result in left["results"]} == {"unknown", "not applicable"}


def test_every_field_of_the_verdict_is_documented(tmp_path: Path) -> None:
    """Programs read verdict.json by the page about it, so the page has to name all of it."""
    document = to_document(judge(an_older_generation(fencing=True).write(tmp_path)))
    page = (Path(__file__).parents[3] / "docs/evidence-format.md").read_text().partition("## verdict.json")[2]
    story = document["stories"][0]
    parts = [
        document, document["recovery"], story, story["turning"], document["results"][0], document["canaries"][0],
        *story["moments"], *(example for result in document["results"] for example in result["counterexamples"]),
    ]  # fmt: skip

    assert {field for part in parts for field in part if f"`{field}`" not in page} == set()


def test_violations_beyond_the_first_are_counted(tmp_path: Path) -> None:
    """The first few counterexamples are kept and all of them are counted."""
    history = every_shape()
    history.rows["mail"] = []

    verdict = judge(history.write(tmp_path), canaries=False)

    found = next(r for r in verdict.results if r.invariant == "S18")
    assert found.count == len(history.rows["db/billing/invoice"])
    assert len(found.counterexamples) == 3


def test_without_any_evidence_the_checker_was_not_tested(tmp_path: Path) -> None:
    """W07 does not claim that all of nothing was found."""
    verdict = judge(tmp_path)
    assert verdict.status is Status.UNKNOWN
    assert "W07" in verdict.unknown
