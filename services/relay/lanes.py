"""Which relay works on which lanes: leases, fencing, takeover, and sharing between relays.

Every lane stands at one position, and lanes at the same place share one row, so that a settle writes one row. A relay
leases positions, with all lanes that stand at them. Taking one raises its epoch, the fencing token that every settle
checks: a relay that slept past its lease finds its epoch gone, and its settle changes nothing.

Invariant: a lane has exactly one position (primary key), a position at most one owner, and only the owner of an epoch
can move or split it.

Not promised: that nobody publishes after its lease. A process that is stopped and continued may still send what it had
in hand: a duplicate, which the consumers' inbox knows.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import inf
from typing import LiteralString

from services.relay.caution import CALM, Caution
from services.relay.position import Database, Position
from shared.outbox import LANES


@dataclass(frozen=True, slots=True)
class Held:
    """A leased position: its fencing token, its lanes, and where it stands in this process's memory."""

    position_id: int
    epoch: int
    lanes: tuple[int, ...]
    position: Position
    caution: Caution = CALM
    """As the table had it when the position was taken."""
    taken_from: str | None = None
    """The relay that did not give it back."""

    def at(self, position: Position) -> "Held":
        return replace(self, position=position)


_ALIVE: LiteralString = """
INSERT INTO relay_member (destination, name, alive_until)
VALUES (%(destination)s, %(name)s, clock_timestamp() + make_interval(secs => %(lease_seconds)s))
ON CONFLICT (destination, name) DO UPDATE SET alive_until = excluded.alive_until
"""

_LIVING: LiteralString = """
SELECT count(*) FROM relay_member WHERE destination = %(destination)s AND alive_until > clock_timestamp()
"""

_NEXT_END: LiteralString = """
SELECT extract(epoch FROM min(lease_until) - clock_timestamp())::float FROM relay_position
WHERE destination = %(destination)s AND owner <> %(name)s AND lease_until > clock_timestamp()
"""

_RENEW: LiteralString = """
UPDATE relay_position
SET lease_until = clock_timestamp() + make_interval(secs => %(lease_seconds)s)
FROM unnest(%(position_ids)s::bigint[], %(epochs)s::bigint[]) AS held (position_id, epoch)
WHERE relay_position.position_id = held.position_id AND relay_position.epoch = held.epoch AND owner = %(name)s
RETURNING relay_position.position_id
"""

# Whoever leaves cleanly gives its positions back; an owner that is still named has died on them.
# A relay that was restarted under its name takes back at once what still bears it; anything else has to be free.
_TAKE: LiteralString = """
WITH free AS (
  SELECT position_id, owner AS taken_from FROM relay_position
  WHERE destination = %(destination)s AND NOT position_id = ANY(%(held)s)
    AND (owner IS NULL OR lease_until < clock_timestamp() OR (%(restarted)s AND owner = %(name)s))
  ORDER BY position_id LIMIT 1 FOR UPDATE SKIP LOCKED)
UPDATE relay_position
SET owner = %(name)s, epoch = epoch + 1, lease_until = clock_timestamp() + make_interval(secs => %(lease_seconds)s),
    stalls = CASE WHEN owner IS NULL THEN stalls ELSE stalls + 1 END
FROM free WHERE relay_position.position_id = free.position_id
RETURNING taken_from, relay_position.position_id, epoch, stalls, suspect_id, suspect_tries,
          done::text, floor_id, target::text, target_floor, after_id
"""

_LANES_OF: LiteralString = "SELECT lane FROM relay_lane WHERE position_id = %(position_id)s ORDER BY lane"

_RELEASE: LiteralString = """
UPDATE relay_position SET owner = NULL, lease_until = NULL, epoch = relay_position.epoch + 1
FROM unnest(%(position_ids)s::bigint[], %(epochs)s::bigint[]) AS held (position_id, epoch)
WHERE relay_position.position_id = held.position_id AND relay_position.epoch = held.epoch AND owner = %(name)s
"""

# The new row is a copy of what the table says, made under the row's lock: nobody owns it until somebody takes it.
_SPLIT: LiteralString = """
WITH mine AS (
  SELECT * FROM relay_position
  WHERE position_id = %(position_id)s AND epoch = %(epoch)s AND owner = %(name)s FOR UPDATE),
copy AS (
  INSERT INTO relay_position (destination, system_identifier, stalls, suspect_id, suspect_tries,
                              done, floor_id, target, target_floor, after_id)
  SELECT destination, system_identifier, stalls, suspect_id, suspect_tries,
         done, floor_id, target, target_floor, after_id FROM mine
  RETURNING position_id)
UPDATE relay_lane SET position_id = copy.position_id FROM copy
WHERE relay_lane.position_id = %(position_id)s AND lane = ANY(%(lanes)s)
"""

# Only rows that stand at the very same place in the table are joined, whatever this process remembers.
_MERGE: LiteralString = """
WITH kept AS (
  SELECT * FROM relay_position
  WHERE position_id = %(kept)s AND epoch = %(kept_epoch)s AND owner = %(name)s FOR UPDATE),
joined AS (
  SELECT other.position_id FROM relay_position AS other JOIN kept
    ON (other.done::text, other.floor_id, other.after_id) = (kept.done::text, kept.floor_id, kept.after_id)
  WHERE other.position_id = %(joined)s AND other.epoch = %(joined_epoch)s AND other.owner = %(name)s
    AND other.target IS NULL AND kept.target IS NULL
  FOR UPDATE OF other)
UPDATE relay_lane SET position_id = kept.position_id FROM kept, joined
WHERE relay_lane.position_id = joined.position_id
"""

_DROP: LiteralString = "DELETE FROM relay_position WHERE position_id = %(position_id)s"

_FORGET: LiteralString = "DELETE FROM relay_member WHERE destination = %(destination)s AND name = %(name)s"


class Lanes:
    """The leases of one relay on one destination. Every method is one or a few statements in autocommit mode."""

    def __init__(self, database: Database, destination: str, name: str, lease_seconds: float) -> None:
        self._database = database
        self._who = {"destination": destination, "name": name, "lease_seconds": lease_seconds}
        self._restarted = True

    def show_alive(self) -> int:
        """Say that this relay lives, and return how many do. Always changes a row."""
        self._database.execute(_ALIVE, self._who)
        row = self._database.execute(_LIVING, self._who).fetchone()
        assert row is not None
        return int(str(row[0]))

    def next_end_seconds(self) -> float:
        """Return how soon another relay's lease ends if it is not renewed: a living one renews long before."""
        row = self._database.execute(_NEXT_END, self._who).fetchone()
        return float(str(row[0])) if row and row[0] is not None else inf

    def renew(self, held: Iterable[Held]) -> list[Held]:
        """Extend the leases; what is not returned belongs to somebody else now and must be dropped."""
        held = list(held)
        renewed = self._database.execute(_RENEW, self._who | _tokens(held))
        kept = {position_id for (position_id,) in renewed}
        return [each for each in held if each.position_id in kept]

    def take(self, held: Iterable[Held], share: int) -> list[Held]:
        """Take free positions until ``share`` lanes are held; returns only the new ones, as the table has them."""
        held = list(held)
        taken: list[Held] = []
        while sum(len(each.lanes) for each in held + taken) < share:
            one = self._take_one([each.position_id for each in held + taken])
            if one is None:
                break
            taken.append(one)
        self._restarted = False
        return taken

    def share_out(self, held: Iterable[Held], share: int) -> list[Held]:
        """Give away what is beyond ``share`` lanes. The caller has settled everything; returns what is still held."""
        kept: list[Held] = []
        room = share
        for each in held:
            if room <= 0:
                self.release([each])
                continue
            kept.append(each if len(each.lanes) <= room else self._split(each, room))
            room -= len(kept[-1].lanes)
        return kept

    def merge(self, held: Iterable[Held]) -> list[Held]:
        """Join positions that have come to stand at the same place. The caller has settled everything."""
        merged: list[Held] = []
        for each in held:
            twin = next((index for index, other in enumerate(merged) if other.position == each.position), None)
            if twin is not None and each.position.target is None and self._join(merged[twin], each):
                merged[twin] = replace(merged[twin], lanes=tuple(sorted(merged[twin].lanes + each.lanes)))
            else:
                merged.append(each)
        return merged

    def release(self, held: Iterable[Held]) -> None:
        """Give positions back, so that another relay need not wait for the lease to end."""
        self._database.execute(_RELEASE, self._who | _tokens(list(held)))

    def leave(self, held: Iterable[Held]) -> None:
        """Release everything and no longer count as a living relay."""
        self.release(held)
        self._database.execute(_FORGET, self._who)

    def _take_one(self, held_ids: list[int]) -> Held | None:
        with self._database.transaction():
            row = self._database.execute(_TAKE, self._who | {"held": held_ids, "restarted": self._restarted}).fetchone()
            if row is None:
                return None
            taken_from, position_id, epoch, stalls, suspect_id, suspect_tries, *position = row
            lanes = self._database.execute(_LANES_OF, {"position_id": position_id}).fetchall()
        return Held(
            int(str(position_id)),
            int(str(epoch)),
            tuple(int(str(lane)) for (lane,) in lanes),
            Position(*position),  # type: ignore[arg-type]  # the columns are Position's fields, in order
            Caution(stalls, suspect_id, suspect_tries),  # type: ignore[arg-type]  # likewise
            None if taken_from is None else str(taken_from),
        )

    def _split(self, held: Held, room: int) -> Held:
        keep, give = held.lanes[:room], held.lanes[room:]
        given = self._database.execute(_SPLIT, self._who | _token(held) | {"lanes": list(give)})
        return replace(held, lanes=keep) if given.rowcount else held

    def _join(self, kept: Held, joined: Held) -> bool:
        with self._database.transaction():
            moved = self._database.execute(
                _MERGE,
                self._who
                | {
                    "kept": kept.position_id,
                    "kept_epoch": kept.epoch,
                    "joined": joined.position_id,
                    "joined_epoch": joined.epoch,
                },
            )
            if moved.rowcount:
                self._database.execute(_DROP, {"position_id": joined.position_id})
        return moved.rowcount > 0


def fair_share(living: int) -> int:
    """Return how many lanes a relay may hold when so many live: all lanes are covered, and nobody has two too many."""
    return -(-LANES // max(1, living))


def _token(held: Held) -> dict[str, object]:
    return {"position_id": held.position_id, "epoch": held.epoch}


def _tokens(held: list[Held]) -> dict[str, object]:
    return {"position_ids": [each.position_id for each in held], "epochs": [each.epoch for each in held]}
