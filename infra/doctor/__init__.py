"""What keeps the system from running well on this machine, and the cure for each.

    finding      what a check says
    place        the folder that data go to: its disk, its file system, its path
    tools        what set-up should have brought
    machine      memory, open files
    ports        who holds a port that we need
    data         what earlier versions and killed processes left behind

A check looks and never changes anything. ``examine`` runs them all.
"""

from collections.abc import Callable, Iterable

from infra.doctor.data import check_data
from infra.doctor.finding import Finding, Level
from infra.doctor.machine import check_machine
from infra.doctor.place import check_place
from infra.doctor.ports import check_ports
from infra.doctor.tools import check_tools
from infra.local.stack import LocalStack

Check = Callable[[LocalStack], Iterable[Finding]]

CHECKS: tuple[Check, ...] = (check_tools, check_place, check_machine, check_ports, check_data)


def examine(stack: LocalStack) -> list[Finding]:
    return [finding for check in CHECKS for finding in check(stack)]


__all__ = ["CHECKS", "Finding", "Level", "examine"]
