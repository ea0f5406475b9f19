"""Divide the inbox into daily partitions by the event's own time. Every row is kept; consumers wait while it copies."""

from alembic import op

from shared import inbox_partitions

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    inbox_partitions.divide(op.execute)


def downgrade() -> None:
    inbox_partitions.unite(op.execute)
