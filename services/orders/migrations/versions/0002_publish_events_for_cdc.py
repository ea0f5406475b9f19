"""Publish the outbox's events from the write-ahead log, for the engine ``cdc``. Changes nothing for the relay.

PostgreSQL warns when ``wal_level`` is not ``logical``; the publication is made all the same and works from then on.
"""

import sqlalchemy as sa
from alembic import op

from shared import cdc

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    metadata = sa.MetaData()
    cdc.cdc_tables(metadata)
    metadata.create_all(op.get_bind())
    op.execute(cdc.CREATE_HEARTBEAT)
    op.execute(cdc.CREATE_PUBLICATION)


def downgrade() -> None:
    for statement in cdc.DROP:
        op.execute(statement)
