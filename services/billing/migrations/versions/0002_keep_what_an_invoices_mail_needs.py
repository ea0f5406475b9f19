"""Keep with each invoice its lines, the event id of its mail, and whether that mail was settled.

Invoices that exist get both from their command in the outbox, and are then reminded of like new ones: the ledger of
mails suppresses what was sent. Where the command is gone, nobody can tell, and the invoice stays without an event id.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_FROM_OUTBOX = """
UPDATE invoice SET mail_event_id = command.event_id,
                   lines = coalesce(convert_from(command.payload, 'UTF8')::jsonb -> 'lines', '[]')
FROM outbox AS command
WHERE command.destination = 'command' AND command.aggregate_type = 'email'
  AND command.aggregate_id = invoice.order_id::text AND command.aggregate_version = 1
"""


def upgrade() -> None:
    now = sa.func.clock_timestamp()
    for column in (
        sa.Column("lines", JSONB, nullable=False, server_default="[]"),
        sa.Column("mail_event_id", sa.Uuid),
        sa.Column("mail_commanded_at", sa.DateTime(timezone=True), nullable=False, server_default=now),
        sa.Column("mail_reminders", sa.Integer, nullable=False, server_default="0"),
        sa.Column("mail_outcome", sa.Text, sa.CheckConstraint("mail_outcome IN ('sent', 'refused')")),
        sa.Column("mail_settled_at", sa.DateTime(timezone=True)),
    ):
        op.add_column("invoice", column)
    op.execute(_FROM_OUTBOX)
    op.create_index(
        "invoice_mail_open", "invoice", ["mail_commanded_at"], postgresql_where=sa.text("mail_outcome IS NULL")
    )
    op.create_index("invoice_mail_event_id", "invoice", ["mail_event_id"], unique=True)


def downgrade() -> None:
    for column in ("lines", "mail_event_id", "mail_commanded_at", "mail_reminders", "mail_outcome", "mail_settled_at"):
        op.drop_column("invoice", column)
