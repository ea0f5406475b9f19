"""Tell a run in plain lines: for a log, a pipe, or a terminal that cannot be drawn on."""

import time

from rich.console import Console

from chaos.pulse import Pulse
from chaos.scenario import Act
from chaos.telling.counters import one_line, what_an_act_did
from chaos.watcher import Phase

EVERY_SECONDS = 3.0


class PlainTeller:
    """One line for each thing that happens, with the seconds since the beginning."""

    def __init__(self, console: Console, *, details: bool = False) -> None:
        self._console = console
        self._details = details
        self._begun = time.monotonic()
        self._told_at = 0.0
        self._pulse = Pulse()
        self._before = Pulse()

    def __enter__(self) -> "PlainTeller":
        return self

    def __exit__(self, *_error: object) -> None:
        pass

    def phase(self, phase: Phase) -> None:
        self._line(f"{phase.sentence} …")

    def act_begins(self, number: int, act: Act) -> None:
        self._before = self._pulse
        self._console.print()
        self._line(f"{number}. {act.title}")
        self._line(f"   {act.story}")

    def act_ends(self, number: int, act: Act) -> None:  # noqa: ARG002
        for sentence in what_an_act_did(self._before, self._pulse):
            self._line(f"   → {sentence}")

    def say(self, sentence: str) -> None:
        if self._details:
            self._line(f"   {sentence}")

    def pulse(self, pulse: Pulse) -> None:
        changed = pulse != self._pulse
        self._pulse = pulse
        if changed and time.monotonic() - self._told_at >= EVERY_SECONDS:
            self._told_at = time.monotonic()
            self._line(f"   {one_line(pulse)}")

    def _line(self, text: str) -> None:
        elapsed = time.monotonic() - self._begun
        self._console.print(f"{elapsed:6.1f} s  {text}".rstrip(), markup=False, highlight=False, soft_wrap=True)
