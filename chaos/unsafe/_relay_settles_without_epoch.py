"""A relay that settles what it holds in memory, whoever owns the position by now.

Guard removed: owner and epoch in the settle's condition.
Scenario: none; the hammer finds it (``python -m tests.hammer --wrong _relay_settles_without_epoch``).
Would be red: nothing, most of the time: a position that goes back costs duplicates. S05 and L01 once its row had been
joined with lanes that this relay never read, which takes a takeover, a merge and a relay that wakes up in this order.
"""

from typing import Final, LiteralString

from chaos.unsafe import _relays
from services.relay.caution import Caution
from services.relay.lanes import Held
from services.relay.position import Position
from services.relay.relay import Relay
from services.relay.session import Session

_SETTLE: Final[LiteralString] = """
UPDATE relay_position
SET done = %s::pg_snapshot, floor_id = %s, target = %s::pg_snapshot, target_floor = %s, after_id = %s
WHERE position_id = %s
"""


class NoEpoch(Session):
    def _write(self, held: Held, position: Position, _caution: Caution) -> bool:
        place = (position.done, position.floor_id, position.target, position.target_floor, position.after_id)
        return self.database.execute(_SETTLE, (*place, held.position_id)).rowcount == 1


class SettlesWithoutEpoch(Relay):
    session_type = NoEpoch


if __name__ == "__main__":
    _relays.run(relay=SettlesWithoutEpoch)
