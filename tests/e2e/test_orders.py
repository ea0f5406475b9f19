"""The happy path and the saga, from HTTP to the mailbox, on a whole system."""

from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

from tests.conftest import eventually
from tests.e2e.conftest import System, an_order

TOO_EXPENSIVE_MINOR = 600_000


def test_an_order_becomes_one_invoice_and_one_mail(system: System) -> None:
    """An accepted order is confirmed with an invoice over its amount, and the customer gets it by e-mail once."""
    order_id = system.place()["order_id"]

    eventually(lambda: system.order(order_id)["state"] == "confirmed", 20, "the order is confirmed")
    (invoice,) = system.rows("billing", "SELECT * FROM invoice WHERE order_id = %s", order_id)
    assert (invoice["amount_minor"], invoice["currency"]) == (2_500, "EUR")
    (mail,) = eventually(lambda: system.mails(order_id), 20, "the mail is in the mailbox")
    assert mail["invoice_number"] == invoice["number"]
    assert mail["recipient"] == "ada@example.com"


def test_a_total_above_the_limit_is_declined(system: System) -> None:
    """An order above 10,000.00 ends declined, without an invoice and without a mail."""
    order_id = system.place(price_minor=TOO_EXPENSIVE_MINOR)["order_id"]

    eventually(lambda: system.order(order_id)["state"] == "declined", 20, "the order is declined")
    assert system.rows("billing", "SELECT * FROM invoice WHERE order_id = %s", order_id) == []
    assert system.mails(order_id) == []


def test_a_cancelled_order_gets_its_money_back(system: System) -> None:
    """Cancelling a confirmed order leads to a credit note and a refund of the same amount; cancelling twice to 409."""
    order_id = system.place()["order_id"]
    eventually(lambda: system.order(order_id)["state"] == "confirmed", 20, "the order is confirmed")

    status, _answer = system.post(f"/orders/{order_id}/cancel", {})
    assert status in (200, 202)
    query = "SELECT amount_minor, currency FROM credit_note WHERE order_id = %s"
    (credit,) = eventually(lambda: system.rows("billing", query, order_id), 20, "a credit note is there")
    assert credit == {"amount_minor": 2_500, "currency": "EUR"}
    refund = "SELECT 1 FROM payment WHERE order_id = %s AND status = 'refunded' AND amount_minor = 2500"
    assert len(system.rows("billing", refund, order_id)) == 1
    assert system.order(order_id)["state"] == "cancelled"
    assert system.post(f"/orders/{order_id}/cancel", {})[0] == 409


def test_the_same_key_three_times_at_once_is_one_order(system: System) -> None:
    """100 orders from 16 threads, each key three times at once: 100 orders, 100 invoices, numbers without a gap."""
    before = _count(system)
    keys = [str(uuid4()) for _ in range(100)]
    with ThreadPoolExecutor(16) as threads:
        answers = list(threads.map(lambda key: (key, _insist(system, key)), [key for key in keys for _ in range(3)]))

    assert len({order_id for _key, order_id in answers}) == 100
    assert len(set(answers)) == 100, "a key was answered with two orders"
    eventually(lambda: _count(system) == before + 100, 60, lambda: f"{_count(system)} invoices")
    numbers = [row["sequence"] for row in system.rows("billing", "SELECT sequence FROM invoice ORDER BY sequence")]
    assert numbers == list(range(1, len(numbers) + 1))


def _count(system: System) -> int:
    return int(system.rows("billing", "SELECT count(*) AS n FROM invoice")[0]["n"])


def _insist(system: System, key: str) -> str:
    """Place an order as a patient client does: while the first request with its key is in flight, ask again."""

    def ask() -> str | None:
        status, answer = system.post("/orders", an_order(), **{"Idempotency-Key": key})
        assert status in (201, 409), answer
        return str(answer["order_id"]) if status == 201 else None

    return eventually(ask, 20, "an answer to the key") or ""
