"""A relay that keeps in memory where it was when it loses its connection.

Guard removed: after every reconnect the positions are read from the table again.
Scenario: none, since every scenario runs with safe settings: it takes a crash of the server with
``synchronous_commit=off``. The hammer does that (``python -m tests.hammer --crashes --wrong _relay_keeps_positions``).
Expected: events lost. The transactions that the crash undid are forgotten by the server, which gives their ids to new
ones; the snapshots in memory take the new ones for done.
"""

from chaos.unsafe import _relays
from services.relay.relay import Relay
from services.relay.session import Session


class KeepsPositions(Relay):
    """Spares itself the reading after a reconnect: nobody has taken the lanes, the epochs still hold."""

    _remembered: Session | None = None

    def _open(self) -> Session:
        session, before = super()._open(), self._remembered
        if before is not None:
            session.hold(before.held)
            session.sequence_floor = before.sequence_floor
        self._remembered = session
        return session


if __name__ == "__main__":
    _relays.run(relay=KeepsPositions)
