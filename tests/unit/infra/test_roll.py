"""The order of an upgrade."""

from infra.local.services import programs
from infra.roll import in_order


def test_readers_come_before_relays_and_those_before_what_people_write_to() -> None:
    """Whoever is renewed later never writes what an earlier one cannot read. Red in the table's own order."""
    names = [program.name for program in in_order(programs("main").values())]
    readers = ["orders-consumer-1", "billing-1", "billing-2", "analytics-1", "notifications-1"]
    relays = [name for name in names if name.startswith("relay-")]
    writers = ["orders-api", "billing-api", "analytics-api"]
    assert len(names) == len(programs("main"))
    assert max(map(names.index, readers)) < min(map(names.index, relays))
    assert max(map(names.index, relays)) < min(map(names.index, writers))
