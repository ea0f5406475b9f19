"""Note what retention did, and bound what it deletes at once of the inbox's rows without a day of their own."""

import sqlalchemy as sa
from alembic import op

from shared.inbox_partitions import FUNCTIONS
from shared.retention import BOUNDED_DROP, retention_table

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    retention_table(sa.MetaData()).create(op.get_bind())
    for statement in BOUNDED_DROP:
        op.execute(statement)


def downgrade() -> None:
    (unbounded,) = (each for each in FUNCTIONS if "FUNCTION inbox_drop_days" in each and "CREATE" in each)
    op.execute(unbounded.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION"))
    op.drop_table("retention_run")
