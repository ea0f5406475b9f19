"""A gunicorn master that becomes the release that is on the disk now, and never lets go of its port.

On SIGHUP it starts the same command line in the same process. Its workers stay children of that process and go on
serving, until the first worker of the new code can serve; then they finish what they have in hand, and end.

Invariant: at every moment somebody accepts connections, so nobody is refused, and nobody waits for Python to start.
The process keeps its id, so whoever supervises it sees no end.

Gunicorn's own SIGHUP would fork new workers from modules that the master imported long ago, which is the old code; its
USR2 makes a second master, and a supervisor takes the end of the first for a crash.

Not promised: that a connection which a client keeps open without a request survives (it is closed, and the client asks
again under its Idempotency-Key), nor that the new code starts. If it does not, the process ends and its port with it.
Nor a second SIGHUP while the workers of before still finish: it ends them.
"""

import contextlib
import os
import signal
import sys
from collections.abc import Iterable
from typing import Any

from gunicorn.arbiter import Arbiter  # type: ignore[import-untyped]
from gunicorn.systemd import SD_LISTEN_FDS_START  # type: ignore[import-untyped]

_TIE, _PREDECESSORS = "RENEWAL_TIE", "RENEWAL_PREDECESSORS"


class RenewableArbiter(Arbiter):  # type: ignore[misc]  # gunicorn has no types
    def __init__(self, app: Any, tie: int) -> None:
        """Take the descriptor whose end ends the workers, which therefore has to outlive this program."""
        super().__init__(app)
        self._tie = tie
        self._predecessors = _inherited()

    def handle_hup(self) -> None:
        self.log.info("Beginning anew from the code that is here now; the workers of before serve until that can")
        (listener,) = self.LISTENERS
        _begin_anew(listener.sock.fileno(), self._tie, self.WORKERS)

    def handle_usr2(self) -> None:
        """A worker of ours can serve, see ``tell_master``: those of before finish what they have in hand, and end."""
        while self._predecessors:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._predecessors.pop(), signal.SIGTERM)

    def stop(self, graceful: bool = True) -> None:
        self.handle_usr2()
        super().stop(graceful)


def tell_master(worker: Any) -> None:
    """Tell the master that a worker has its application and can serve: gunicorn's hook ``post_worker_init``."""
    os.kill(worker.ppid, signal.SIGUSR2)


def _begin_anew(listening: int, tie: int, workers: Iterable[int]) -> None:
    """Run this process's command line in its place, with the socket handed over as systemd would."""
    tie = os.dup(tie)  # not where the socket is put
    os.set_inheritable(tie, True)
    os.dup2(listening, SD_LISTEN_FDS_START)
    os.set_inheritable(SD_LISTEN_FDS_START, True)
    # Until the new code has a handler of its own, a second SIGHUP would end it.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    handed_over = {
        "LISTEN_FDS": "1",
        "LISTEN_PID": str(os.getpid()),
        _TIE: str(tie),
        _PREDECESSORS: ",".join(map(str, workers)),
    }
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], {**os.environ, **handed_over})  # noqa: S606  # no shell, on purpose


def _inherited() -> list[int]:
    """Return the workers of the program that this process was before; none where it was not renewed."""
    tie, found = os.environ.pop(_TIE, ""), os.environ.pop(_PREDECESSORS, "")
    if tie:
        os.set_inheritable(int(tie), False)  # it ends with this program, and by then they are gone
    return [int(pid) for pid in found.split(",") if pid]
