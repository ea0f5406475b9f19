"""How far the standby is behind its primary, and whether commits wait for it."""

from dataclasses import dataclass
from gettext import gettext as _

import psycopg

LAGS_BYTES = 16_000_000
"""One segment of the write-ahead log: more than what is on its way at any moment."""

_REPLICAS = """
SELECT application_name, state, sync_state IN ('sync', 'quorum'),
       greatest(pg_wal_lsn_diff(pg_current_wal_lsn(), flush_lsn), 0)::bigint,
       coalesce(extract(epoch FROM flush_lag), 0)::float
FROM pg_stat_replication WHERE application_name = ANY(%s)
"""


@dataclass(frozen=True, slots=True)
class Replica:
    """``behind_bytes``: of the log, not yet on its disk. ``awaited``: commits are answered once it has them."""

    state: str
    awaited: bool
    behind_bytes: int
    behind_seconds: float


@dataclass(frozen=True, slots=True)
class Replication:
    """Whom the primary feeds, by name, and whether it makes commits wait for somebody."""

    replicas: dict[str, Replica]
    demanded: bool


def replication(url: str, names: tuple[str, ...]) -> Replication:
    """Ask the primary."""
    with psycopg.connect(url, autocommit=True, connect_timeout=5) as connection:
        rows = connection.execute(_REPLICAS, [list(names)]).fetchall()
        (demanded,) = connection.execute("SELECT current_setting('synchronous_standby_names') <> ''").fetchone() or (
            False,
        )
    return Replication({name: Replica(*rest) for name, *rest in rows}, bool(demanded))


def complaints(found: Replication) -> list[str]:
    """Say what is wrong, in sentences with the cure."""
    if not found.replicas and found.demanded:
        return [
            _(
                "No standby follows, and commits wait for one: nothing is written. Start it (`once up`), make it anew "
                "(`once standby rebuild`), or go on with one copy (`once standby release`)."
            )
        ]
    if not found.replicas:
        return [
            _(
                "No standby follows: there is one copy of everything, and what it holds is lost with it. "
                "`once standby rebuild` makes another."
            )
        ]
    return [sentence for name, each in found.replicas.items() for sentence in _complaints(name, each)]


def _complaints(name: str, each: Replica) -> list[str]:
    said = []
    if each.state != "streaming" or each.behind_bytes > LAGS_BYTES:
        words = _("The standby {name} lags: it is {state}, {behind:.0f} MB behind.")
        said.append(words.format(name=name, state=each.state, behind=each.behind_bytes / 1e6))
    if not each.awaited:
        words = _(
            "Commits do not wait for the standby {name}: promoted, it may lack the last ones. `once standby demand` "
            "makes them wait."
        )
        said.append(words.format(name=name))
    return said
