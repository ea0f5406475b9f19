"""The HTTP server: gunicorn with threads.

Invariant: the application, and with it every engine and client, is built in the worker, *after* the fork. A connection
or a producer that crosses a fork hangs or sends nothing. SIGTERM finishes the requests in hand and exits 0. SIGHUP
begins anew from the code on the disk while the workers of before serve (``renewal.py``). Killing the process ends its
workers too, and frees the port at once.
"""

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from wsgiref.types import WSGIApplication

from gunicorn.app.base import BaseApplication  # type: ignore[import-untyped]
from gunicorn.glogging import Logger  # type: ignore[import-untyped]
from prometheus_client.multiprocess import mark_process_dead

from shared import tracing
from shared.errors import ConfigurationError
from shared.http.endpoints import MULTIPROCESS_VARIABLE
from shared.http.renewal import RenewableArbiter, tell_master

THREADS = 16
"""Requests that one worker answers at the same time. An engine's pool that is smaller makes the rest wait."""
GRACEFUL_SECONDS = 10


def serve(app_factory: Callable[[], WSGIApplication], host: str, port: int, workers: int) -> None:
    """Serve until SIGTERM or SIGINT; never returns normally, but raises SystemExit.

    Raises ConfigurationError for several workers without a folder to add up their metrics in, since each scrape would
    then show whichever worker answered it.
    """
    folder = os.environ.get(MULTIPROCESS_VARIABLE)
    if workers > 1 and not folder:
        raise ConfigurationError(
            f"HTTP_WORKERS={workers} needs {MULTIPROCESS_VARIABLE}, a folder of this process alone, or /metrics would "
            "show one worker's share. Set it, or set HTTP_WORKERS=1."
        )
    if folder:
        _remove_metrics_of_earlier_processes(Path(folder))
    _Server(app_factory, host, port, workers).run()


def _remove_metrics_of_earlier_processes(folder: Path) -> None:
    # Files of this process are open already: metric objects are made when their modules are imported.
    for file in folder.glob("*.db"):
        if not file.stem.endswith(f"_{os.getpid()}"):
            file.unlink(missing_ok=True)


class _Log(Logger):  # type: ignore[misc]  # gunicorn has no types
    """Hand gunicorn's own lines to the process's log; requests are logged by the application."""

    def setup(self, _cfg: Any) -> None:
        self.error_log.propagate = True

    def access(self, *_: Any) -> None:
        pass


class _Server(BaseApplication):  # type: ignore[misc]  # gunicorn has no types
    def __init__(self, app_factory: Callable[[], WSGIApplication], host: str, port: int, workers: int) -> None:
        self._app_factory = app_factory
        end_with_master, self._tie = _end_with_master()
        self._options = {
            "bind": f"{host}:{port}",
            "workers": workers,
            "worker_class": "gthread",
            "threads": THREADS,
            "graceful_timeout": GRACEFUL_SECONDS,
            "logger_class": _Log,
            "control_socket_disable": True,
            "post_fork": end_with_master,
            "post_worker_init": tell_master,
            "child_exit": _forget_worker,
        }
        super().__init__()

    def run(self) -> None:
        RenewableArbiter(self, self._tie).run()

    def load_config(self) -> None:
        for name, value in self._options.items():
            self.cfg.set(name, value)

    def load(self) -> WSGIApplication:
        tracing.configure(os.environ.get("INSTANCE", "api"))  # in the worker: an exporter does not survive a fork
        return self._app_factory()


def _end_with_master() -> tuple[Callable[[Any, Any], None], int]:
    """Return the hook that ends a worker when its master dies, and the descriptor by which it knows.

    A worker whose master was killed would keep the port, and so keep the next master from starting, for as long as
    clients talk to it. Of this pipe the master alone holds the writing end, so its end can be read by every worker.
    """
    reading, writing = os.pipe()

    def wait_for_end() -> None:
        os.read(reading, 1)
        os._exit(1)

    def tie(_arbiter: Any, _worker: Any) -> None:
        os.close(writing)
        threading.Thread(target=wait_for_end, name="end-with-master", daemon=True).start()

    return tie, writing


def _forget_worker(_arbiter: Any, worker: Any) -> None:
    if MULTIPROCESS_VARIABLE in os.environ:
        mark_process_dead(worker.pid)  # type: ignore[no-untyped-call]
