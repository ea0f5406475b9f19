"""How one process comes to run the code that is here now, while its work goes on.

A web server replaces itself behind its open port. A member of a consumer group is stopped and started, and its siblings
take over meanwhile; the only member of a group gets a sibling for that time.

Invariant: a partition waits for a handover and not for a process's start, which takes long on a busy machine. Not
promised: that the new code works; a process that does not come back ends the renewal with words.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from infra.local.services import Program

if TYPE_CHECKING:
    from infra.local.deployment import Deployment


def renew(deployment: "Deployment", name: str) -> None:
    """Renew a process and wait until it works. Raises NotReadyError."""
    program = deployment.programs[name]
    if program.listens == "http":
        deployment.begin_anew(name)
        deployment.start_process(name)
        deployment.wait_for(program)
    elif program.group and deployment.members(program.group) == 1:
        with _sibling(deployment, program):
            _restart(deployment, program, members=2)
    else:
        _restart(deployment, program)


def _restart(deployment: "Deployment", program: Program, members: int = 0) -> None:
    deployment.stop_process(program.name)
    deployment.start_process(program.name)
    deployment.wait_for(program, members)


@contextmanager
def _sibling(deployment: "Deployment", program: Program) -> Iterator[None]:
    """Have a second member of a group at work, of the new code, too: the spare that stands by, or one made for this."""
    before = deployment.programs
    sibling = replace(program, name=sibling_of(program.name), autostart=False)
    deployment.change({sibling.name: sibling, **before})
    try:
        deployment.start_process(sibling.name)
        deployment.wait_for(sibling, members=2)
        yield
    finally:
        deployment.stop_process(sibling.name)
        deployment.change(before)


def sibling_of(name: str) -> str:
    """Name the second member of a group by the first."""
    return f"{name.rpartition('-')[0]}-2"
