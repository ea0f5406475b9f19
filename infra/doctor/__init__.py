"""What keeps the system from running well on this machine, and the cure for each.

    finding      what a check says
    place        the folder that data go to: its disk, its file system, its path
    tools        what set-up should have brought
    machine      memory, open files
    ports        who holds a port that we need
    data         what earlier versions and killed processes left behind
    engine_in_force  whether what publishes events can do so
    copies       whether brokers, partitions and the standby of a cluster are all in step

A check looks and never changes anything. ``examine`` runs them all.
"""

from collections.abc import Callable, Iterable
from gettext import gettext as _

from infra.doctor.copies import check_copies
from infra.doctor.data import check_data
from infra.doctor.engine_in_force import check_engine_in_force
from infra.doctor.finding import Finding, Level
from infra.doctor.machine import check_machine
from infra.doctor.place import check_place
from infra.doctor.ports import check_ports
from infra.doctor.tools import check_tools
from infra.local.stack import LocalStack

Check = Callable[[LocalStack], Iterable[Finding]]

CHECKS: tuple[Check, ...] = (
    check_tools,
    check_place,
    check_machine,
    check_ports,
    check_data,
    check_engine_in_force,
    check_copies,
)


INSIDE: tuple[Check, ...] = (check_machine, check_copies)
"""What can be looked at from within a container; the rest is ``engine``'s, from outside."""


def examine(stack: LocalStack) -> list[Finding]:
    if stack.environ.get("STACK") == "containers":
        outside = Finding(
            Level.WARNING, "engine", _("Only part can be seen from within."), _("`STACK=compose once doctor`")
        )
        return [outside, *(finding for check in INSIDE for finding in check(stack))]
    return [finding for check in CHECKS for finding in check(stack)]


__all__ = ["CHECKS", "Finding", "Level", "examine"]
