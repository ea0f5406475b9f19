"""Count orders by day, currency and state, and what was ordered of each article.

The new tables begin empty: `once replay analytics --rebuild` fills them for what was before.
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("order_state", sa.Column("day", sa.Date))
    op.add_column("order_state", sa.Column("currency", sa.Text))
    op.create_table(
        "orders_by_day",
        sa.Column("day", sa.Date, primary_key=True),
        sa.Column("currency", sa.Text, primary_key=True),
        sa.Column("state", sa.Text, primary_key=True),
        sa.Column("orders", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "ordered_skus",
        sa.Column("currency", sa.Text, primary_key=True),
        sa.Column("sku", sa.Text, primary_key=True),
        sa.Column("orders", sa.BigInteger, nullable=False),
        sa.Column("quantity", sa.BigInteger, nullable=False),
        sa.Column("amount_minor", sa.BigInteger, nullable=False),
    )


def downgrade() -> None:
    op.drop_table("ordered_skus")
    op.drop_table("orders_by_day")
    op.drop_column("order_state", "currency")
    op.drop_column("order_state", "day")
