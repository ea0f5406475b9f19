"""A relay that goes on with a fresh target when it takes over a pass half-way.

Guard removed: the stored target. ``after_id`` says "done up to here" of the snapshot that the pass began with only.
Scenario: none; the hammer finds it (``python -m tests.hammer --wrong _relay_takes_fresh_target``).
Would be red: S00 S05 L01 red: what committed between the two snapshots with a low id is visible in the
fresh target and lies behind ``after_id``, so it counts as done. S06 holds.
"""

from dataclasses import replace

from chaos.unsafe import _relays
from services.relay.position import current_snapshot
from services.relay.relay import Relay
from services.relay.session import Session


class FreshTarget(Relay):
    """Keeps how far the dead one came, and looks again what there is to do."""

    def _renew(self, session: Session) -> None:
        before = {held.position_id for held in session.held}
        super()._renew(session)
        fresh = current_snapshot(session.database)
        for index, held in enumerate(session.held):
            if held.position_id not in before and held.position.target is not None:
                session.held[index] = held.at(replace(held.position, target=fresh))


if __name__ == "__main__":
    _relays.run(relay=FreshTarget)
