"""Which port each part listens on: unusual defaults, or the next free block, noted down at the first start.

Invariant: once noted, a part keeps its port, so that URLs stay what they were. A variable ``ONCE_PORT_<NAME>`` always
wins over the note. All ports lie below 32768, where operating systems do not hand them out to outgoing connections.

Not promised: that a free port stays free until its owner has bound it, for programs that make no claim; starting then
fails with the holder's name.
"""

import json
import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil

from infra.local.claims import claim
from infra.local.errors import PortTakenError, StackError

HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Range:
    """Where blocks may lie: ``first``, ``first + step``, ... below ``end``."""

    first: int
    step: int
    end: int

    def bases(self) -> Iterable[int]:
        return range(self.first, self.end - self.step + 1, self.step)


HOMES = Range(27400, 200, 32700)
"""Servers take the first ten of a block, the main deployment what follows from the tenth."""
RUNS = Range(20000, 40, 27400)
MAIN_OFFSET = 10


def variable(name: str) -> str:
    """Return the variable that overrides a port: ``orders-api`` → ``ONCE_PORT_ORDERS_API``."""
    return "ONCE_PORT_" + name.upper().replace("-", "_")


def overrides(names: Iterable[str], environ: Mapping[str, str]) -> dict[str, int]:
    """Read the ports that the environment dictates. Raises StackError for what is not a port."""
    chosen = {}
    for name in names:
        text = environ.get(variable(name))
        if text is None:
            continue
        if not text.isdecimal() or not 0 < int(text) < 65536:
            raise StackError(f"{variable(name)}={text!r} is not a port. Give a number from 1 to 65535.")
        chosen[name] = int(text)
    return chosen


def free_block(names: Iterable[str], within: Range, offset: int = 0) -> dict[str, int]:
    """Find the first block whose ports are all free and claimed by nobody; deal them out in the names' order."""
    wanted = list(names)
    for base in within.bases():
        ports = {name: base + offset + index for index, name in enumerate(wanted)}
        if all(is_free(port) for port in ports.values()) and claim(base + offset):
            return ports
    raise PortTakenError(
        f"No block of {len(wanted)} free ports was found from {within.first} to {within.end} on {HOST}. "
        "Stop what holds them (`once doctor` names it), or set the ONCE_PORT_... variables."
    )


def next_in_block(noted: Mapping[str, int], names: Iterable[str]) -> dict[str, int]:
    """Deal out the next ports of a block that was dealt out before."""
    return {name: max(noted.values()) + 1 + index for index, name in enumerate(names)}


def is_free(port: int) -> bool:
    """Tell whether we could listen there: nobody answers, and binding works."""
    with socket.socket() as probe:
        probe.settimeout(0.5)
        if probe.connect_ex((HOST, port)) == 0:
            return False
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def holder(port: int) -> str:
    """Name who listens on a port, as far as the operating system tells us."""
    try:
        for connection in psutil.net_connections("tcp"):
            if connection.status == psutil.CONN_LISTEN and connection.laddr[1:2] == (port,) and connection.pid:
                process = psutil.Process(connection.pid)
                return f"{process.name()} (pid {process.pid}, user {process.username()})"
    except psutil.Error:
        pass
    return "a process of another user (the system does not tell which; try `sudo ss -ltnp`)"


def read_note(path: Path) -> dict[str, int]:
    try:
        return {str(name): int(port) for name, port in json.loads(path.read_text(encoding="utf-8")).items()}
    except (FileNotFoundError, ValueError, TypeError, AttributeError):
        return {}  # none, or damaged: ports are dealt out again


def write_note(path: Path, ports: Mapping[str, int]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".new")
    draft.write_text(json.dumps(dict(ports), indent=2) + "\n", encoding="utf-8")
    draft.replace(path)
