"""Retention, replay and rebuild on containers: the same commands as on the local stack, and as harmless."""

import subprocess

import pytest

from tests.compose.conftest import Project
from tests.conftest import eventually

ORDERS = 10


def once(system: Project, *arguments: str) -> str:
    done: subprocess.CompletedProcess[str] = system.compose("run", "--rm", "--no-TTY", "once", *arguments, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return " ".join(done.stdout.split())


@pytest.fixture(scope="module")
def invoiced(engine: None, system: Project) -> dict[str, list[dict[str, object]]]:
    """Orders with the one invoice that each has."""
    placed = [system.place()["order_id"] for _ in range(ORDERS)]
    eventually(lambda: all(system.invoices(each) for each in placed), 60, "invoices")
    return {each: system.invoices(each) for each in placed}


def revenue(system: Project) -> int:
    return sum(day["invoices"] for day in system.get("ANALYTICS", "/revenue")["revenue"])


def test_what_is_too_old_is_told_and_deleted(
    engine: None, system: Project, invoiced: dict[str, list[dict[str, object]]]
) -> None:
    """Of every household, by the database's own role for it; nothing is old here, so nothing goes."""
    assert "billing inbox" in once(system, "retention", "status")
    assert "billing: nothing is too old." in once(system, "retention", "run")
    assert all(system.invoices(each) == before for each, before in invoiced.items())


def test_a_group_reads_everything_again_and_bills_nothing_twice(
    engine: None, system: Project, invoiced: dict[str, list[dict[str, object]]]
) -> None:
    """Its containers are stopped, the offsets moved, the containers started; the inbox does the rest."""
    told = once(system, "replay", "billing", "--to", "earliest", "--yes")
    assert "On their way" in told
    later = system.place()["order_id"]
    eventually(lambda: system.invoices(later), 60, "an invoice behind the replay")
    assert all(system.invoices(each) == before for each, before in invoiced.items())


def test_the_read_model_is_built_again_beside_the_live_one(
    engine: None, system: Project, invoiced: dict[str, list[dict[str, object]]]
) -> None:
    """The new version is live afterwards, and knows what the old one knew."""
    known = eventually(lambda: revenue(system), 30, "figures")
    assert "The new version is live" in once(system, "replay", "analytics", "--rebuild")
    eventually(lambda: revenue(system) >= known >= len(invoiced), 30, lambda: (revenue(system), known))
