"""The lists in docs/adopt/files.md: complete, and with nothing too much.

Seen red with a file taken from a list.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import Popen

import pytest

from tests.adopt import pages, taken
from tests.adopt.shop import Shop, run_script
from tests.adopt.taken import Taken
from tests.conftest import DatabaseFactory, TopicFactory, eventually

PARTS = taken.parts()

BEGINS = {
    "Writer": ("shared.outbox",),
    "Relay": ("services.relay.__main__", "services.relay.operate"),
    "Consumer": ("shared.consumer", "shared.inbox_partitions", "shared.lifecycle", "shared.retention"),
}
"""What an adopter asks of each part; the rest is what these need."""

WRITE = """
import os, psycopg
from uuid import UUID
{page}
with psycopg.connect(os.environ["DATABASE"]) as connection:
    for number in range(5):
        confirm(connection, UUID(os.environ["ORDER"]), f"R-{{number}}")
"""


@pytest.mark.parametrize("name", BEGINS)
def test_a_list_has_what_is_needed_and_no_more(name: str) -> None:
    """Whoever adds an import adds a line there, and sees what adopters will have to copy."""
    assert set(PARTS[name].files) == taken.needed(*BEGINS[name])


def test_the_parts_work_where_nothing_else_is(
    tmp_path: Path, postgres_url: DatabaseFactory, topic: TopicFactory, kafka: str
) -> None:
    """From an order in one empty folder, through a relay in another, to an effect by a consumer in a third."""
    shop, counter, events = Shop.by_script(postgres_url()), postgres_url(), topic(3)
    run_script(counter, "inbox.sql")
    Shop(counter).rows("CREATE TABLE counter AS SELECT 0 AS confirmed; SELECT 1")
    writer, relay, consumer = (PARTS[name].take(tmp_path / name) for name in BEGINS)
    writer.write("write.py", WRITE.format(page=pages.blocks("psycopg.md", "python")[0]))
    consumer.write("count.py", pages.blocks("files.md", "python")[0].replace("shop.events", events))

    order_id = shop.new_order()
    # The writer's own driver is not the outbox's business: it is laid beside what the list names.
    writer = with_driver(writer)
    ended(writer.start("write.py", DATABASE=shop.plain, ORDER=str(order_id)))
    assert shop.told(order_id) == [1, 2, 3, 4, 5]

    settings = {"INSTANCE": "relay-1", "DATABASE_URL": shop.url, "KAFKA_BOOTSTRAP_SERVERS": kafka}
    with (
        running(relay, "-m", "services.relay", ORDERS_TOPIC=events, LOG_LEVEL="WARNING", **settings),
        running(consumer, "count.py", DATABASE=counter, KAFKA=kafka),
    ):
        eventually(lambda: Shop(counter).rows("SELECT confirmed FROM counter") == [(5,)], 30, "five are counted")
    assert Shop(counter).rows("SELECT count(*) FROM inbox") == [(5,)]


def with_driver(writer: Taken) -> Taken:
    taken.Part(("psycopg[binary]",), ()).take(writer.folder)
    return writer


def ended(process: Popen[str]) -> None:
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors


@contextmanager
def running(part: Taken, *arguments: str, **environment: str) -> Iterator[None]:
    process = part.start(*arguments, **environment)
    try:
        yield
        assert process.poll() is None, "it ended by itself"
    finally:
        process.terminate()
        _, errors = process.communicate(timeout=60)
        print(errors)  # noqa: T201  # shown when the test fails
    assert process.returncode == 0
