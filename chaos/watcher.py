"""Who watches a run: what a run tells while it goes on. Two real watchers exist: a live picture and plain lines."""

from collections.abc import Mapping
from enum import StrEnum
from gettext import gettext as _
from typing import Protocol

from chaos.pulse import Pulse
from chaos.scenario import Act


class Phase(StrEnum):
    PREPARE = "prepare"
    START = "start"
    LOAD = "load"
    HEAL = "heal"
    DRAIN = "drain"
    OBSERVE = "observe"
    CHECK = "check"

    @property
    def sentence(self) -> str:
        return PHASES[self]


PHASES: Mapping[Phase, str] = {
    Phase.PREPARE: _("Preparing databases and topics of its own"),
    Phase.START: _("Starting the services"),
    Phase.LOAD: _("Customers are ordering"),
    Phase.HEAL: _("Repairing everything that was broken"),
    Phase.DRAIN: _("Waiting until nothing is left to do"),
    Phase.OBSERVE: _("Writing down what is there"),
    Phase.CHECK: _("The judge reads the evidence"),
}


class Watcher(Protocol):
    def phase(self, phase: Phase) -> None: ...

    def act_begins(self, number: int, act: Act) -> None: ...

    def act_ends(self, number: int, act: Act) -> None: ...

    def say(self, sentence: str) -> None:
        """A detail of what is going on."""

    def pulse(self, pulse: Pulse) -> None: ...


class Silent:
    """For tests."""

    def phase(self, phase: Phase) -> None:
        pass

    def act_begins(self, number: int, act: Act) -> None:
        pass

    def act_ends(self, number: int, act: Act) -> None:
        pass

    def say(self, sentence: str) -> None:
        pass

    def pulse(self, pulse: Pulse) -> None:
        pass
