"""Apply a batch of events to the read model: revenue, orders by state and by day, and what was ordered.

Invariant: a sum has no second guard. Nothing in ``revenue`` can tell that an invoice was added twice, so that it was
added once rests on the inbox alone, whose rows are written in the same transaction.

Orders' and billing's topics are read side by side and in no order between them, so nothing here looks from one to the
other: revenue comes from billing's events only and only adds, an order's state from orders' events only and follows
their versions. A day is the UTC day of the document: a credit counts on the day of the credit note, an order on the day
on which it was placed.

Each table is written once a batch, by one statement, in the order of its keys, and the tables always in the same order:
two members wait for each other, they never deadlock.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Final, TypeVar
from uuid import UUID

from sqlalchemy import Connection

from shared.envelope import Envelope
from shared.errors import PermanentError
from shared.events import CreditNoteIssued, InvoiceIssued, OrderCancelled, OrderConfirmed, OrderPlaced, Payload
from shared.inbox import Delivery


@dataclass(slots=True)
class Revenue:
    """What a batch adds to one day and currency."""

    invoices: int = 0
    amount_minor: int = 0
    credited_minor: int = 0


@dataclass(frozen=True, slots=True)
class Standing:
    """Where an order stands after one of its events; day and currency only where its OrderPlaced was among them."""

    version: int
    state: str
    day: date | None = None
    currency: str | None = None


@dataclass(slots=True)
class Ordered:
    """What a batch adds to one article in one currency."""

    orders: int = 0
    quantity: int = 0
    amount_minor: int = 0


DayCount = tuple[date, str, str]
"""Day, currency and state."""


@dataclass(frozen=True, slots=True)
class Moves:
    """By how much counts change."""

    by_state: Mapping[str, int]
    by_day: Mapping[DayCount, int]


def apply(connection: Connection, batch: Sequence[Delivery]) -> None:
    """Add new deliveries to the read model. Writes through the caller's connection; never commits."""
    revenue: dict[tuple[date, str], Revenue] = {}
    standings: dict[str, Standing] = {}
    ordered: dict[tuple[str, str], Ordered] = {}
    for delivery in batch:
        payload = delivery.payload
        if isinstance(payload, InvoiceIssued | CreditNoteIssued):
            _add_revenue(revenue, payload)
        else:
            _move(standings, delivery.envelope, payload)
            if isinstance(payload, OrderPlaced):
                _add_lines(ordered, payload)
    moves = _write_standings(connection, standings)
    # The hot rows, which every member wants, come last.
    _write_revenue(connection, revenue)
    _write_counts(connection, moves.by_state)
    _write_days(connection, moves.by_day)
    _write_ordered(connection, ordered)


def read(delivery: Delivery) -> None:
    """Find out, from the delivery alone, whether it can be counted. Raises PermanentError if it never can."""
    payload = delivery.payload
    if isinstance(payload, InvoiceIssued | CreditNoteIssued):
        _day(payload.issued_at)
    elif state_after(payload):
        _check_order_id(delivery.aggregate_id)
        _placed(payload)


def _check_order_id(aggregate_id: str) -> None:
    try:
        UUID(aggregate_id)
    except ValueError as error:
        raise PermanentError(f"the order id {aggregate_id!r} is not a UUID, so its state cannot be kept") from error


def _add_revenue(revenue: dict[tuple[date, str], Revenue], payload: InvoiceIssued | CreditNoteIssued) -> None:
    entry = revenue.setdefault((_day(payload.issued_at), payload.currency), Revenue())
    if isinstance(payload, InvoiceIssued):
        entry.invoices += 1
        entry.amount_minor += payload.amount_minor
    else:
        entry.credited_minor += payload.amount_minor


def _day(timestamp: str) -> date:
    try:
        return datetime.fromisoformat(timestamp).astimezone(UTC).date()
    except (ValueError, OverflowError) as error:
        raise PermanentError(f"the time {timestamp!r} is not RFC 3339, so its day is not known") from error


def _move(standings: dict[str, Standing], envelope: Envelope, payload: Payload) -> None:
    state = state_after(payload)
    known = standings.get(envelope.aggregate_id)
    if state is None:
        return
    new = Standing(envelope.aggregate_version, state, *_placed(payload))
    if known is not None:
        latest = new if new.version > known.version else known
        new = replace(latest, day=known.day or new.day, currency=known.currency or new.currency)
    standings[envelope.aggregate_id] = new


def _placed(payload: Payload) -> tuple[date | None, str | None]:
    return (_day(payload.placed_at), payload.currency) if isinstance(payload, OrderPlaced) else (None, None)


def _add_lines(ordered: dict[tuple[str, str], Ordered], payload: OrderPlaced) -> None:
    for sku in {line.sku for line in payload.lines}:
        ordered.setdefault((payload.currency, sku), Ordered()).orders += 1
    for line in payload.lines:
        entry = ordered[payload.currency, line.sku]
        entry.quantity += line.quantity
        entry.amount_minor += line.quantity * line.unit_price_minor


def state_after(payload: Payload) -> str | None:
    """Return the state that an event puts its order in; None for events that are not about an order's state."""
    match payload:
        case OrderPlaced():
            return "placed"
        case OrderConfirmed():
            return "confirmed"
        case OrderCancelled(reason="payment_declined"):
            return "declined"
        case OrderCancelled():
            return "cancelled"
    return None


# The old state comes from the row that the statement itself has locked: a look before it would be a race. An event that
# comes after a later one of its order (redriven by hand) moves nothing; an OrderPlaced still says when and in what.
_WRITE_STANDINGS: Final = """
INSERT INTO order_state AS known (order_id, state, version, day, currency)
SELECT * FROM unnest(%(order_id)s::uuid[], %(state)s::text[], %(version)s::int[], %(day)s::date[], %(currency)s::text[])
  AS given (order_id) ORDER BY order_id
ON CONFLICT (order_id) DO UPDATE SET
  state = CASE WHEN known.version < excluded.version THEN excluded.state ELSE known.state END,
  version = greatest(known.version, excluded.version),
  day = coalesce(known.day, excluded.day), currency = coalesce(known.currency, excluded.currency)
  WHERE known.version < excluded.version OR (known.day IS NULL AND excluded.day IS NOT NULL)
RETURNING old.state AS before, old.day AS day_before, new.state AS after, new.day AS day, new.currency AS currency
"""


def _write_standings(connection: Connection, standings: Mapping[str, Standing]) -> Moves:
    """Move orders to their new states; return by how much counts change."""
    by_state: Counter[str] = Counter()
    by_day: Counter[DayCount] = Counter()
    if standings:
        parameters = {
            "order_id": list(standings),
            "state": [s.state for s in standings.values()],
            "version": [s.version for s in standings.values()],
            "day": [s.day for s in standings.values()],
            "currency": [s.currency for s in standings.values()],
        }
        for row in connection.exec_driver_sql(_WRITE_STANDINGS, parameters):
            by_state[row.after] += 1
            if row.before is not None:
                by_state[row.before] -= 1
            if row.day is not None:
                by_day[row.day, row.currency, row.after] += 1
            if row.day_before is not None:
                by_day[row.day_before, row.currency, row.before] -= 1
    return Moves(_changed(by_state), _changed(by_day))


Key = TypeVar("Key")


def _changed(counts: Mapping[Key, int]) -> Mapping[Key, int]:
    return {key: change for key, change in counts.items() if change}


_WRITE_REVENUE: Final = """
INSERT INTO revenue AS known (day, currency, invoices, amount_minor, credited_minor)
SELECT * FROM unnest(%(day)s::date[], %(currency)s::text[], %(invoices)s::bigint[], %(amount_minor)s::bigint[],
                     %(credited_minor)s::bigint[]) AS given (day, currency) ORDER BY day, currency
ON CONFLICT (day, currency) DO UPDATE SET invoices = known.invoices + excluded.invoices,
  amount_minor = known.amount_minor + excluded.amount_minor,
  credited_minor = known.credited_minor + excluded.credited_minor
"""


def _write_revenue(connection: Connection, revenue: Mapping[tuple[date, str], Revenue]) -> None:
    if not revenue:
        return
    connection.exec_driver_sql(
        _WRITE_REVENUE,
        {
            "day": [day for day, _ in revenue],
            "currency": [currency for _, currency in revenue],
            "invoices": [r.invoices for r in revenue.values()],
            "amount_minor": [r.amount_minor for r in revenue.values()],
            "credited_minor": [r.credited_minor for r in revenue.values()],
        },
    )


_WRITE_COUNTS: Final = """
INSERT INTO orders_by_state AS known (state, orders)
SELECT * FROM unnest(%(state)s::text[], %(change)s::bigint[]) AS given (state) ORDER BY state
ON CONFLICT (state) DO UPDATE SET orders = known.orders + excluded.orders
"""


def _write_counts(connection: Connection, moves: Mapping[str, int]) -> None:
    if moves:
        connection.exec_driver_sql(_WRITE_COUNTS, {"state": list(moves), "change": list(moves.values())})


_WRITE_DAYS: Final = """
INSERT INTO orders_by_day AS known (day, currency, state, orders)
SELECT * FROM unnest(%(day)s::date[], %(currency)s::text[], %(state)s::text[], %(change)s::bigint[])
  AS given (day, currency, state) ORDER BY day, currency, state
ON CONFLICT (day, currency, state) DO UPDATE SET orders = known.orders + excluded.orders
"""


def _write_days(connection: Connection, moves: Mapping[DayCount, int]) -> None:
    if moves:
        parameters = {
            "day": [day for day, _currency, _state in moves],
            "currency": [currency for _day, currency, _state in moves],
            "state": [state for _day, _currency, state in moves],
            "change": list(moves.values()),
        }
        connection.exec_driver_sql(_WRITE_DAYS, parameters)


_WRITE_ORDERED: Final = """
INSERT INTO ordered_skus AS known (currency, sku, orders, quantity, amount_minor)
SELECT * FROM unnest(%(currency)s::text[], %(sku)s::text[], %(orders)s::bigint[], %(quantity)s::bigint[],
                     %(amount_minor)s::bigint[]) AS given (currency, sku) ORDER BY currency, sku
ON CONFLICT (currency, sku) DO UPDATE SET orders = known.orders + excluded.orders,
  quantity = known.quantity + excluded.quantity, amount_minor = known.amount_minor + excluded.amount_minor
"""


def _write_ordered(connection: Connection, ordered: Mapping[tuple[str, str], Ordered]) -> None:
    if ordered:
        parameters = {
            "currency": [currency for currency, _sku in ordered],
            "sku": [sku for _currency, sku in ordered],
            "orders": [each.orders for each in ordered.values()],
            "quantity": [each.quantity for each in ordered.values()],
            "amount_minor": [each.amount_minor for each in ordered.values()],
        }
        connection.exec_driver_sql(_WRITE_ORDERED, parameters)
