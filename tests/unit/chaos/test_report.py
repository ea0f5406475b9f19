"""The report of a run is one file that needs nothing else, and says what the verdict says."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from chaos.checker.verdict import judge
from chaos.report import write
from chaos.specimens import History, every_shape


def report(history: History, directory: Path) -> str:
    evidence = history.write(directory / "evidence")
    return write(judge(evidence), evidence, directory).read_text()


def test_a_report_needs_nothing_outside_itself(tmp_path: Path) -> None:
    """No address, no script, no picture and no font is fetched from anywhere."""
    page = report(every_shape(), tmp_path)

    assert not re.search(r"<script|<link rel=.stylesheet|@import|url\(|src=|https?://", page)
    assert "PASS" in page


def test_every_chart_is_well_formed_and_has_a_name(tmp_path: Path) -> None:
    """Each picture is XML of its own, and can be told to somebody who does not see it."""
    charts = re.findall(r"<svg.*?</svg>", report(every_shape(), tmp_path), re.DOTALL)

    assert len(charts) >= 6
    assert all(ElementTree.fromstring(chart).get("aria-label") for chart in charts)


def test_a_red_report_tells_the_guilty_order_and_names_the_rule(tmp_path: Path) -> None:
    """The story comes with the first violation, and what comes from the evidence cannot break the page."""
    history = every_shape()
    row = dict(history.rows["db/billing/invoice"][0])
    number, sequence = history.draw("INV")
    history.rows["db/billing/invoice"].append({**row, "number": number, "sequence": sequence})
    history.rows["mail"][0]["recipient"] = "<script>alert(1)</script>"

    page = report(history, tmp_path)

    assert "the story of one order" in page
    assert row["order_id"] in page
    assert "<script>" not in page


@pytest.mark.parametrize("missing", ["log.jsonl", "deliveries.jsonl", "faults.jsonl", "db/orders/outbox.jsonl"])
def test_a_report_is_made_of_what_is_there(tmp_path: Path, missing: str) -> None:
    """Evidence with a hole, such as that of a killed run, still makes a report."""
    evidence = every_shape().write(tmp_path / "evidence")
    (evidence / missing).unlink()

    assert "UNKNOWN" in write(judge(evidence), evidence, tmp_path).read_text()


def test_an_empty_directory_makes_a_report(tmp_path: Path) -> None:
    """Where nothing is, the page says so and shows no chart."""
    assert "<svg" not in write(judge(tmp_path), tmp_path, tmp_path).read_text()
