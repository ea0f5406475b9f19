"""A gunicorn master that becomes the release that is on the disk now, and never lets go of its port.

On SIGHUP it lets its workers finish what they have in hand and then starts the same command line in the same process.

Invariant: from the signal to the first answer of the new code the port listens. Who connects meanwhile waits in the
kernel's queue instead of being refused. The process keeps its id, so whoever supervises it sees no end.

Gunicorn's own SIGHUP would fork new workers from modules that the master imported long ago, which is the old code; its
USR2 makes a second master, and a supervisor takes the end of the first for a crash.

Not promised: that a connection which a client keeps open without a request survives (it is closed, and the client asks
again under its Idempotency-Key), nor that the new code starts. If it does not, the process ends and its port with it.
"""

import os
import signal
import sys
import time

from gunicorn.arbiter import Arbiter  # type: ignore[import-untyped]
from gunicorn.systemd import SD_LISTEN_FDS_START  # type: ignore[import-untyped]

_LOOK_SECONDS = 0.02


class RenewableArbiter(Arbiter):  # type: ignore[misc]  # gunicorn has no types
    def handle_hup(self) -> None:
        self.log.info("Beginning anew from the code that is here now; the port stays open")
        self._let_workers_finish()
        (listener,) = self.LISTENERS
        _begin_anew(listener.sock.fileno())

    def _let_workers_finish(self) -> None:
        deadline = time.monotonic() + self.cfg.graceful_timeout
        self.kill_workers(signal.SIGTERM)
        while self.WORKERS and time.monotonic() < deadline:
            self.reap_workers()
            time.sleep(_LOOK_SECONDS)
        self.kill_workers(signal.SIGKILL)


def _begin_anew(listening: int) -> None:
    """Run this process's command line in its place, with the socket handed over as systemd would."""
    os.dup2(listening, SD_LISTEN_FDS_START)
    os.set_inheritable(SD_LISTEN_FDS_START, True)
    # Until the new code has a handler of its own, a second SIGHUP would end it.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    environment = {**os.environ, "LISTEN_FDS": "1", "LISTEN_PID": str(os.getpid())}
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)  # noqa: S606  # no shell, on purpose
