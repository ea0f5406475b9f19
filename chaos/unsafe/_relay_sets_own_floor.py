"""A relay that ends a pass taken over half-way with a floor of its own.

Guard removed: the stored ``target_floor``, which belongs to the pass's target. The finisher's own value of the sequence
is younger than that target.
Scenario: none; the hammer finds it (``python -m tests.hammer --wrong _relay_sets_own_floor``).
Would be red: S00 S05 L01 red: what was written between the target and the takeover is below the new
floor and in no list, so nobody looks there again. S06 holds.
"""

from dataclasses import replace

from chaos.unsafe import _relays
from services.relay.lanes import Held
from services.relay.position import Position
from services.relay.relay import Relay
from services.relay.session import Session


class OwnFloor(Relay):
    """Ends every pass at the highest id that this relay knows of."""

    def _advance(self, session: Session, held: Held, position: Position) -> tuple[Position, int]:
        moved, count = super()._advance(session, held, position)
        if moved.target is None:
            moved = replace(moved, floor_id=max(moved.floor_id, session.sequence_floor))
        return moved, count


if __name__ == "__main__":
    _relays.run(relay=OwnFloor)
