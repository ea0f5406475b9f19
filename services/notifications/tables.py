"""The tables of the notifications database: the ledger of e-mails."""

from typing import Final

from sqlalchemy import CheckConstraint, Column, DateTime, Integer, MetaData, Table, Text, Uuid

metadata: Final = MetaData()

sent_email: Final = Table(
    "sent_email",
    metadata,
    Column("event_id", Uuid, primary_key=True),
    Column("order_id", Uuid, nullable=False),
    Column("invoice_number", Text, nullable=False),
    Column("recipient", Text, nullable=False),
    Column("state", Text, CheckConstraint("state IN ('sending', 'sent', 'refused')"), nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("first_tried_at", DateTime(timezone=True), nullable=False),
    Column("lease_until", DateTime(timezone=True), nullable=False),
    Column("sent_at", DateTime(timezone=True)),
    Column("last_error", Text),
)
