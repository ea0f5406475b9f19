"""``once engine``: what publishes events, and moving to something else while orders keep coming."""

from gettext import gettext as _
from time import monotonic
from typing import cast

import click
from rich.text import Text

from infra.cli.console import out, steps
from infra.engine import switch
from infra.local.errors import StackError
from infra.local.services import ENGINES, Engine
from infra.local.stack import LocalStack
from infra.stack import open_stack

EXPLAINED = {
    "polling": "relays look at the outbox all the time",
    "celery": "Celery's Beat wakes relays twice a second",
    "cdc": "Debezium reads events from the write-ahead log; relays carry commands",
}


@click.group()
def engine() -> None:
    """Show or change what publishes events."""


@engine.command()
def show() -> None:
    """Say which engine is in force."""
    inform(open_stack().deployment().engine)


@engine.command(name="switch")
@click.argument("wanted", type=click.Choice(ENGINES))
def switch_to(wanted: str) -> None:
    """Move to another engine. Nothing is lost, and orders may keep coming."""
    stack = open_stack()
    refuse_elsewhere(stack)
    begun, chosen = monotonic(), cast(Engine, wanted)
    with steps(_("Moving to the engine {engine}").format(engine=chosen)) as report:
        switch(stack.deployment(), chosen, report, bootstrap=stack.servers.kafka)
    out.print(Text(_("Moved after {seconds:.1f} s.").format(seconds=monotonic() - begun), "bold green"))
    inform(chosen)


def refuse_elsewhere(stack: LocalStack) -> None:
    if stack.environ.get("STACK") == "containers":
        raise StackError(
            _("In containers the engine is chosen by which services run. docs/engines.md has the commands.")
        )
    if not stack.deployment().is_up():
        raise StackError(_("The system is not running, and a switch needs it to. `once up` starts it."))


def inform(chosen: Engine) -> None:
    out.print(Text(f"{chosen}: ", "bold") + Text(EXPLAINED[chosen]))
