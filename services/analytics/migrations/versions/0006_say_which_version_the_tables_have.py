"""Write the version of its schema on the inbox, for consumers to look at. No row changes."""

from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("COMMENT ON TABLE inbox IS 'effectively-once inbox 1, for code from 1 on'")


def downgrade() -> None:
    op.execute("COMMENT ON TABLE inbox IS NULL")
