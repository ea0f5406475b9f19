"""Change what publishes the events (polling relays, Celery's, Debezium) while orders keep coming.

Invariant: nothing is lost, because at every moment each event lies behind the position of its lane, or in the slot, or
in both. What lies in both is published twice, and consumers know it by its id.

To ``cdc``: the slot is made *first*, and only then do the relays publish all that is committed: what they miss, the
slot has. The connector begins beside the relays, which end when it has proved that it works; a connector that does not
start changes nothing. Per aggregate both publish in the order of versions, so first copies keep that order.

From ``cdc``: heartbeats have moved the position to what the broker acknowledged (``shared/cdc.py``). The connector
ends, the position is freed with a new epoch, relays go on from there, and the slot is dropped last. This needs no
connector that works: also a failed one, or a slot that was lost, is left this way.

Every step may be repeated, so a switch that was interrupted is ended by asking for it again.
"""

import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from gettext import gettext as _

from infra.cdc import slot
from infra.kafka.jars import fetch_connect
from infra.kafka.topics import ensure_topics
from infra.local.deployment import Deployment
from infra.local.errors import StackError
from infra.local.server import Report
from infra.local.services import OUTBOXES, Engine, Program, connect
from shared.errors import OnceError

Table = Callable[[Engine], Mapping[str, Program]]
"""Which processes run under an engine."""

PUBLISHED_WITHIN_SECONDS = 120.0
CONFIRMED_WITHIN_SECONDS = 60.0
LAST_HEARTBEAT_WITHIN_SECONDS = 10.0


def switch(
    deployment: Deployment,
    engine: Engine,
    report: Report,
    *,
    bootstrap: str,
    table: Table | None = None,
) -> None:
    """Move a running deployment to an engine. Raises OnceError, with everything as it was before, when it cannot."""
    table = table or deployment.table
    if engine == "cdc":
        _to_cdc(deployment, table, report, bootstrap)
    else:
        _to_relays(deployment, engine, table, report)


def _to_cdc(deployment: Deployment, table: Table, report: Report, bootstrap: str) -> None:
    _refuse_on_a_pair(deployment)
    urls = _urls(deployment)
    if deployment.engine == "cdc" and all(slot.is_held(url) for url in urls.values()):
        report(_("The engine cdc is in force already"))
        return
    _refuse_without_logical_log(urls)
    _refuse_with_parked_events(urls)
    fetch_connect(os.environ)
    ensure_topics(bootstrap, map(deployment.heartbeat_topic, OUTBOXES), partitions=1)
    with ExitStack() as undo:
        undo.callback(_put_back, deployment, dict(deployment.programs), urls, report)
        _start_beside_relays(deployment, urls, report)
        undo.pop_all()
    report(_("Stopping the relays of events"))
    deployment.change(table("cdc"), report)
    for url in urls.values():
        slot.hand_over(url)
    deployment.note_engine("cdc")


def _start_beside_relays(deployment: Deployment, urls: Mapping[str, str], report: Report) -> None:
    report(_("Making replication slots; open transactions are waited for"))
    written = {kind: slot.make(url, deployment.slot(kind)) for kind, url in urls.items()}
    report(_("Waiting until relays have published what was written before the slots"))
    for kind, snapshot in written.items():
        slot.wait_until_published(urls[kind], snapshot, PUBLISHED_WITHIN_SECONDS)
    report(_("Starting Debezium beside the relays"))
    deployment.change({**deployment.programs, connect().name: connect()}, report)
    report(_("Waiting until Debezium has confirmed a heartbeat of each outbox"))
    for kind, url in urls.items():
        slot.wait_until_confirmed(url, deployment.slot(kind), CONFIRMED_WITHIN_SECONDS)


def _put_back(deployment: Deployment, before: dict[str, Program], urls: Mapping[str, str], report: Report) -> None:
    """Leave things as they were: a slot that nobody reads would hold back the log."""
    report(_("That did not work: putting everything back"))
    deployment.change(before, report)
    _drop_slots(deployment, urls)


def _to_relays(deployment: Deployment, engine: Engine, table: Table, report: Report) -> None:
    urls = _urls(deployment)
    if any(slot.is_held(url) for url in urls.values()):
        _end_connector(deployment, urls, report)
    report(_("Starting the relays of the engine {engine}").format(engine=engine))
    deployment.note_engine(engine)
    deployment.change(table(engine), report)
    _drop_slots(deployment, urls)


def _end_connector(deployment: Deployment, urls: Mapping[str, str], report: Report) -> None:
    report(_("Waiting for a last heartbeat"))
    try:
        for kind, url in urls.items():
            slot.wait_until_confirmed(url, deployment.slot(kind), LAST_HEARTBEAT_WITHIN_SECONDS)
    except OnceError:
        report(_("Debezium does not confirm any more: what it last confirmed is where relays go on"))
    report(_("Stopping Debezium"))
    if any(each.name == connect().name for each in deployment.processes()):
        deployment.stop_process(connect().name)
    for url in urls.values():
        slot.take_back(url)


def _drop_slots(deployment: Deployment, urls: Mapping[str, str]) -> None:
    for kind, url in urls.items():
        slot.drop(url, deployment.slot(kind))


def _refuse_on_a_pair(deployment: Deployment) -> None:
    if deployment.has_standby:
        raise StackError(
            _(
                "The engine cdc is not had with a standby here: a promoted server has no slot, and what was between "
                "the two would be lost. Stay with relays, or use the profile small."
            )
        )


def _refuse_without_logical_log(urls: Mapping[str, str]) -> None:
    if any(slot.wal_level(url) != "logical" for url in urls.values()):
        raise StackError(
            _(
                "PostgreSQL runs with a wal_level from which changes cannot be read. It was started by an earlier "
                "version: `once down`, then `once up`, and try again."
            )
        )


def _refuse_with_parked_events(urls: Mapping[str, str]) -> None:
    kept = {kind: count for kind, url in urls.items() if (count := slot.kept_back(url))}
    if kept:
        raise StackError(
            _(
                "Events are parked, or held behind parked ones, in {outboxes}. Debezium knows of no parking and would "
                "send later events of the same aggregates: redrive or discard them first (`once parked ls`)."
            ).format(outboxes=", ".join(kept))
        )


def _urls(deployment: Deployment) -> dict[str, str]:
    return {kind: deployment.superuser_url(kind) for kind in OUTBOXES}
