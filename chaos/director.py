"""Performs the acts of a scenario while the customers order, and repairs everything afterwards.

Invariant: healing is done for every fault, injected or not, whatever happened before, and each is probed. A fault that
could not be injected leaves no hit, which the judge calls VACUOUS; it never ends the run early.
"""

import threading
from collections.abc import Callable
from dataclasses import replace
from gettext import gettext as _

from chaos.faults import Fault
from chaos.history import FaultPhase
from chaos.scenario import Scenario
from chaos.stage import Stage
from chaos.watcher import Watcher

PATIENCE_SECONDS = 120.0
A_LOOK_SECONDS = 0.9
"""Long enough for the spectators' counts to show what an act has done."""


class Director:
    """One performance. ``start`` begins watching the load; ``over`` is set after the last act."""

    def __init__(self, scenario: Scenario, stage: Stage, share_placed: Callable[[], float], watcher: Watcher) -> None:
        self._scenario = scenario
        self._stage = stage
        self._share_placed = share_placed
        self._watcher = watcher
        self._failures: list[str] = []
        self._thread = threading.Thread(target=self._perform, name="director", daemon=True)
        self.over = threading.Event()
        if not scenario.acts:
            self.over.set()

    def start(self) -> None:
        if self._scenario.acts:
            self._thread.start()

    def join(self) -> None:
        if self._thread.ident is not None:
            self._thread.join()

    def _perform(self) -> None:
        try:
            for number, act in enumerate(self._scenario.acts, start=1):
                if not self._stage.wait_until(lambda act=act: self._share_placed() >= act.at, PATIENCE_SECONDS):  # type: ignore[misc]
                    return
                if self._stage.abandoned.is_set():
                    return
                self._watcher.act_begins(number, act)
                for fault in act.faults:
                    self._inject(fault, replace(self._stage, act=act.title))
                self._stage.wait(A_LOOK_SECONDS)
                self._watcher.act_ends(number, act)
        finally:
            self.over.set()

    def _inject(self, fault: Fault, stage: Stage) -> None:
        if stage.abandoned.is_set():
            return
        try:
            fault.inject(stage)
        except Exception as error:  # noqa: BLE001 - a fault that fails must not keep the others from being healed
            self._failures.append(_("{name} could not be injected: {error!r}").format(name=fault.name, error=error))

    def heal(self) -> list[str]:
        """Undo every fault; return what could not be injected and what is still wrong. May be called again."""
        return self._failures + [problem for fault in self._scenario.faults for problem in self._heal(fault)]

    def _heal(self, fault: Fault) -> list[str]:
        try:
            fault.heal(self._stage)
            problem = fault.probe(self._stage)
        except Exception as error:  # noqa: BLE001 - the others have to be healed all the same
            problem = str(error)
        self._stage.record(fault.name, FaultPhase.PROBE, fault.name, detail=problem or "well")
        return [f"{fault.name}: {problem}"] if problem else []
