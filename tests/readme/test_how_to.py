"""The how-to pages that change code, followed literally in a copy of the repository."""

from pathlib import Path

import pytest

from infra.local.stack import LocalStack
from tests.readme.recipe import Copy, PageError

CONSUMER, SERVICE = "add-a-consumer.md", "add-a-service.md"
PAYMENTS, PERSONAL, RABBITMQ = "real-payment-provider.md", "personal-data.md", "rabbitmq-instead-of-kafka.md"
PARTITIONS = "change-lanes-or-partitions.md"
CHANGES = (
    ["add-an-event-type.md"],
    ["evolve-a-schema.md"],
    [PARTITIONS],
    [CONSUMER, SERVICE],
    [PAYMENTS, PERSONAL, RABBITMQ],
)
"""Pages that are followed after one another."""

LIVE = '''
"""An order on a system of its own, on the stack that is up; waits for what SQL finds in a database."""
import json, sys, urllib.request
from pathlib import Path

import psycopg

from infra.local.services import programs
from infra.local.stack import LocalStack
from tests.conftest import eventually

namespace, folder, wanted, database, query = sys.argv[1], Path(sys.argv[2]), sys.argv[3].split(","), *sys.argv[4:6]
table = {name: each for name, each in programs(namespace).items() if name in wanted}
assert len(table) == len(wanted), table
deployment = LocalStack.open().deployment(namespace, folder, table)
try:
    deployment.prepare()
    deployment.start()
    lines = [{"sku": "APPLE", "quantity": 3, "unit_price_minor": 100}]
    order = {"customer_id": "c-1", "email": "ada@example.org", "currency": "EUR", "lines": lines}
    headers = {"Content-Type": "application/json", "Idempotency-Key": "k-1"}
    asked = urllib.request.Request(deployment.url("orders-api") + "/orders", json.dumps(order).encode(), headers)
    assert urllib.request.urlopen(asked, timeout=20).status == 201

    def answer():
        with psycopg.connect(deployment.superuser_url(database)) as connection:
            return connection.execute(query).fetchone() == (True,)

    eventually(answer, 40, query)
    print("it came through")
finally:
    deployment.destroy()
'''
PROCESSES = ("orders-api", "relay-orders-1", "warehouse-1", "warehouse-api", "warehouse-housekeeper-1")
ADDED_UP = "SELECT array_agg((sku, quantity)::text) = ARRAY['(APPLE,3)'] FROM ordered"
PUBLISHED = (
    "SELECT count(*) = 1 FROM outbox, relay_position WHERE outbox.type = 'FetchPlanned' "
    "AND outbox.destination = relay_position.destination AND pg_visible_in_snapshot(outbox.xid, done)"
)


MOVED = "SELECT count(*) = 1 AND max(topic) LIKE '%orders.events.2' FROM inbox"


def live(copy: Copy, folder: Path, processes: tuple[str, ...], query: str, database: str = "warehouse") -> str:
    """Start some of a copy's processes, place an order, and wait until a query in a database says true."""
    script = folder / "live.py"
    script.write_text(LIVE, encoding="utf-8")
    namespace = f"page-{folder.name[-8:].replace('_', '-')}"
    return copy.run(
        f'.venv/bin/python {script} {namespace} {folder / "run"} {",".join(processes)} {database} "{query}"'
    )


@pytest.mark.parametrize("pages", CHANGES, ids=lambda pages: pages[-1])
def test_every_step_of_a_page_can_be_taken(tmp_path: Path, pages: list[str]) -> None:
    """Each place and each line that a page names is there once, and what comes out is in the project's style.

    Seen red with a line of `infra/local/services.py` that reads otherwise.
    """
    copy = Copy.made_in(tmp_path)
    for page in pages:
        copy.follow(page, tests=False)
    copy.run(".venv/bin/python -m ruff check -q services shared infra tests")


def test_a_page_that_names_a_line_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """Otherwise a page could go stale in silence."""
    (tmp_path / "x.py").write_text("a = 1\n")
    with pytest.raises(PageError, match="0 lines"):
        Copy(tmp_path)._edit("x.py", "after", "b = 1", "c = 1\n")


@pytest.mark.full
@pytest.mark.timeout(300)
@pytest.mark.parametrize("page", ["add-an-event-type.md", "evolve-a-schema.md", PAYMENTS, PERSONAL, RABBITMQ])
def test_a_page_leads_to_code_that_passes_its_tests(tmp_path: Path, stack: LocalStack, page: str) -> None:
    """Those that the page itself calls, on real servers.

    Where there is no RabbitMQ, the tests of its page say so and are left out; in CI they fail.
    """
    Copy.made_in(tmp_path, ONCE_HOME=str(stack.home.root)).follow(page)


@pytest.mark.full
@pytest.mark.timeout(400)
def test_the_pages_lead_to_a_consumer_and_then_to_a_service(tmp_path: Path, stack: LocalStack) -> None:
    """Their own tests pass; run by the local stack it hears of an order, and then tells of it."""
    copy = Copy.made_in(tmp_path / "copy", ONCE_HOME=str(stack.home.root))
    copy.follow(CONSUMER)
    assert "it came through" in live(copy, tmp_path, PROCESSES, ADDED_UP)
    copy.follow(SERVICE)
    assert "it came through" in live(copy, tmp_path, (*PROCESSES, "relay-warehouse-1"), PUBLISHED)


@pytest.mark.full
@pytest.mark.timeout(300)
def test_orders_go_through_the_topic_that_a_page_moves_to(tmp_path: Path, stack: LocalStack) -> None:
    """A topic with another number of partitions than all others, in a system that is wired to it."""
    copy = Copy.made_in(tmp_path / "copy", ONCE_HOME=str(stack.home.root))
    copy.follow(PARTITIONS)
    assert "it came through" in live(copy, tmp_path, ("orders-api", "relay-orders-1", "billing-1"), MOVED, "billing")
