"""Keep with each position the server's timeline, and per destination up to where the outbox has been purged.

A relay reports a promotion by the one; a rewind knows by the other which rows are no longer there. A database that is
made today has both from the first migration on.
"""

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_PURGED = """
CREATE TABLE IF NOT EXISTS outbox_purged (
  destination text PRIMARY KEY,
  up_to_id bigint NOT NULL,
  up_to_at timestamptz NOT NULL)
"""


def upgrade() -> None:
    op.execute("ALTER TABLE relay_position ADD COLUMN IF NOT EXISTS timeline integer")
    op.execute(_PURGED)


def downgrade() -> None:
    op.execute("DROP TABLE outbox_purged")
    op.execute("ALTER TABLE relay_position DROP COLUMN timeline")
