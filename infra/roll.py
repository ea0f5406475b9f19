"""Renew every process of a deployment, one after the other, while orders keep coming.

The order is the rule of every upgrade: who reads comes before who writes, so that nobody meets an event from a release
that is newer than itself. Within that, a process is renewed when the one before works again and its group is whole, so
no partition waits for more than one of them.

Not promised: that the new code works. The first process that does not come back stops the roll, the others run on as
they are, and `once roll` goes on from the start.
"""

from collections.abc import Iterable
from gettext import gettext as _

from infra.local.deployment import Deployment
from infra.local.server import Report
from infra.local.services import Program


def roll(deployment: Deployment, report: Report) -> None:
    """Renew all that starts by itself. Raises NotReadyError naming the process that did not come back."""
    for program in in_order(program for program in deployment.programs.values() if program.autostart):
        report(_("Renewing {name}").format(name=program.name))
        deployment.renew_process(program.name)


def in_order(programs: Iterable[Program]) -> list[Program]:
    """Readers of events and commands first, then relays, then what people write to."""
    return sorted(programs, key=_turn)


def _turn(program: Program) -> int:
    if program.listens == "http":
        return 2
    return 1 if program.name.startswith("relay-") else 0
