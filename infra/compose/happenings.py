"""What happened to a run's containers, noted while it happens: the engine itself remembers the last 256 events only."""

import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal

from infra.compose.engine import Engine, Events
from infra.local.restarts import Happening, History


class Follower:
    """A thread that takes notes from ``start`` to ``stop``; both may be repeated."""

    def __init__(self, engine: Engine, labels: Mapping[str, str], name_label: str) -> None:
        self._engine = engine
        self._labels = labels
        self._name_label = name_label
        self._events: Events | None = None
        self._thread: threading.Thread | None = None
        self._noted: list[Happening] = []
        self._pids: dict[str, int | None] = {}

    def start(self) -> None:
        if self._events is None:
            self._events = self._engine.events(self._labels, ("start", "die"))
            self._thread = threading.Thread(target=self._follow, args=(self._events,), name="happenings", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        if self._events is not None and self._thread is not None:
            self._events.close()
            self._thread.join(timeout=5)
            self._events = None

    def history(self) -> History:
        return History(tuple(self._noted))

    def _follow(self, events: Events) -> None:
        for event in events:
            self._noted.append(self._happening(event))

    def _happening(self, event: Mapping[str, Any]) -> Happening:
        attributes = event["Actor"]["Attributes"]
        name = attributes[self._name_label]
        at = datetime.fromtimestamp(event["timeNano"] / 1e9, UTC)
        if event["Action"] == "start":
            self._pids[name] = self._pid(event["Actor"]["ID"])
            return Happening(at, name, "started", self._pids[name])
        code = attributes.get("exitCode", "?")
        what: Literal["exited", "stopped"] = "stopped" if code in {"0", "143"} else "exited"
        return Happening(at, name, what, self._pids.get(name), f"exit status {code}")

    def _pid(self, identity: str) -> int | None:
        """Return the new main process's number; None when it has ended already."""
        found = self._engine.container(identity)
        return found["State"]["Pid"] or None if found else None
