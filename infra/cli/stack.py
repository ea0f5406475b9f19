"""``once up``, ``roll``, ``down`` and ``reset``: the system's life on this machine."""

from gettext import gettext as _
from time import monotonic

import click
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from infra.cli.console import out, steps
from infra.local.deployment import Deployment
from infra.local.errors import StackError
from infra.local.profile import Profile
from infra.local.server import Report
from infra.local.stack import LocalStack
from infra.roll import roll as renew
from infra.stack import open_stack

_in_profile = click.option(
    "--profile",
    type=click.Choice([each.value for each in Profile]),
    help="How many of each server: `small` (one), or `cluster` (three brokers). Default: as this home was made.",
)


@click.command()
@click.option("--servers", is_flag=True, help="Only PostgreSQL, Kafka and Redis, as tests need them.")
@_in_profile
def up(servers: bool, profile: str | None) -> None:
    """Start everything that is not running, and wait until it works."""
    stack = open_stack()
    if profile:
        stack.choose(Profile(profile))
    begun = monotonic()
    with steps(_("Starting the system in {home}").format(home=stack.home.root)) as report:
        start(stack, report, servers_only=servers)
    out.print(Text(_("Up after {seconds:.1f} s.").format(seconds=monotonic() - begun), "bold green"))
    if not servers:
        show_addresses(stack)


@click.command()
def roll() -> None:
    """Upgrade what runs to the code that is here now: migrate, then renew one process after the other."""
    stack = open_stack()
    deployment = stack.deployment()
    if not deployment.is_up():
        raise StackError(_("Nothing runs here, so there is nothing to renew. `once up` starts the code that is here."))
    begun = monotonic()
    with steps(_("Renewing the system in {home}").format(home=stack.home.root)) as report:
        deployment.prepare(report)
        renew(deployment, report)
    out.print(Text(_("Renewed after {seconds:.1f} s.").format(seconds=monotonic() - begun), "bold green"))


@click.command()
@click.option("--delete-data", is_flag=True, help="Delete databases, topics, queues and logs, too.")
def down(delete_data: bool) -> None:
    """Stop everything, letting work in hand finish. Data stay."""
    stack = open_stack()
    if delete_data:
        with steps(_("Removing the system in {home}").format(home=stack.home.root)) as report:
            stack.destroy(report)
            for further in stack.all_further():
                further.destroy(report)
        return
    with steps(_("Stopping the system in {home}").format(home=stack.home.root)) as report:
        stop(stack, report)
        for further in stack.all_further():
            stop(further, report)
    out.print(Text(_("Down. Data stay: `once up` goes on with them, `once reset` starts afresh."), "bold green"))


@click.command()
@_in_profile
def reset(profile: str | None) -> None:
    """Delete all data and start again with an empty system."""
    stack = open_stack()
    begun = monotonic()
    with steps(_("Starting afresh in {home}").format(home=stack.home.root)) as report:
        stack.destroy(report)
        if profile:
            stack.choose(Profile(profile))
        start(stack, report)
    out.print(Text(_("Up and empty after {seconds:.1f} s.").format(seconds=monotonic() - begun), "bold green"))
    show_addresses(stack)


def start(stack: LocalStack, report: Report, *, servers_only: bool = False) -> Deployment:
    """Bring the servers and the main deployment up."""
    stack.servers_up(report)
    deployment = stack.deployment()
    if not servers_only:
        deployment.prepare(report)
        deployment.start(report)
    return deployment


def stop(stack: LocalStack, report: Report) -> None:
    for deployment in stack.deployments():
        if deployment.is_up():
            report(_("Stopping the processes of {namespace}").format(namespace=deployment.namespace))
        deployment.stop()
    stack.servers_down(report)


def show_addresses(stack: LocalStack) -> None:
    deployment, servers = stack.deployment(), stack.servers
    table = Table.grid(padding=(0, 3))
    table.add_row(_("place orders"), f"POST {deployment.url('orders-api')}/orders")
    table.add_row(_("invoices"), f"GET  {deployment.url('billing-api')}/summary")
    table.add_row(_("revenue"), f"GET  {deployment.url('analytics-api')}/revenue")
    table.add_row(_("servers"), f"PostgreSQL {servers.postgres}, Kafka {servers.kafka}, Redis {servers.redis}")
    out.print(Padding(table, (0, 2)))
    out.print(Text(_("Next: `once demo` · `once status` · `once down`"), "dim"))
