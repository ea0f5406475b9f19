"""A relay that settles without asking whether its lanes are still its own.

Guard removed: the epoch, the fencing token that every settle checks.
Scenario: none that is sure to hit the moment; the hammer does (``python -m tests.hammer --wrong
relay_settles_without_epoch``).
Expected: events that are settled and not in the log. A relay that slept past its lease writes its position over that of
lanes which meanwhile stand elsewhere: the new owner has joined others to them, which are not as far.
"""

from chaos.unsafe import _relays
from services.relay.relay import Relay, Session

_WRITE = """
UPDATE relay_position
SET done = %s::pg_snapshot, floor_id = %s, target = %s::pg_snapshot, target_floor = %s, after_id = %s
WHERE position_id = %s
"""


class SettlesWithoutEpoch(Relay):
    """Writes down where it is, whoever owns the row by now."""

    def _settle(self, session: Session) -> None:
        for held in session.held:
            at = held.position
            place = (at.done, at.floor_id, at.target, at.target_floor, at.after_id)
            session.database.execute(_WRITE, (*place, held.position_id))
        super()._settle(session)


if __name__ == "__main__":
    _relays.run(relay=SettlesWithoutEpoch)
