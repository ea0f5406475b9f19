"""Create the read model and the inbox in front of it."""

import sqlalchemy as sa
from alembic import op

from shared.inbox import inbox_table

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "revenue",
        sa.Column("day", sa.Date, primary_key=True),
        sa.Column("currency", sa.Text, primary_key=True),
        sa.Column("invoices", sa.BigInteger, nullable=False),
        sa.Column("amount_minor", sa.BigInteger, nullable=False),
        sa.Column("credited_minor", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "orders_by_state",
        sa.Column("state", sa.Text, primary_key=True),
        sa.Column("orders", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "order_state",
        sa.Column("order_id", sa.Uuid, primary_key=True),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
    )
    inbox_table(sa.MetaData()).create(op.get_bind())


def downgrade() -> None:
    for table in ("inbox", "order_state", "orders_by_state", "revenue"):
        op.drop_table(table)
