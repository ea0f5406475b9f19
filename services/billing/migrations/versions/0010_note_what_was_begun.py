"""Note what stretch of the log a member has begun, so that a message which kills its process is found."""

import sqlalchemy as sa
from alembic import op

from shared.inbox_parking import begun_table

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    begun_table(sa.MetaData()).create(op.get_bind())
    op.execute("COMMENT ON TABLE inbox IS 'effectively-once inbox 2, for code from 1 on'")


def downgrade() -> None:
    op.drop_table("inbox_begun")
    op.execute("COMMENT ON TABLE inbox IS 'effectively-once inbox 1, for code from 1 on'")
