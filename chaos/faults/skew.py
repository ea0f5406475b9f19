"""One partition gets most of the work: a key that everybody wants."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from chaos.faults import Quiet
from chaos.history import FaultPhase
from chaos.hot_keys import HOT_PARTITION
from chaos.stage import Stage
from infra.kafka.marks import Marks


@dataclass(frozen=True, slots=True, kw_only=True)
class HotKeys(Quiet):
    """A share of all orders falls into one partition, from the start of the run. Felt when the log says so."""

    target: str
    topic: str
    share: float
    patience_seconds: float = 20.0

    @property
    def arms(self) -> tuple[str, ...]:
        return (self.target,)

    @property
    def settings(self) -> Mapping[str, Mapping[str, str]]:
        return {self.target: {"HOT_KEYS": str(self.share)}}

    def inject(self, stage: Stage) -> None:
        stage.record(self.name, FaultPhase.INJECT, self.topic, detail=f"{self.share:.0%} into one partition")
        if stage.wait_until(partial(self._crowded, stage), self.patience_seconds):
            stage.record(self.name, FaultPhase.HIT, f"{self.topic}/{HOT_PARTITION}", detail="more than all others")

    def _crowded(self, stage: Stage) -> bool:
        marks = Marks(stage.stack.servers.kafka)
        ends = marks.ends(marks.partitions([stage.in_namespace(self.topic)]))
        hot = sum(end for (_topic, number), end in ends.items() if number == HOT_PARTITION)
        return hot > max(50, sum(ends.values()) / 2)
