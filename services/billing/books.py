"""Read billing's results: invoices, credit notes and what they add up to. Writes nothing."""

from collections.abc import Iterable
from typing import Any, Final
from uuid import UUID

from sqlalchemy import Connection, RowMapping, Select, func, select

from services.billing.tables import bill, credit_note, invoice, number_series, payment

Record = dict[str, Any]

_INVOICES: Final = select(
    invoice.c.number,
    invoice.c.order_id,
    invoice.c.currency,
    invoice.c.amount_minor,
    invoice.c.issued_at,
    bill.c.state,
).join_from(invoice, bill, bill.c.order_id == invoice.c.order_id)

_CREDIT_NOTES: Final = select(
    credit_note.c.number,
    credit_note.c.invoice_number,
    credit_note.c.order_id,
    credit_note.c.currency,
    credit_note.c.amount_minor,
    credit_note.c.issued_at,
)


def invoices_of(connection: Connection, order_id: UUID) -> list[Record]:
    return _records(connection, _INVOICES.where(invoice.c.order_id == order_id).order_by(invoice.c.number))


def invoice_by_number(connection: Connection, number: str) -> Record | None:
    return next(iter(_records(connection, _INVOICES.where(invoice.c.number == number))), None)


def credit_notes_of(connection: Connection, order_id: UUID) -> list[Record]:
    return _records(connection, _CREDIT_NOTES.where(credit_note.c.order_id == order_id).order_by(credit_note.c.number))


def summary(connection: Connection) -> Record:
    """Add up the books: per currency what was invoiced, credited and declined, and each series' last number."""
    return {
        "invoiced": _totals(connection, _total_of(invoice)),
        "credited": _totals(connection, _total_of(credit_note)),
        "declined": _totals(connection, _total_of(payment).where(payment.c.status == "declined")),
        "series": [
            {"series": row.series, "year": row.year, "numbers": row.next_sequence - 1}
            for row in connection.execute(select(number_series).order_by(number_series.c.series, number_series.c.year))
        ],
    }


def _total_of(table: Any) -> Select[Any]:
    total = func.sum(table.c.amount_minor).label("amount_minor")
    return select(table.c.currency, func.count().label("count"), total).group_by(table.c.currency)


def _totals(connection: Connection, statement: Select[Any]) -> list[Record]:
    rows = connection.execute(statement.order_by("currency"))
    return [{"currency": row.currency, "count": row.count, "amount_minor": int(row.amount_minor)} for row in rows]


def _records(connection: Connection, statement: Select[Any]) -> list[Record]:
    return [_record(row) for row in _mappings(connection, statement)]


def _mappings(connection: Connection, statement: Select[Any]) -> Iterable[RowMapping]:
    return connection.execute(statement).mappings()


def _record(row: RowMapping) -> Record:
    return {**row, "order_id": str(row["order_id"]), "issued_at": row["issued_at"].isoformat()}
