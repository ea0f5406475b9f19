"""Apply a batch of events to the read model: revenue by day and currency, orders by state.

Invariant: a sum has no second guard. Nothing in ``revenue`` can tell that an invoice was added twice, so that it was
added once rests on the inbox alone, whose rows are written in the same transaction.

Orders' and billing's topics are read side by side and in no order between them, so nothing here looks from one to the
other: revenue comes from billing's events only and only adds, an order's state from orders' events only and follows
their versions. A day is the UTC day of the document: a credit counts on the day of the credit note.

Each table is written once a batch, by one statement, in the order of its keys, and the tables always in the same order:
two members wait for each other, they never deadlock.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Final
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
    """Where an order stands after one of its events."""

    version: int
    state: str


def apply(connection: Connection, batch: Sequence[Delivery]) -> None:
    """Add new deliveries to the read model. Writes through the caller's connection; never commits."""
    revenue: dict[tuple[date, str], Revenue] = {}
    standings: dict[str, Standing] = {}
    for delivery in batch:
        payload = delivery.payload
        if isinstance(payload, InvoiceIssued | CreditNoteIssued):
            _add_revenue(revenue, payload)
        else:
            _move(standings, delivery.envelope, payload)
    moves = _write_standings(connection, standings)
    # The hot rows, which every member wants, come last.
    _write_revenue(connection, revenue)
    _write_counts(connection, moves)


def read(delivery: Delivery) -> None:
    """Find out, from the delivery alone, whether it can be counted. Raises PermanentError if it never can."""
    payload = delivery.payload
    if isinstance(payload, InvoiceIssued | CreditNoteIssued):
        _day(payload.issued_at)
    elif state_after(payload):
        _check_order_id(delivery.aggregate_id)


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
    if state and (known is None or envelope.aggregate_version > known.version):
        standings[envelope.aggregate_id] = Standing(envelope.aggregate_version, state)


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
# comes after a later one of its order (redriven by hand) changes nothing.
_WRITE_STANDINGS: Final = """
INSERT INTO order_state AS known (order_id, state, version)
SELECT * FROM unnest(%(order_id)s::uuid[], %(state)s::text[], %(version)s::int[]) AS given (order_id) ORDER BY order_id
ON CONFLICT (order_id) DO UPDATE SET state = excluded.state, version = excluded.version
  WHERE known.version < excluded.version
RETURNING old.state AS before, new.state AS after
"""


def _write_standings(connection: Connection, standings: Mapping[str, Standing]) -> Mapping[str, int]:
    """Move orders to their new states; return by how much each state's count changes."""
    moves: Counter[str] = Counter()
    if standings:
        parameters = {
            "order_id": list(standings),
            "state": [s.state for s in standings.values()],
            "version": [s.version for s in standings.values()],
        }
        for row in connection.exec_driver_sql(_WRITE_STANDINGS, parameters):
            moves[row.after] += 1
            if row.before is not None:
                moves[row.before] -= 1
    return {state: change for state, change in moves.items() if change}


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
