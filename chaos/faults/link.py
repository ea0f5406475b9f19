"""The network between some processes and a server is cut, loses answers, becomes slow, or resets every connection.

Only the processes that the fault names come through the proxy; all others reach the server directly. A link on which
nothing passes while it is broken was not felt, and leaves no hit.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from gettext import gettext as _

from chaos.faults import Quiet
from chaos.faults.server import Server
from chaos.history import FaultPhase
from chaos.proxy import Weather
from chaos.stage import Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenLink(Quiet):
    """Have bad weather for so many seconds, again for each round. ``delay_seconds`` is for slow weather.

    ``ends_in_reset``: connections do not survive. What was carried out and not answered stays unanswered for good: this
    is how a COMMIT comes to have an unknown outcome.
    """

    server: Server
    targets: tuple[str, ...]
    weather: Weather
    seconds: float
    delay_seconds: float = 0.05
    rounds: int = 1
    ends_in_reset: bool = False
    pause_seconds: float = 2.0

    @property
    def local_only(self) -> bool:
        return True

    @property
    def links(self) -> Mapping[str, tuple[str, ...]]:
        return {self.server.value: self.targets}

    def inject(self, stage: Stage) -> None:
        for number in range(self.rounds):
            if number:
                stage.wait(self.pause_seconds)
            self._break(stage)

    def _break(self, stage: Stage) -> None:
        proxy = stage.links[self.server]
        before = proxy.toll.total
        stage.record(self.name, FaultPhase.INJECT, self.server, detail=f"{self.weather} for {self.seconds} s")
        proxy.set(self.weather, self.delay_seconds)
        if stage.wait_until(lambda: proxy.toll.total > before, self.seconds):
            stage.record(self.name, FaultPhase.HIT, self.server, detail=str(proxy.toll))
        stage.wait(self.seconds)
        if self.ends_in_reset:
            proxy.reset()
        proxy.set(Weather.CLEAR)

    def heal(self, stage: Stage) -> None:
        if proxy := stage.links.get(self.server):
            proxy.set(Weather.CLEAR)
        stage.record(self.name, FaultPhase.HEAL, self.server, detail="clear")

    def probe(self, stage: Stage) -> str | None:
        proxy = stage.links.get(self.server)
        if proxy is None:
            return _("there is no proxy for {server}").format(server=self.server)
        return None if proxy.passes() else _("nothing passes on the way to {server}").format(server=self.server)
