"""The tables of the analytics database: a read model that can be thrown away and built again from the topics."""

from typing import Final

from sqlalchemy import BigInteger, Column, Date, Integer, MetaData, Table, Text, Uuid

from shared.inbox import inbox_table
from shared.inbox_parking import begun_table, inbox_parking_tables
from shared.retention import retention_table

metadata: Final = MetaData()


def _counter(name: str) -> Column[int]:
    return Column(name, BigInteger, nullable=False)


revenue: Final = Table(
    "revenue",
    metadata,
    Column("day", Date, primary_key=True),
    Column("currency", Text, primary_key=True),
    _counter("invoices"),
    _counter("amount_minor"),
    _counter("credited_minor"),
)

orders_by_state: Final = Table(
    "orders_by_state",
    metadata,
    Column("state", Text, primary_key=True),
    _counter("orders"),
)

orders_by_day: Final = Table(
    "orders_by_day",
    metadata,
    Column("day", Date, primary_key=True),
    Column("currency", Text, primary_key=True),
    Column("state", Text, primary_key=True),
    _counter("orders"),
)
"""By the day on which an order was placed, whatever became of it since."""

ordered_skus: Final = Table(
    "ordered_skus",
    metadata,
    Column("currency", Text, primary_key=True),
    Column("sku", Text, primary_key=True),
    _counter("orders"),
    _counter("quantity"),
    _counter("amount_minor"),
)
"""What was ordered, whether it was invoiced or not. Amounts of different currencies are never added."""

order_state: Final = Table(
    "order_state",
    metadata,
    Column("order_id", Uuid, primary_key=True),
    Column("state", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("day", Date),
    Column("currency", Text),
)
"""Where each order stands, to move it from one count to another; the version keeps it from moving back.

Day and currency are known once its OrderPlaced has been applied, and so is its place in the counts by day.
"""

inbox: Final = inbox_table(metadata)
inbox_parking: Final = inbox_parking_tables(metadata)
inbox_begun: Final = begun_table(metadata)

VERSION: Final = tuple(sorted(metadata.tables))
"""What a version of the read model consists of, and a rebuild makes anew."""

retention_table(metadata)
