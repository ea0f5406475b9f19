"""What a Kafka Connect worker says of its connectors, over its HTTP API."""

import json
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_TIMEOUT_SECONDS = 5


@dataclass(frozen=True, slots=True)
class ConnectorState:
    """``error`` is the first line of what stopped it; empty while it runs."""

    name: str
    state: str
    error: str


def connectors(address: str) -> list[ConnectorState]:
    """Return the worker's connectors with the state of their tasks. Raises OSError when it does not answer."""
    with urllib.request.urlopen(f"http://{address}/connectors?expand=status", timeout=_TIMEOUT_SECONDS) as answer:
        found = json.loads(answer.read())
    return [read_state(each["status"]) for _name, each in sorted(found.items())]


def read_state(status: dict[str, Any]) -> ConnectorState:
    """Sum up Connect's status of one connector: the worst of it and of its task."""
    parts = [status["connector"], *status["tasks"]]
    failed = next((part for part in parts if part["state"] == "FAILED"), None)
    if failed is not None:
        return ConnectorState(status["name"], "FAILED", _cause(failed.get("trace", "")))
    waiting = next((part["state"] for part in parts if part["state"] != "RUNNING"), None)
    if not status["tasks"]:
        waiting = "UNASSIGNED"
    return ConnectorState(status["name"], waiting or "RUNNING", "")


def _cause(trace: str) -> str:
    """Return the last cause of a Java trace: the first line wraps it, the last one says it."""
    lines = list(_causes(trace))
    return lines[-1] if lines else "no reason given"


def _causes(trace: str) -> Iterator[str]:
    for number, line in enumerate(trace.splitlines()):
        text = line.strip()
        if number == 0 or text.startswith("Caused by: "):
            yield text.removeprefix("Caused by: ").rpartition("Exception: ")[2].rstrip(".")
