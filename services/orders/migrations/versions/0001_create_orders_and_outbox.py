"""Create orders and idempotency keys, and the outbox and inbox around them."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from shared.inbox import inbox_table
from shared.outbox_tables import FIRST_POSITIONS, outbox_table, relay_tables

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    _create_orders()
    _create_idempotency_key()
    _create_shared_tables()


def _create_orders() -> None:
    op.create_table(
        "orders",
        sa.Column("order_id", sa.Uuid, primary_key=True),
        sa.Column("customer_id", sa.Text, nullable=False),
        sa.Column("email", sa.Text, nullable=False),
        sa.Column("currency", sa.Text, nullable=False),
        sa.Column("amount_minor", sa.BigInteger, sa.CheckConstraint("amount_minor > 0"), nullable=False),
        sa.Column("lines", postgresql.JSONB, nullable=False),
        sa.Column(
            "state",
            sa.Text,
            sa.CheckConstraint("state IN ('placed', 'confirmed', 'declined', 'cancelled')"),
            nullable=False,
        ),
        sa.Column("version", sa.Integer, sa.CheckConstraint("version >= 1"), nullable=False),
        sa.Column("invoice_number", sa.Text),
        sa.Column("placed_at", sa.DateTime(timezone=True), nullable=False),
        _written_at("updated_at"),
    )


def _create_idempotency_key() -> None:
    op.create_table(
        "idempotency_key",
        sa.Column("customer_id", sa.Text, primary_key=True),
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("body_hash", sa.LargeBinary, nullable=False),
        sa.Column(
            "order_id",
            sa.Uuid,
            sa.ForeignKey("orders.order_id", deferrable=True, initially="DEFERRED"),
            nullable=False,
        ),
        _written_at("created_at"),
    )


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
    for table in ("idempotency_key", "orders"):
        op.drop_table(table)
