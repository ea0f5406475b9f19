"""What befalls a relay: it dies, hangs or loses its connection before or after any statement, and at any failpoint.

A death is an exception that nothing catches, thrown after the socket is shut: as with SIGKILL, no handler of the
relay runs and nothing is given back. A hang is longer than the lease, and the relay goes on without knowing of it.
"""

import os
import random
import socket
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NoReturn

import psycopg

from shared.failpoints import Failpoint


class RelayDiedError(BaseException):
    """Thrown through a relay's thread. Not an ``Exception``: no loop may catch it."""


@dataclass
class Fate:
    """How often, per statement or failpoint, and what has happened. One for each life of a relay.

    ``often`` multiplies all. ``mercy`` ends it, so that the rest can drain.
    """

    dice: random.Random
    tally: Counter[str]
    mercy: threading.Event
    often: float = 1.0
    deaths: float = 0.004
    losses: float = 0.004
    hangs: float = 0.001
    moods: float = 0.05
    hang_seconds: float = 1.5
    connection: psycopg.Connection[Any] | None = None

    def strike(self, where: str) -> None:
        """Draw what happens at this boundary: mostly nothing."""
        if self.mercy.is_set():
            return
        drawn = self.dice.random() / self.often
        if drawn < self.deaths:
            self.tally[f"relay died {where}"] += 1
            self.die()
        elif drawn < self.deaths + self.losses:
            self.tally[f"connection lost {where}"] += 1
            self._hang_up()
            raise psycopg.OperationalError(f"the connection was lost {where}")
        elif drawn < self.deaths + self.losses + self.hangs:
            self.tally[f"relay hung {where}"] += 1
            time.sleep(self.hang_seconds)

    def die(self) -> NoReturn:
        self._hang_up()
        raise RelayDiedError

    def _hang_up(self) -> None:
        """Cut the line below the connection: another thread of the relay may be in the middle of a statement."""
        if self.connection is not None and not self.connection.closed:
            with suppress(OSError), socket.socket(fileno=os.dup(self.connection.fileno())) as line:
                line.shutdown(socket.SHUT_RDWR)


class FatedConnection(psycopg.Connection[Any]):
    """A relay's connection, on which every statement may be the last, or may have been."""

    fate: Fate

    def execute(self, *statement: Any, **options: Any) -> psycopg.Cursor[Any]:
        self.fate.strike("before a statement")
        cursor = super().execute(*statement, **options)
        self.fate.strike("after a statement")
        return cursor


_own = threading.local()


def at_failpoint(_point: Failpoint) -> None:
    """The hook for ``failpoints.arm``: strikes the relay whose thread has reached the point."""
    fate: Fate | None = getattr(_own, "fate", None)
    if fate is not None:
        fate.strike("at a failpoint")


def accept(fate: Fate) -> None:
    """Make this the fate of the relay that the calling thread runs."""
    _own.fate = fate
