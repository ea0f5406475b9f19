"""What events leave in the read model, in whatever order the two topics are read."""

import random
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import psycopg
import pytest
from sqlalchemy import Engine, text

from infra.local.stack import LocalStack
from infra.postgres.roles import all_roles, ensure_roles, grant, ungranted
from services.analytics import count_orders
from services.analytics.api import create_app
from shared.database import transaction
from shared.errors import PermanentError
from shared.events import CURRENCIES, OrderLine
from shared.inbox import DatabaseInbox
from tests.integration.analytics.news import (
    NoInbox,
    cancelled,
    confirmed,
    count,
    credited,
    days,
    declined,
    deliver,
    invoiced,
    placed,
    revenue,
    rows,
    states,
)


def order_id() -> str:
    return str(uuid4())


def test_revenue_is_kept_by_utc_day_and_currency(engine: Engine) -> None:
    """A time in another zone counts on its UTC day; a credit counts on the day of the credit note."""
    first, second, yen = order_id(), order_id(), order_id()
    count(
        engine,
        deliver(
            invoiced(first, amount_minor=500),
            invoiced(second, amount_minor=250, at="2026-02-01T01:30:00+02:00"),
            invoiced(yen, "JPY", 1000),
            credited(first, amount_minor=500, at="2026-02-03"),
        ),
    )
    assert revenue(engine) == {
        ("2026-01-31", "EUR"): (2, 750, 0),
        ("2026-01-31", "JPY"): (1, 1000, 0),
        ("2026-02-03", "EUR"): (0, 0, 500),
    }


def test_orders_are_counted_in_the_state_of_their_last_event(engine: Engine) -> None:
    """In one batch or in several, an order stands in one state at a time."""
    a, b, c = order_id(), order_id(), order_id()
    count(engine, deliver(placed(a), placed(b), placed(c), confirmed(a)))
    assert states(engine) == {"placed": 2, "confirmed": 1}
    count(engine, deliver(cancelled(a), cancelled(b, "payment_declined"), confirmed(c)))
    assert states(engine) == {"cancelled": 1, "declined": 1, "confirmed": 1}


def test_the_two_topics_may_be_read_in_any_order(engine: Engine) -> None:
    """An invoice that arrives before its order, or a credit before both, leads to the same figures."""
    orders = [order_id() for _ in range(6)]
    ours = [deliver(placed(o), confirmed(o), cancelled(o)) for o in orders]
    theirs = [deliver(invoiced(o), credited(o)) for o in orders]
    for one, other in zip(ours, theirs, strict=True):
        for delivery in random.Random(one[0].envelope.aggregate_id).sample([*one, *other], 5):
            count(engine, [delivery])
    assert states(engine) == {"cancelled": 6}
    assert revenue(engine) == {("2026-01-31", "EUR"): (6, 3000, 3000)}


def test_an_older_event_of_an_order_that_comes_late_changes_nothing(engine: Engine) -> None:
    """One that was put aside and redriven by hand does not move its order back."""
    order = order_id()
    count(engine, deliver(confirmed(order)))
    count(engine, deliver(placed(order)))
    assert states(engine) == {"confirmed": 1}


def test_orders_are_counted_on_the_day_on_which_they_were_placed(engine: Engine) -> None:
    """By currency and state; an order that moves on leaves its old state's count of that same day."""
    a, b, yen = order_id(), order_id(), order_id()
    count(engine, deliver(placed(a, at="2026-01-01"), placed(b, at="2026-01-02"), placed(yen, "JPY", at="2026-01-01")))
    count(engine, deliver(confirmed(a), cancelled(b)))
    count(engine, deliver(cancelled(a)))
    assert days(engine) == {
        ("2026-01-01", "EUR", "cancelled"): 1,
        ("2026-01-02", "EUR", "cancelled"): 1,
        ("2026-01-01", "JPY", "placed"): 1,
    }


def test_an_order_whose_placing_comes_late_is_counted_on_its_day_in_the_state_it_has_by_then(engine: Engine) -> None:
    """As when it was parked and redriven: in batches of its own, or all in one."""
    late, together = order_id(), order_id()
    count(engine, deliver(confirmed(late)))
    assert days(engine) == {}
    count(engine, deliver(placed(late)))
    count(engine, deliver(confirmed(together), placed(together)))
    assert days(engine) == {("2026-01-01", "EUR", "confirmed"): 2}
    assert states(engine) == {"confirmed": 2}


def test_what_was_ordered_is_added_up_by_article_and_currency(engine: Engine) -> None:
    """An article that stands in two lines of an order counts that order once."""
    mug = OrderLine(sku="mug", quantity=2, unit_price_minor=50)
    cup = OrderLine(sku="cup", quantity=1, unit_price_minor=7)
    first, second, yen = order_id(), order_id(), order_id()
    batch = deliver(
        placed(first, "EUR", 207, mug, mug, cup), placed(second, "EUR", 100, mug), placed(yen, "JPY", 7, cup)
    )
    count(engine, [*batch, *batch])
    client = create_app(engine).test_client()
    assert client.get("/top-skus?currency=EUR&by=quantity").json == {
        "currency": "EUR",
        "by": "quantity",
        "skus": [
            {"sku": "mug", "orders": 2, "quantity": 6, "amount_minor": 300},
            {"sku": "cup", "orders": 1, "quantity": 1, "amount_minor": 7},
        ],
    }
    top = client.get("/top-skus?currency=JPY&by=amount_minor&limit=1").json
    assert top["skus"] == [{"sku": "cup", "orders": 1, "quantity": 1, "amount_minor": 7}]
    for wrong in ("", "?currency=euro", "?currency=EUR&by=colour", "?currency=EUR&limit=101", "?currency=EUR&limit=x"):
        assert client.get(f"/top-skus{wrong}").status_code == 400


def test_a_declined_payment_is_counted_by_the_orders_own_event(engine: Engine) -> None:
    """PaymentDeclined says the same earlier; counting both would count the order twice."""
    order = order_id()
    count(engine, deliver(placed(order), declined(order)))
    assert states(engine) == {"placed": 1}


def test_the_same_batch_again_changes_nothing(engine: Engine) -> None:
    """The inbox lets nothing through twice, in the next batch or in the same one."""
    order = order_id()
    batch = deliver(placed(order), invoiced(order), confirmed(order))
    count(engine, [*batch, *batch])
    before = (revenue(engine), states(engine))
    count(engine, batch)
    assert (revenue(engine), states(engine)) == before == ({("2026-01-31", "EUR"): (1, 500, 0)}, {"confirmed": 1})


def test_without_the_inbox_sums_double(engine: Engine) -> None:
    """A sum has no second guard, not even a UNIQUE that would complain."""
    batch = deliver(invoiced(order_id()))
    count(engine, batch, NoInbox())
    count(engine, batch, NoInbox())
    assert revenue(engine) == {("2026-01-31", "EUR"): (2, 1000, 0)}


def test_two_members_with_crossing_keys_wait_and_never_deadlock(engine: Engine) -> None:
    """Their batches touch the same days and currencies, in opposite orders."""
    keys = [(f"2026-01-{day:02d}", currency) for day in range(1, 29) for currency in CURRENCIES]

    def member(step: int) -> None:
        for _ in range(6):
            count(engine, deliver(*[invoiced(order_id(), currency, at=day) for day, currency in keys[::step]]))

    with ThreadPoolExecutor(2) as members:
        list(members.map(member, (1, -1)))
    assert revenue(engine) == dict.fromkeys(keys, (12, 6_000, 0))


def test_a_document_without_a_readable_date_is_a_permanent_error(engine: Engine) -> None:
    """Nobody can say which day it belongs to, today or later."""
    with pytest.raises(PermanentError, match="RFC 3339"):
        count(engine, deliver(invoiced(order_id(), at="yesTerday")))
    assert rows(engine, "SELECT * FROM inbox") == []


def test_the_figures_can_be_read_over_http(engine: Engine) -> None:
    """Amounts in minor units, days as dates; one day alone when asked for."""
    order = order_id()
    count(engine, deliver(placed(order), invoiced(order), credited(order, at="2026-02-01")))
    client = create_app(engine).test_client()
    assert client.get("/orders-by-state").json == {"orders_by_state": {"placed": 1}}
    placed_then = [{"day": "2026-01-01", "currency": "EUR", "state": "placed", "orders": 1}]
    assert client.get("/orders-by-day").json == {"orders_by_day": placed_then}
    assert client.get("/orders-by-day?day=2026-01-02").json == {"orders_by_day": []}
    january = {"day": "2026-01-31", "currency": "EUR", "invoices": 1, "amount_minor": 500, "credited_minor": 0}
    february = {"day": "2026-02-01", "currency": "EUR", "invoices": 0, "amount_minor": 0, "credited_minor": 500}
    assert client.get("/revenue").json == {"revenue": [january, february]}
    assert client.get("/revenue?day=2026-02-01").json == {"revenue": [february]}
    assert client.get("/readyz").status_code == 200
    refused = client.get("/revenue?day=tomorrow")
    assert (refused.status_code, refused.content_type) == (400, "application/problem+json")


def test_the_consumers_role_may_do_all_this(engine: Engine, stack: LocalStack) -> None:
    """The process runs with the rights of its role, and no table is forgotten in the list of rights."""
    with engine.begin() as connection:
        session = connection.connection.driver_connection
        assert isinstance(session, psycopg.Connection)
        ensure_roles(session, {role: stack.home.secret(role) for role in all_roles()})
        grant(session, "analytics")
        assert ungranted(session, "analytics") == []
    order = order_id()
    with transaction(engine) as connection:
        connection.execute(text("SET LOCAL ROLE analytics_consumer"))
        batch = DatabaseInbox("analytics").new(connection, deliver(placed(order), invoiced(order)))
        count_orders.apply(connection, batch)
    assert states(engine) == {"placed": 1}
