"""Faults leave nothing behind: healing works on what was never broken, twice in a row, and is probed."""

import threading
from pathlib import Path

import pytest

from chaos import catalogue, journal
from chaos.catalogue import Entry
from chaos.links import Links
from chaos.stage import Stage
from infra.local.stack import LocalStack
from tests.e2e.conftest import System

pytestmark = [pytest.mark.full, pytest.mark.timeout(120)]

ENTRIES = [each for each in catalogue.survived() if not each.fault.spares and each.fault.available]


@pytest.fixture(scope="module")
def links(stack: LocalStack) -> Links:
    return Links.open(stack, {server for entry in ENTRIES for server in entry.fault.links})


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.fault.name)
def test_healing_what_is_whole_changes_nothing(
    system: System, stack: LocalStack, tmp_path: Path, links: Links, entry: Entry
) -> None:
    """Whatever happened before, every fault of a scenario is healed; so healing must be harmless, and say so."""
    stage = Stage(
        run=system.deployment.namespace,
        stack=stack,
        deployment=system.deployment,
        faults=tmp_path / "faults.jsonl",
        failpoints=tmp_path / "failpoints",
        links=links.proxies,
        abandoned=threading.Event(),
    )
    for _time in range(2):
        entry.fault.heal(stage)
        assert entry.fault.probe(stage) is None
    assert [line["phase"] for line in journal.rows(tmp_path / "faults.jsonl")] == ["heal", "heal"]
