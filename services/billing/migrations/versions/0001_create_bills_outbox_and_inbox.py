"""Create bills, payments, invoices, credit notes, number series, and the outbox and inbox around them."""

import sqlalchemy as sa
from alembic import op

from shared.inbox import inbox_table
from shared.outbox_tables import FIRST_POSITIONS, outbox_table, relay_tables

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "bill",
        sa.Column("order_id", sa.Uuid, primary_key=True),
        sa.Column("customer_id", sa.Text, nullable=False),
        sa.Column("email", sa.Text, nullable=False),
        sa.Column("currency", sa.Text, nullable=False),
        _amount(),
        sa.Column(
            "state",
            sa.Text,
            sa.CheckConstraint("state IN ('invoiced', 'declined', 'credited')"),
            nullable=False,
        ),
        sa.Column("version", sa.Integer, nullable=False),
    )
    op.create_table(
        "payment",
        sa.Column("payment_id", sa.Uuid, primary_key=True),
        sa.Column("order_id", sa.Uuid, nullable=False),
        sa.Column(
            "status",
            sa.Text,
            sa.CheckConstraint("status IN ('authorised', 'declined', 'refunded')"),
            nullable=False,
        ),
        sa.Column("currency", sa.Text, nullable=False),
        _amount(),
        _written_at("created_at"),
        sa.Index("payment_order_id", "order_id"),
    )
    op.create_table(
        "number_series",
        sa.Column("series", sa.Text, primary_key=True),
        sa.Column("year", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("next_sequence", sa.Integer, nullable=False),
        postgresql_with={"fillfactor": 50},
    )
    op.create_table(
        "invoice",
        *_numbered(),
        sa.Column("order_id", sa.Uuid, nullable=False, unique=True),
        sa.Column("currency", sa.Text, nullable=False),
        _amount(),
        sa.Column("issued_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("event_id", sa.Uuid, nullable=False),
        _written_at("applied_at"),
    )
    op.create_table(
        "credit_note",
        *_numbered(),
        sa.Column("order_id", sa.Uuid, nullable=False, unique=True),
        sa.Column("invoice_number", sa.Text, nullable=False),
        sa.Column("currency", sa.Text, nullable=False),
        _amount(),
        sa.Column("issued_at", sa.DateTime(timezone=True), nullable=False),
    )
    _create_shared_tables()


def _numbered() -> tuple[sa.Column[str] | sa.Column[int] | sa.UniqueConstraint, ...]:
    return (
        sa.Column("number", sa.Text, primary_key=True),
        sa.Column("series", sa.Text, nullable=False),
        sa.Column("year", sa.Integer, nullable=False),
        sa.Column("sequence", sa.Integer, nullable=False),
        sa.UniqueConstraint("series", "year", "sequence"),
    )


def _amount() -> sa.Column[int]:
    return sa.Column("amount_minor", sa.BigInteger, sa.CheckConstraint("amount_minor >= 0"), nullable=False)


def _written_at(name: str) -> sa.Column[object]:
    return sa.Column(name, sa.DateTime(timezone=True), nullable=False, server_default=sa.func.clock_timestamp())


def _create_shared_tables() -> None:
    metadata = sa.MetaData()
    outbox_table(metadata)
    relay_tables(metadata)
    inbox_table(metadata)
    metadata.create_all(op.get_bind())
    op.execute(FIRST_POSITIONS)


def downgrade() -> None:
    for table in ("inbox", "outbox_parked", "relay_member", "relay_lane", "relay_position", "outbox"):
        op.drop_table(table)
    for table in ("credit_note", "invoice", "number_series", "payment", "bill"):
        op.drop_table(table)
