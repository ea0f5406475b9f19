"""Faults: one file per family. Each fault is a frozen value that a scenario names, with four steps.

* ``inject``  waits for work in flight where it must, records its evidence, then acts; returns when it has bitten.
* ``heal``    undoes it; idempotent, and harmless for a fault that was never injected.
* ``probe``   says what is still wrong after healing, or nothing.
* evidence    is a line ``hit`` in ``faults.jsonl``. Where the act destroys what could tell of it, it is written before;
  where a fault may miss (a link on which nothing passes), it is written when the fault was felt, or never.

Which faults there are, with the class of each, is in ``chaos/catalogue.py``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from gettext import gettext as _
from typing import TYPE_CHECKING, Protocol

from chaos.history import FaultPhase

if TYPE_CHECKING:
    from chaos.stage import Stage

COMES_BACK_SECONDS = 15.0


class Fault(Protocol):
    """See the module's docstring."""

    @property
    def name(self) -> str: ...

    @property
    def local_only(self) -> bool:
        """Whether it needs what only the local stack has."""

    @property
    def available(self) -> bool:
        """Whether this machine has what the fault is done with."""

    @property
    def arms(self) -> tuple[str, ...]:
        """The processes that have to run with failpoints for this fault."""

    @property
    def spares(self) -> tuple[str, ...]:
        """The extra processes that have to stand by for this fault."""

    @property
    def earlier(self) -> tuple[str, ...]:
        """The processes that begin as the release before today's."""

    @property
    def links(self) -> Mapping[str, tuple[str, ...]]:
        """Server → the processes that have to reach it through a proxy for this fault."""

    @property
    def settings(self) -> Mapping[str, Mapping[str, str]]:
        """Process → variables that it has to start with for this fault."""

    def inject(self, stage: "Stage") -> None: ...

    def heal(self, stage: "Stage") -> None: ...

    def probe(self, stage: "Stage") -> str | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Quiet:
    """What most faults are: they need nothing prepared, and heal by themselves."""

    name: str

    @property
    def local_only(self) -> bool:
        return False

    @property
    def available(self) -> bool:
        return True

    @property
    def arms(self) -> tuple[str, ...]:
        return ()

    @property
    def spares(self) -> tuple[str, ...]:
        return ()

    @property
    def earlier(self) -> tuple[str, ...]:
        return ()

    @property
    def links(self) -> Mapping[str, tuple[str, ...]]:
        return {}

    @property
    def settings(self) -> Mapping[str, Mapping[str, str]]:
        return {}

    def heal(self, stage: "Stage") -> None:
        stage.record(self.name, FaultPhase.HEAL, self.name)

    def probe(self, stage: "Stage") -> str | None:  # noqa: ARG002
        return None


def missing(stage: "Stage", instances: tuple[str, ...]) -> str | None:
    """Wait for processes to come back; say which did not. What most probes ask."""
    stage.wait_until(lambda: all(stage.runs(each) for each in instances), COMES_BACK_SECONDS)
    gone = [each for each in instances if not stage.runs(each)]
    return _("{names} did not come back").format(names=", ".join(gone)) if gone else None
