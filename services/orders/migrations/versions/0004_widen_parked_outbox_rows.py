"""Let a parked outbox row be held, redriven and discarded, and let a position name the row that it suspects.

Existing parked rows get their aggregate from the outbox. Nothing is lost; the way back forgets what was discarded.
"""

from alembic import op

from shared.outbox_tables import NARROW_PARKED, WIDEN_PARKED

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for statement in WIDEN_PARKED:
        op.execute(statement)


def downgrade() -> None:
    for statement in NARROW_PARKED:
        op.execute(statement)
