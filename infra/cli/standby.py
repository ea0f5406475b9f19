"""``once standby``: what an operator does with the second PostgreSQL server of the profile ``cluster``."""

from gettext import gettext as _

import click
from rich.text import Text

from infra.cli.console import out, steps
from infra.local import failover
from infra.local.errors import StackError
from infra.local.stack import LocalStack
from infra.stack import open_stack


@click.group()
def standby() -> None:
    """Promote the standby, make a new one, or go on without one."""


@standby.command()
def promote() -> None:
    """Make the standby the primary; the old primary is kept from coming back as one."""
    with steps(_("Promoting the standby")) as report:
        name = failover.promote(_stack(), report).name
    out.print(
        Text(
            _("{name} is the primary, and works alone: `once standby rebuild` gives it a copy.").format(name=name),
            "bold green",
        )
    )


@standby.command()
def rebuild() -> None:
    """Make the server that is not the primary a fresh copy, and let commits wait for it."""
    with steps(_("Copying the primary")) as report:
        name = failover.rebuild(_stack(), report).name
    out.print(Text(_("{name} follows, and commits wait for it.").format(name=name), "bold green"))


@standby.command()
def release() -> None:
    """Let commits be answered without a standby that is away: writes go on, with one copy of everything."""
    stack = _stack()
    failover.release_copies(failover.pair(stack)[0])
    out.print(Text(_("Commits wait for no copy now. `once standby demand` makes them wait again."), "bold yellow"))


@standby.command()
def demand() -> None:
    """Let commits wait for the standby again."""
    stack = _stack()
    failover.demand_copies(failover.pair(stack)[0])
    out.print(Text(_("Commits wait until the standby has them on disk."), "bold green"))


def _stack() -> LocalStack:
    stack = open_stack()
    if not stack.is_local:
        raise StackError(_("In containers a standby is promoted by hand: docs/cluster.md has the commands."))
    return stack
