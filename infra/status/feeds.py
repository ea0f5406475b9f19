"""How the engine ``cdc`` stands: what Connect says of each connector, and what the slot says of how far it came."""

from collections.abc import Iterator
from dataclasses import dataclass
from gettext import gettext as _

from infra.cdc import slot
from infra.cdc.connect import ConnectorState, connectors
from infra.cdc.slot import Standing
from infra.local.deployment import Deployment
from infra.local.services import OUTBOXES, connect

BEHIND_BYTES = 512 * 1024 * 1024
"""Half of what PostgreSQL keeps for a slot before it lets go of the log."""


@dataclass(frozen=True, slots=True)
class Feed:
    """One outbox under ``cdc``. ``standing`` is None without a slot."""

    state: str
    error: str
    standing: Standing | None


def feeds(deployment: Deployment) -> dict[str, Feed]:
    """Return the feed of each outbox, or nothing under another engine."""
    if deployment.engine != "cdc":
        return {}
    states = _states(deployment)
    found = {}
    for kind in OUTBOXES:
        state = states.get(kind, ConnectorState(kind, "AWAY", ""))
        standing = slot.standing(deployment.superuser_url(kind), deployment.slot(kind))
        found[kind] = Feed(state.state, state.error, standing)
    return found


def complaints(found: dict[str, Feed]) -> Iterator[str]:
    """Say what is wrong with feeds, and what to do."""
    for kind, feed in found.items():
        if feed.state == "FAILED":
            yield _(
                "Debezium's connector of {outbox} has stopped: {error}. Nothing is lost: `once engine switch polling` "
                "publishes from where it stood, and parks a row that the broker does not take."
            ).format(outbox=kind, error=feed.error)
        if feed.standing is None or feed.standing.wal_status == "lost":
            yield _(
                "The replication slot of {outbox} is gone, so Debezium cannot go on. The outbox still has every event: "
                "`once engine switch polling`, and then back to cdc."
            ).format(outbox=kind)
        elif feed.standing.behind_bytes > BEHIND_BYTES:
            yield _(
                "Debezium is {behind:.0f} MB of the log behind in {outbox}; at 1000 MB PostgreSQL lets go of it. "
                "Look at the log of the process connect."
            ).format(outbox=kind, behind=feed.standing.behind_bytes / 1e6)


def _states(deployment: Deployment) -> dict[str, ConnectorState]:
    try:
        address = f"{deployment.host(connect().name)}:{deployment.ports()[connect().name]}"
        return {each.name: each for each in connectors(address)}
    except OSError:
        return {}


def interrupted(deployment: Deployment) -> Iterator[str]:
    """Say that the engine in force and the owner of the events' positions do not agree."""
    held = [slot.is_held(deployment.superuser_url(kind)) for kind in OUTBOXES]
    if deployment.engine != "cdc" and any(held):
        yield _(
            "The positions of events belong to Debezium, and it is not the engine in force: a switch was interrupted. "
            "Nothing is published until you run `once engine switch {engine}` again."
        ).format(engine=deployment.engine)
    if deployment.engine == "cdc" and not all(held):
        yield _(
            "The engine is cdc, and the positions of events are nobody's: a rewind or rebase freed them, or a switch "
            "was interrupted. Run `once engine switch polling`, which goes on from there, and then cdc again."
        )
