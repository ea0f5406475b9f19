"""The tables of the billing database.

The aggregate is the *bill*; its id is its order's id, so that all that billing says of an order keeps its order. The
UNIQUEs on ``order_id`` are a second guard only: they turn a bug into an error, and what makes effects happen once is
the inbox. Constraints carry PostgreSQL's own names (``invoice_order_id_key``, ``bill_pkey``).
"""

from typing import Final

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    DateTime,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from services.billing.bill_states import BILL
from shared.cdc import cdc_tables
from shared.inbox import inbox_table
from shared.inbox_parking import begun_table, inbox_parking_tables
from shared.outbox_tables import outbox_table, relay_tables
from shared.retention import retention_table

metadata: Final = MetaData()


def _amount() -> Column[int]:
    return Column("amount_minor", BigInteger, CheckConstraint("amount_minor >= 0"), nullable=False)


bill: Final = Table(
    "bill",
    metadata,
    Column("order_id", Uuid, primary_key=True),
    Column("customer_id", Text, nullable=False),
    Column("email", Text, nullable=False),
    Column("currency", Text, nullable=False),
    _amount(),
    Column("state", Text, CheckConstraint(f"state IN {BILL.states}"), nullable=False),
    Column("version", Integer, nullable=False),
)

payment: Final = Table(
    "payment",
    metadata,
    Column("payment_id", Uuid, primary_key=True),
    Column("order_id", Uuid, nullable=False),
    Column(
        "status", Text, CheckConstraint("status IN ('authorised', 'declined', 'refunded')"),
        nullable=False,
    ),
    Column("currency", Text, nullable=False),
    _amount(),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.clock_timestamp()),
    Index("payment_order_id", "order_id"),
)  # fmt: skip

number_series: Final = Table(
    "number_series",
    metadata,
    Column("series", Text, primary_key=True),
    Column("year", Integer, primary_key=True, autoincrement=False),
    Column("next_sequence", Integer, nullable=False),
    # Every batch rewrites a row: room on the page keeps it heap-only.
    postgresql_with={"fillfactor": 50},
)

invoice: Final = Table(
    "invoice",
    metadata,
    Column("number", Text, primary_key=True),
    Column("series", Text, nullable=False),
    Column("year", Integer, nullable=False),
    Column("sequence", Integer, nullable=False),
    Column("order_id", Uuid, nullable=False, unique=True),
    Column("currency", Text, nullable=False),
    _amount(),
    Column("issued_at", DateTime(timezone=True), nullable=False),
    Column("event_id", Uuid, nullable=False),
    Column("applied_at", DateTime(timezone=True), nullable=False, server_default=func.clock_timestamp()),
    Column("lines", JSONB, nullable=False, server_default="[]"),
    # The mail that carries it. No event id: issued before this was kept, and its command is no longer in the outbox.
    Column("mail_event_id", Uuid),
    Column("mail_commanded_at", DateTime(timezone=True), nullable=False, server_default=func.clock_timestamp()),
    Column("mail_reminders", Integer, nullable=False, server_default="0"),
    Column("mail_outcome", Text, CheckConstraint("mail_outcome IN ('sent', 'refused')")),
    Column("mail_settled_at", DateTime(timezone=True)),
    UniqueConstraint("series", "year", "sequence"),
    # Only those are in it whose mail is still on its way, so it stays small however many invoices there are.
    Index("invoice_mail_open", "mail_commanded_at", postgresql_where=text("mail_outcome IS NULL")),
    Index("invoice_mail_event_id", "mail_event_id", unique=True),
)

credit_note: Final = Table(
    "credit_note",
    metadata,
    Column("number", Text, primary_key=True),
    Column("series", Text, nullable=False),
    Column("year", Integer, nullable=False),
    Column("sequence", Integer, nullable=False),
    Column("order_id", Uuid, nullable=False, unique=True),
    Column("invoice_number", Text, nullable=False),
    Column("currency", Text, nullable=False),
    _amount(),
    Column("issued_at", DateTime(timezone=True), nullable=False),
    UniqueConstraint("series", "year", "sequence"),
)

outbox: Final = outbox_table(metadata)
relay: Final = relay_tables(metadata)
cdc: Final = cdc_tables(metadata)
inbox: Final = inbox_table(metadata)
inbox_parking: Final = inbox_parking_tables(metadata)
inbox_begun: Final = begun_table(metadata)
retention_run: Final = retention_table(metadata)
