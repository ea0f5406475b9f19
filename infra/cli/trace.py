"""``once trace ORDER``: one order's whole way, in time order."""

from gettext import gettext as _

import click
from rich.text import Text

from infra.cli.console import out, steps
from infra.stack import open_stack
from infra.trace.moment import Moment, Where
from infra.trace.order import Trace, check_id, find, find_last
from infra.trace.order import trace as follow

_COLOURS = {
    Where.ORDERS: "cyan",
    Where.RELAY: "blue",
    Where.LOG: "magenta",
    Where.BILLING: "green",
    Where.ANALYTICS: "yellow",
    Where.NOTIFICATIONS: "bright_cyan",
    Where.MAILBOX: "bright_green",
}


@click.command()
@click.argument("order")
def trace(order: str) -> None:
    """Show an order's whole way: outbox, log copies, deliveries, invoice, e-mail. ORDER is an id, or `last`."""
    stack = open_stack()
    if order != "last":
        check_id(order)
    with steps(_("Looking at databases, log and logs")) as report:
        stack.servers_up(report)
    if order == "last":
        deployment, order = find_last(stack.deployments())
    else:
        deployment = find(stack.deployments(), order)
    show(follow(deployment, stack.servers.kafka, order))


def show(trace: Trace) -> None:
    start = trace.moments[0].at
    heading = _("Order {order} in {namespace}, from {start:%Y-%m-%d %H:%M:%S} UTC on")
    out.print(
        Text(heading.format(order=trace.order_id, namespace=trace.namespace, start=start), "bold"), soft_wrap=True
    )
    if trace.trace_id:
        out.print(Text(_("Trace {trace_id}").format(trace_id=trace.trace_id), "dim"), soft_wrap=True)
    for moment in trace.moments:
        out.print(_line(moment, (moment.at - start).total_seconds()), soft_wrap=True)
    duplicates = sum(moment.duplicate for moment in trace.moments)
    out.print(Text(_("{count} surplus copies and deliveries changed nothing.").format(count=duplicates), "dim"))


def _line(moment: Moment, seconds: float) -> Text:
    style = "dim" if moment.duplicate else ""
    mark = "=" if moment.duplicate else " "
    return Text.assemble(
        (f"{seconds * 1000:>+10.1f} ms {mark} ", "dim"),
        (f"{moment.where:<14}", f"{_COLOURS.get(moment.where, '')} {style}".strip()),
        (moment.what, style),
    )
