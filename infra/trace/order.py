"""Put an order's way together, in time order, with what became of every copy."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from gettext import gettext as _
from itertools import chain
from pathlib import Path
from uuid import UUID

from chaos import deliveries
from chaos.history import Delivery
from infra.local.deployment import Deployment
from infra.local.errors import StackError
from infra.trace import copies, mailbox, publications, rows
from infra.trace.copies import Copy
from infra.trace.moment import Moment, Where
from infra.trace.rows import InboxRow, OutboxRow

_GROUPS = {"orders": Where.ORDERS, "billing": Where.BILLING, "analytics": Where.ANALYTICS}


@dataclass(frozen=True, slots=True)
class Trace:
    order_id: str
    namespace: str
    moments: tuple[Moment, ...]
    trace_id: str | None
    """By which a collector of spans knows the request that placed the order."""


def check_id(order_id: str) -> None:
    """Raise StackError with what to try when this can be no order's id."""
    try:
        UUID(order_id)
    except ValueError as error:
        raise StackError(
            _(
                "{order} is no order id. It looks like 01a22a08-9346-71f2-976c-34f819da01da; POST /orders returns it."
            ).format(order=order_id)
        ) from error


def find(deployments: list[Deployment], order_id: str) -> Deployment:
    """Return the copy of the system that has the order. Raises StackError with what to try."""
    for deployment in deployments:
        if rows.knows(deployment.superuser_url("orders"), order_id):
            return deployment
    raise StackError(
        _(
            "No order {order} here, neither in the running system nor in the runs that were kept. "
            "The id stands in the answer to POST /orders; runs are removed when the next one begins."
        ).format(order=order_id)
    )


def find_last(deployments: list[Deployment]) -> tuple[Deployment, str]:
    """Return the newest order, first in the running system, then in kept runs. Raises StackError with what to try."""
    for deployment in deployments:
        order_id = rows.newest(deployment.superuser_url("orders"))
        if order_id is not None:
            return deployment, order_id
    raise StackError(_("There is no order yet. `once up`, then `once order`, places one."))


def trace(deployment: Deployment, kafka: str, order_id: str) -> Trace:
    """Gather the moments of one order from databases, log, logs and mailbox."""
    orders, billing = (deployment.superuser_url(kind) for kind in ("orders", "billing"))
    written = {Where.ORDERS: rows.outbox(orders, order_id), Where.BILLING: rows.outbox(billing, order_id)}
    applied = list(chain.from_iterable(rows.inbox(deployment.superuser_url(kind), order_id) for kind in _GROUPS))
    first = written[Where.ORDERS][0].occurred_at
    found = copies.find(kafka, deployment.topics.values(), order_id, first)
    moments = chain(
        _written(written),
        *(publications.of_rows(_logs(deployment, f"relay-{where}"), events) for where, events in written.items()),
        _logged(found),
        _received(deployment, found, applied, first),
        rows.documents(billing, order_id),
        rows.emails(deployment.superuser_url("notifications"), order_id),
        mailbox.arrivals(deployment.mail_journal, order_id),
    )
    return Trace(
        order_id,
        deployment.namespace,
        tuple(sorted(moments, key=lambda moment: moment.at)),
        _trace_id(written[Where.ORDERS][0].traceparent),
    )


def _trace_id(traceparent: str | None) -> str | None:
    return traceparent.split("-")[1] if traceparent else None


def _written(written: dict[Where, list[OutboxRow]]) -> Iterator[Moment]:
    for where, events in written.items():
        for row in events:
            sentence = _("{type} v{version} committed with its change (outbox row {id}, lane {lane})").format(
                type=row.type, version=row.aggregate_version, id=row.id, lane=row.lane
            )
            yield Moment(row.occurred_at, where, sentence)


def _logged(found: list[Copy]) -> Iterator[Moment]:
    seen: set[str] = set()
    for copy in found:
        sentence = _("{type} v{version} at {topic}[{partition}] offset {offset}").format(
            type=copy.type, version=copy.version, topic=copy.topic, partition=copy.partition, offset=copy.offset
        )
        again = copy.event_id in seen
        seen.add(copy.event_id)
        yield Moment(copy.at, Where.LOG, sentence + (_(", published once more") if again else ""), again)


def _received(deployment: Deployment, found: list[Copy], applied: list[InboxRow], first: datetime) -> Iterator[Moment]:
    """Say of every delivery who had it and what became of it, and of an effect that nobody lived to report as well."""
    effects = {(row.consumer, row.topic, row.partition, row.offset): row for row in applied}
    reported = set()
    logs = chain.from_iterable(_logs(deployment, group) for group in _GROUPS)
    for delivery in deliveries.read_all(logs, ""):
        if delivery.at < first:
            continue
        for copy in found:
            if _covers(delivery, copy):
                place = (delivery.group, copy.topic, copy.partition, copy.offset)
                reported.add(place)
                yield _fate(deployment, delivery, copy, effects.get(place))
    for place in effects.keys() - reported:
        row = effects[place]
        sentence = _("{event} applied by member {member}, generation {generation}, which died before it could say so")
        yield Moment(
            row.applied_at,
            _group(deployment, row.consumer),
            sentence.format(event=_event(found, row), member=row.member, generation=row.generation),
        )


def _fate(deployment: Deployment, delivery: Delivery, copy: Copy, effect: InboxRow | None) -> Moment:
    what = _("{instance} (generation {generation}) received {type} v{version} of offset {offset}").format(
        instance=delivery.instance,
        generation=delivery.generation,
        type=copy.type,
        version=copy.version,
        offset=copy.offset,
    )
    if delivery.duplicate:
        fate = _("known to the inbox, nothing changed")
        return Moment(delivery.at, _group(deployment, delivery.group), f"{what}: {fate}", duplicate=True)
    at = (
        effect.applied_at if effect is not None and abs((effect.applied_at - delivery.at).total_seconds()) < 5 else None
    )
    return Moment(at or delivery.at, _group(deployment, delivery.group), f"{what}: " + _("applied"))


def _covers(delivery: Delivery, copy: Copy) -> bool:
    last = delivery.last_offset if delivery.last_offset is not None else delivery.offset
    return (delivery.topic, delivery.partition) == (
        copy.topic,
        copy.partition,
    ) and delivery.offset <= copy.offset <= last


def _event(found: list[Copy], row: InboxRow) -> str:
    return next((f"{c.type} v{c.version}" for c in found if c.event_id == str(row.event_id)), str(row.event_id))


def _group(deployment: Deployment, name: str) -> Where:
    return next((_GROUPS[service] for service, group in deployment.groups.items() if group == name), Where.LOG)


def _logs(deployment: Deployment, prefix: str) -> list[Path]:
    return [deployment.log_file(name) for name in deployment.programs if name.startswith(prefix)]
