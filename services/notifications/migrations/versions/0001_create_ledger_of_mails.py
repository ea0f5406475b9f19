"""Create the ledger of e-mails."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "sent_email",
        sa.Column("event_id", sa.Uuid, primary_key=True),
        sa.Column("order_id", sa.Uuid, nullable=False),
        sa.Column("invoice_number", sa.Text, nullable=False),
        sa.Column("recipient", sa.Text, nullable=False),
        sa.Column("state", sa.Text, sa.CheckConstraint("state IN ('sending', 'sent', 'refused')"), nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("first_tried_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=False),
        sa.Column("sent_at", sa.DateTime(timezone=True)),
        sa.Column("last_error", sa.Text),
    )


def downgrade() -> None:
    op.drop_table("sent_email")
