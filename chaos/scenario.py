"""A scenario is data: what is bought, what is broken meanwhile, and how the judge has to find it afterwards.

Invariant: a fault never strikes before a fifth of the load has been placed, so that there is work in flight and
something to lose; a scenario that says otherwise cannot be built. Whether a fault really bit is not decided here but by
the evidence (verdict VACUOUS).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from chaos.checker.result import Verdict
from chaos.faults import Fault
from chaos.foretold import Comparison, Foretold, compare
from infra.local.profile import Profile
from infra.local.services import Engine

EARLIEST_ACT = 0.2

CLASSIC_GROUPS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        name: MappingProxyType({"GROUP_PROTOCOL": "classic"})
        for name in (
            *("billing-1", "billing-2", "billing-3", "billing-4"),
            *("analytics-1", "analytics-2"),
            *("orders-consumer-1", "orders-consumer-2"),
        )
    }
)
"""For ``environment``: every member of every group speaks the older group protocol."""


class Promise(StrEnum):
    """What the system promises about what a scenario does to it."""

    SURVIVED = "survived"
    """Nothing is lost, doubled or out of order, and everything comes to its end by itself."""
    DETECTED = "detected"
    """The system stops or sets aside with words what it cannot do; nothing goes wrong in silence."""
    BEYOND = "beyond the promise"
    """Documented damage, red on purpose: no design without other means survives it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A stream of orders. The shares are parts of 1; what is left over are plain orders."""

    seconds: float = 20.0
    rate_per_second: float = 40.0
    threads: int = 16
    customers: int = 60
    share_declined: float = 0.05
    share_cancelled_later: float = 0.06
    share_cancelled_at_once: float = 0.14
    share_same_key_at_once: float = 0.06
    share_same_key_later: float = 0.05
    share_same_key_other_body: float = 0.03
    share_oversized: float = 0.0
    """Orders whose event is more than ten kilobytes; only these may be set aside, by a topic that takes less."""

    @property
    def orders(self) -> int:
        """How many orders are planned; the load trickles on beyond them until the last act is over."""
        return max(1, round(self.seconds * self.rate_per_second))


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """One chapter: after which share of the load it begins, its faults in order, and what a spectator is told."""

    at: float
    title: str
    story: str
    faults: tuple[Fault, ...]

    def __post_init__(self) -> None:
        if not EARLIEST_ACT <= self.at < 1:
            raise ValueError(f"act {self.title!r} begins at {self.at}; it has to lie in [{EARLIEST_ACT}, 1)")


def _no_flags() -> Mapping[str, object]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """The verdict this scenario must get, and ``expect`` of run.json (docs/evidence-format.md).

    ``red`` names the rules for a verdict that is no PASS.
    """

    verdict: str = "PASS"
    red: Foretold = field(default_factory=Foretold)
    flags: Mapping[str, object] = field(default_factory=_no_flags)


@dataclass(frozen=True, slots=True, kw_only=True)
class Twin:
    """The same schedule with one guard taken out, which has to go red: the variant in ``chaos/unsafe``."""

    variant: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """See the module's docstring. ``guard`` names what keeps the promise while this happens."""

    name: str
    title: str
    teaches: str
    guard: str
    promise: Promise = Promise.SURVIVED
    workload: Workload = field(default_factory=Workload)
    acts: tuple[Act, ...] = ()
    expect: Expectation = field(default_factory=Expectation)
    twin: Twin | None = None
    environment: Mapping[str, Mapping[str, str]] = field(default_factory=lambda: MappingProxyType({}))
    """Process → variables: what the system is tuned to for this scenario."""
    engine: Engine = "polling"
    """What publishes the events when the load begins."""
    profile: Profile = Profile.SMALL
    """``cluster`` for one that needs more than one of a server."""
    drain_seconds: float = 75.0
    """How long nothing may get less before the wait for the end of all work is given up, and the bound of L05.

    Longer than the queue's visibility timeout, after which it hands out again what a dead worker had in hand.
    """

    def __post_init__(self) -> None:
        begins = [act.at for act in self.acts]
        if begins != sorted(begins):
            raise ValueError(f"the acts of {self.name!r} are not in order: {begins}")
        names = [fault.name for fault in self.faults]
        if len(set(names)) < len(names):
            raise ValueError(f"two faults of {self.name!r} share a name: {names}")
        if bool(self.expect.red.must_fail) == (self.expect.verdict == "PASS"):
            raise ValueError(f"{self.name!r} has to name what turns red, and only if its verdict is no PASS")

    def judged(self, verdict: Verdict) -> Comparison:
        """Hold a verdict against what is expected of this scenario."""
        return compare(self.expect.red.completed(self.name), verdict)

    @property
    def faults(self) -> tuple[Fault, ...]:
        return tuple(fault for act in self.acts for fault in act.faults)

    @property
    def armed(self) -> frozenset[str]:
        """The processes that run with failpoints; all others run exactly as in production."""
        return frozenset(instance for fault in self.faults for instance in fault.arms)

    @property
    def earlier(self) -> frozenset[str]:
        """The processes that begin as the release before today's."""
        return frozenset(instance for fault in self.faults for instance in fault.earlier)

    @property
    def links(self) -> Mapping[str, frozenset[str]]:
        """Server → the processes that reach it through a proxy."""
        found: dict[str, frozenset[str]] = {}
        for fault in self.faults:
            for server, processes in fault.links.items():
                found[server] = found.get(server, frozenset()) | set(processes)
        return found

    @property
    def linked(self) -> frozenset[str]:
        return frozenset(process for processes in self.links.values() for process in processes)

    def settings(self, instance: str) -> Iterator[Mapping[str, str]]:
        """The variables that a process starts with besides its own."""
        for wanted in (self.environment, *(fault.settings for fault in self.faults)):
            if instance in wanted:
                yield wanted[instance]

    @property
    def local_only(self) -> bool:
        """Whether a fault needs what only the local stack has."""
        return self.engine == "cdc" or any(fault.local_only for fault in self.faults)

    def runs_on(self, profile: Profile) -> bool:
        """Tell whether a stack of this profile can take it: a cluster takes what needs no proxy and no spare."""
        if self.profile is Profile.CLUSTER or profile is Profile.SMALL:
            return self.profile is profile
        return not (self.links or self.spares or self.engine == "cdc")

    @property
    def available(self) -> bool:
        """Whether this machine has what its faults are done with."""
        return all(fault.available for fault in self.faults)

    @property
    def spares(self) -> frozenset[str]:
        """The extra processes that stand by."""
        return frozenset(instance for fault in self.faults for instance in fault.spares)
