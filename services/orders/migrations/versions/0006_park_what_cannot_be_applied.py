"""Make the inbox's parking lot, and the table that counts what makes the consumer fail."""

import sqlalchemy as sa
from alembic import op

from shared.inbox_parking import inbox_parking_tables

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for table in inbox_parking_tables(sa.MetaData()):
        table.create(op.get_bind())


def downgrade() -> None:
    op.drop_table("inbox_attempts")
    op.drop_table("inbox_parked")
