"""Locust as the customers of a run: the load of ``loadtests/`` in a process of its own, over HTTP only."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from chaos.history import Operation, Result
from chaos.journal import Tail
from chaos.load import Tally
from chaos.scenario import Workload
from infra.local.home import PROJECT
from shared.errors import OnceError

LOCUSTFILE = PROJECT / "loadtests" / "locustfile.py"
LOOK_SECONDS = 0.3
FAILURES = 1
"""Locust's exit code when it worked and counted failed requests."""


class LoadFailedError(OnceError):
    """Locust did not do its work."""


class LocustCustomers:
    """One headless Locust. Its report goes to ``locust.txt`` beside the evidence."""

    def __init__(self, workload: Workload, seed: int, base_url: str, intents: Path) -> None:
        self.tally = Tally(workload.orders)
        self.report = intents.parent.parent / "locust.txt"
        self._tail = Tail(intents)
        self._abandoned = threading.Event()
        self._argv = [sys.executable, "-m", "locust", "--headless", "--only-summary", "-f", str(LOCUSTFILE)]
        self._argv += ["--host", base_url]
        self._environment = {
            **os.environ,
            "LOAD_RATE": f"{workload.rate_per_second:g}",
            "LOAD_SECONDS": f"{workload.seconds:g}",
            "LOAD_SEED": str(seed),
            "LOAD_JOURNAL": str(intents),
            "PYTHONPATH": str(PROJECT),
        }

    def run(self, still_needed: Callable[[], bool]) -> None:  # noqa: ARG002  # its length is set at its start
        """Block until Locust has ended. Raises LoadFailedError when it could not do its work.

        Answers that Locust counts as failures are in its report; whether anything came of them is for the judge.
        """
        with self.report.open("wb") as report:
            process = subprocess.Popen(
                self._argv, env=self._environment, stdout=report, stderr=subprocess.STDOUT, cwd=self.report.parent
            )
            try:
                while process.poll() is None and not self._abandoned.wait(LOOK_SECONDS):
                    self._look()
            finally:
                if process.poll() is None:
                    process.terminate()
                code = process.wait(timeout=30)
            self._look()
        if code not in (0, FAILURES) and not self._abandoned.is_set():
            raise LoadFailedError(
                f"Locust ended with exit code {code}: an answer was wrong or missing. See {self.report}."
            )

    def abandon(self) -> None:
        self._abandoned.set()

    def _look(self) -> None:
        for line in self._tail.lines():
            intent = json.loads(line)
            if intent["result"] != Result.OK:
                continue
            if intent["replayed"]:
                self.tally.replayed += 1
            elif intent["op"] == Operation.CANCEL:
                self.tally.cancelled += 1
            else:
                self.tally.placed += 1
                self.tally.first_order_id = self.tally.first_order_id or intent["order_id"]
