"""Every topic is read again from its start by every group, twice, while orders keep coming: not one effect changes.

The effects looked at are those of orders in currencies that nobody orders in meanwhile, so that they stand still by
themselves: every row of theirs in every database, and the sums over their currencies. What may change of an inbox row
is where its event was read; that the row is there, and for which event, may not.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import pytest

from infra.replay.group import Group
from infra.replay.replay import plan, replay
from tests.conftest import eventually
from tests.e2e.conftest import System, an_order

pytestmark = pytest.mark.timeout(500)

GROUPS = ("billing", "analytics", "orders")
CUT = ("GBP", "CHF")
"""The currencies of the orders up to the cut."""
ORDERS = 15
OF_ORDERS = "SELECT {columns} FROM {table} WHERE {key}::text = ANY(%s)"
OF_CURRENCIES = "SELECT {columns} FROM {table} WHERE {key} = ANY(%s)"
EFFECTS = (
    ("orders", "orders", "order_id", OF_ORDERS),
    ("orders", "idempotency_key", "order_id", OF_ORDERS),
    ("orders", "outbox", "aggregate_id", OF_ORDERS),
    ("orders", "inbox", "aggregate_id", OF_ORDERS),
    ("billing", "bill", "order_id", OF_ORDERS),
    ("billing", "payment", "order_id", OF_ORDERS),
    ("billing", "invoice", "order_id", OF_ORDERS),
    ("billing", "credit_note", "order_id", OF_ORDERS),
    ("billing", "outbox", "aggregate_id", OF_ORDERS),
    ("billing", "inbox", "aggregate_id", OF_ORDERS),
    ("analytics", "order_state", "order_id", OF_ORDERS),
    ("analytics", "inbox", "aggregate_id", OF_ORDERS),
    ("analytics", "revenue", "currency", OF_CURRENCIES),
    ("analytics", "orders_by_day", "currency", OF_CURRENCIES),
    ("analytics", "ordered_skus", "currency", OF_CURRENCIES),
    ("notifications", "sent_email", "order_id", OF_ORDERS),
)
"""Database, table, the column that tells whose row it is, and how its rows are found."""
WITHOUT_PROVENANCE = {"inbox": "consumer, event_id, aggregate_id, aggregate_version"}


def group_of(system: System, service: str) -> Group:
    return Group(system.deployment, system.deployment._stack.servers.kafka, service)


def place(system: System, currency: str, price_minor: int = 1_250) -> str:
    body = {**an_order(price_minor), "currency": currency}
    status, order = system.post("/orders", body, **{"Idempotency-Key": str(uuid4())})
    assert status == 201, order
    return str(order["order_id"])


@pytest.fixture(scope="module")
def cut(system: System) -> list[str]:
    """Orders that have come to their end in every way there is: confirmed, declined, and cancelled with a credit."""
    placed = [place(system, CUT[number % 2]) for number in range(ORDERS)]
    placed += [place(system, CUT[0], 90_000_000) for _number in range(3)]
    eventually(lambda: all(system.order(each)["state"] in ("confirmed", "declined") for each in placed), 90, "ends")
    for each in placed[:3]:
        system.post(f"/orders/{each}/cancel", {})
    eventually(lambda: len(system.rows("billing", "SELECT 1 FROM credit_note")) == 3, 60, "credit notes")
    eventually(lambda: len(system.rows("notifications", "SELECT 1 FROM sent_email")) == ORDERS, 90, "mails")
    eventually(lambda: all(has_read_everything(group_of(system, service)) for service in GROUPS), 60, "settled groups")
    return placed


def has_read_everything(group: Group) -> bool:
    return sum(group.committed().values()) == sum(group.ends().values()) > 0


def checksums(system: System, cut: list[str]) -> dict[str, Any]:
    return {
        f"{database}.{table}": checksum(system, database, query.format(
            table=table, key=key, columns=WITHOUT_PROVENANCE.get(table, "*")
        ), cut if query is OF_ORDERS else list(CUT))
        for database, table, key, query in EFFECTS
    }  # fmt: skip


def checksum(system: System, database: str, query: str, wanted: list[str]) -> Any:
    rows = f"SELECT count(*) AS n, md5(string_agg(found::text, ' ' ORDER BY found::text)) FROM ({query}) AS found"
    (found,) = system.rows(database, rows, wanted)
    assert found["n"], f"no row of {query} is there to be compared"
    return found


@contextmanager
def orders_coming(system: System) -> Iterator[list[str]]:
    """Place orders all the while; what is yielded grows with them. Raises what the client met in the end."""
    stop, placed, failed = threading.Event(), list[str](), list[BaseException]()

    def keep_placing() -> None:
        try:
            while not stop.is_set():
                placed.append(place(system, "EUR"))
                stop.wait(0.2)
        except BaseException as error:  # noqa: BLE001  # raised below, in the test's own thread
            failed.append(error)

    client = threading.Thread(target=keep_placing)
    client.start()
    try:
        yield placed
    finally:
        stop.set()
        client.join()
    if failed:
        raise failed[0]


def send_back(system: System, service: str) -> None:
    """Read everything again, and wait until the group stands where it stood."""
    group = group_of(system, service)
    planned, stood = plan(group, "earliest"), group.committed()
    assert planned.total.known == planned.total.events > 0
    replay(group, planned, lambda _line: None)
    eventually(
        lambda: all(group.committed().get(place, 0) >= offset for place, offset in stood.items()), 120, "the old place"
    )


def test_two_replays_of_everything_change_no_effect(system: System, cut: list[str]) -> None:
    """Under load: orders are placed during each replay, and all of them come to their end, too."""
    before = checksums(system, cut)
    with orders_coming(system) as placed:
        for service in (*GROUPS, *GROUPS):
            earlier = len(placed)
            send_back(system, service)
            assert len(placed) > earlier, f"no order was placed while {service} read again"
    eventually(lambda: all(system.order(each)["state"] == "confirmed" for each in placed), 90, "the others' ends")
    assert checksums(system, cut) == before
    assert len(system.rows("billing", "SELECT order_id FROM invoice GROUP BY order_id HAVING count(*) > 1")) == 0
    mailed = [mail for each in cut for mail in system.mails(each)]
    assert len(mailed) == len({mail["message_id"] for mail in mailed}) == ORDERS


def test_the_checksums_see_a_single_effect_that_doubles(system: System, cut: list[str]) -> None:
    """One invoice that analytics' inbox has forgotten is enough; last, since it leaves the model wrong."""
    before = checksums(system, cut)
    system.rows(
        "analytics",
        "DELETE FROM inbox WHERE event_id = (SELECT event_id FROM inbox WHERE aggregate_id = ANY(%s) "
        "AND topic LIKE '%%billing.events' AND aggregate_version = 1 LIMIT 1) RETURNING 1",
        cut[:ORDERS],
    )
    group = group_of(system, "analytics")
    planned = plan(group, "earliest")
    assert planned.total.unknown == {"InvoiceIssued": 1}
    replay(group, planned, lambda _line: None)
    changed = {"analytics.revenue"}
    eventually(lambda: {name for name, found in checksums(system, cut).items() if found != before[name]} == changed, 90)
