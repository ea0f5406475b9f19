"""What docs/how-to/restore-a-database.md promises of a consumer's older backup, on a whole system of its own."""

import json
import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from infra.local.home import Home
from infra.local.stack import LocalStack
from tests.conftest import eventually
from tests.e2e.conftest import an_order
from tests.readme.documents import blocks

pytestmark = [pytest.mark.full, pytest.mark.timeout(400)]

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "restore-a-database.md"
SECONDS = 180
BEFORE, AFTER = 6, 9
"""Orders placed before the backup and after it."""

Invoices = dict[str, tuple[str, ...]]


@dataclass(frozen=True)
class Shop:
    """A stack with a home of its own, so that the command works on it and on nothing else."""

    home: Path

    @property
    def stack(self) -> LocalStack:
        return LocalStack(Home(self.home), os.environ)

    def run(self, command: str) -> str:
        programs = self.stack.postgres().program("psql").parent
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            cwd=self.home,
            env={
                **os.environ,
                "PATH": f"{self.home / 'bin'}:{programs}:{os.environ['PATH']}",
                "PYTHONPATH": str(ROOT),
                "ONCE_HOME": str(self.home),
                "SERVER": self.stack.superuser_url("postgres"),
                "BILLING": self.stack.superuser_url("billing"),
            },
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
        return done.stdout

    def place(self, count: int) -> None:
        for _ in range(count):
            request = urllib.request.Request(
                f"{self.stack.deployment().url('orders-api')}/orders",
                json.dumps(an_order()).encode(),
                {"Content-Type": "application/json", "Idempotency-Key": str(uuid4())},
            )
            with urllib.request.urlopen(request, timeout=20) as answer:
                assert answer.status == 201

    def invoices(self) -> Invoices:
        """Return order → the numbers of its invoices."""
        query = "SELECT order_id::text, array_agg(number ORDER BY number) FROM invoice GROUP BY order_id"
        with psycopg.connect(self.stack.superuser_url("billing")) as connection:
            return {order_id: tuple(numbers) for order_id, numbers in connection.execute(query)}

    def billed(self, orders: int) -> Invoices:
        eventually(lambda: len(self.invoices()) >= orders, 60, lambda: f"{orders} orders are billed")
        return self.invoices()

    def mails(self, order_id: str) -> int:
        lines = self.stack.deployment().mail_journal.read_text().splitlines()
        return sum(json.loads(line)["order_id"] == order_id for line in lines)


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    shop = Shop(tmp_path / "home")
    once = shop.home / "bin" / "once"
    once.parent.mkdir(parents=True)
    once.write_text(f'#!/bin/sh\nexec {sys.executable} -m infra.cli "$@"\n', encoding="utf-8")
    once.chmod(0o755)
    try:
        shop.run("once up")
        yield shop
    finally:
        shop.run("once down --delete-data")


def test_orders_billed_after_the_backup_are_billed_again_and_no_number_twice(shop: Shop) -> None:
    """The page's commands, as written, and what it says: the replay bills again, the jump keeps numbers apart."""
    backup, restore = section("A consumer's older backup")
    shop.place(BEFORE)
    kept = shop.billed(BEFORE)
    for command in backup:
        shop.run(command)
    shop.place(AFTER)
    given = shop.billed(BEFORE + AFTER)
    for command in restore:
        shop.run(command)

    again = shop.billed(BEFORE + AFTER)
    assert again.keys() == given.keys()
    assert all(len(numbers) == 1 for numbers in again.values())
    assert {order: again[order] for order in kept} == kept
    new = {order: numbers for order, numbers in again.items() if order not in kept}
    assert not set(new.values()) & set(given.values())
    eventually(lambda: all(shop.mails(order) == 2 for order in new), 30, "a second e-mail for each")
    assert all(shop.mails(order) == 1 for order in kept)


def section(heading: str) -> list[tuple[str, ...]]:
    found = re.search(rf"^## {heading}\n.*?(?=^## |\Z)", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert found, f"the page has lost its section {heading}"
    return [block.commands for block in blocks(PAGE.name, found[0])]
