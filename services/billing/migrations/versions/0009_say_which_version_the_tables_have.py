"""Write the version of its schema on outbox and inbox, for relays and consumers to look at. No row changes."""

from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("COMMENT ON TABLE outbox IS 'effectively-once outbox 1, for code from 1 on'")
    op.execute("COMMENT ON TABLE inbox IS 'effectively-once inbox 1, for code from 1 on'")


def downgrade() -> None:
    op.execute("COMMENT ON TABLE outbox IS NULL")
    op.execute("COMMENT ON TABLE inbox IS NULL")
