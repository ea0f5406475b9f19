"""Every fault that is rehearsed, with what is promised about it: read off the scenarios, so that no list can be stale.

A fault counts under its own name. Two that differ only in a number (longer, later, more often) are one fault in two
scenarios, and are listed twice, under two names.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from inspect import getdoc

from chaos import scenarios, unsafe
from chaos.faults import Fault
from chaos.faults.engine import SwitchEngine
from chaos.scenario import Promise, Scenario
from infra.local.profile import Profile

BOTH, LOCAL = "both", "local"

OPENING = """\
# Faults and scenarios

Written by `once chaos list --markdown`; a test compares. What each scenario teaches is told by `once chaos list`.

* **survived**: nothing is lost, doubled or out of order, and everything comes to its end by itself;
* **detected**: the system stops or sets aside with words what it cannot do;
* **beyond the promise**: documented damage, red on purpose. Such a run ends as foretold if the right rules turn red.

Links are broken by a small proxy of ours (`chaos/proxy.py`): the known programs for it come as a binary for one
platform or as an image, and this one is a page of the standard library. It cannot lose packets. A full disk is a limit
on the size of files, which fails with EFBIG instead of ENOSPC. Nothing here takes away the page cache, so nothing here
is a loss of power.

## Scenarios
"""


HAMMERED = """\
## Guards whose absence only the hammer finds

`python -m tests.hammer --wrong NAME` finds each within a minute, mostly within seconds. No scenario does so for sure:
it takes a relay that dies in the middle of a pass *and* a late commit between the snapshots of two relays, or a server
that forgets commits, or lanes that are joined while their former owner sleeps, or two writers that meet on one
aggregate within a millisecond. At a scenario's pace a pass is one chunk, and over at once; under the hammer relays die
between any two statements, thousands of times, in chunks of one row.
"""


@dataclass(frozen=True, slots=True)
class Entry:
    fault: Fault
    scenario: Scenario

    @property
    def what(self) -> str:
        """The first sentence of its class."""
        return (getdoc(type(self.fault)) or "").partition("\n\n")[0].replace("\n", " ")

    @property
    def stacks(self) -> str:
        return _stacks(self.scenario, local_only=self.fault.local_only)


def entries() -> list[Entry]:
    """All faults of all scenarios, by scenario."""
    return [Entry(fault, each) for each in map(scenarios.load, scenarios.names()) for fault in each.faults]


def survived() -> list[Entry]:
    """The faults that any run has to survive, whatever else happens to it, with the relays that poll."""
    return [
        entry
        for entry in entries()
        if entry.scenario.promise is Promise.SURVIVED
        and entry.scenario.profile is Profile.SMALL
        and entry.scenario.engine == "polling"
        and not isinstance(entry.fault, SwitchEngine)
    ]


def markdown() -> str:
    """The page ``docs/faults.md``."""
    return "\n".join([OPENING, *_scenarios(), "", "## Faults", "", *_faults(), "", *_guards(), "", *_hammered(), ""])


def _scenarios() -> Iterator[str]:
    yield "| scenario | what happens | what keeps the promise | promise | stacks | red without |"
    yield "|---|---|---|---|---|---|"
    for each in map(scenarios.load, scenarios.names()):
        twins = sorted(unsafe.load(name).guard for name in unsafe.names() if unsafe.load(name).scenario == each.name)
        stacks = _stacks(each, local_only=each.local_only)
        red = ", ".join(f"`{guard}`" for guard in twins)
        yield f"| `{each.name}` | {each.title} | {each.guard} | {each.promise} | {stacks} | {red} |"


def _stacks(scenario: Scenario, *, local_only: bool) -> str:
    where = LOCAL if local_only else BOTH
    return f"{where}, {scenario.profile}" if scenario.profile is not Profile.SMALL else where


def _faults() -> Iterator[str]:
    yield "| fault | what it does | promise | stacks | scenario |"
    yield "|---|---|---|---|---|"
    for entry in entries():
        promise = entry.scenario.promise
        yield f"| `{entry.fault.name}` | {entry.what} | {promise} | {entry.stacks} | `{entry.scenario.name}` |"


def _guards() -> Iterator[str]:
    yield "## Guards taken out"
    yield ""
    yield "`once chaos matrix` runs each and requires exactly these rules red; the sets are data in `chaos/unsafe/`."
    yield ""
    yield "| guard | scenario | must turn red | may turn red |"
    yield "|---|---|---|---|"
    for variant in map(unsafe.load, unsafe.names()):
        must, may = " ".join(sorted(variant.must_fail)), " ".join(sorted(variant.may_fail))
        yield f"| [`{variant.guard}`](../chaos/unsafe/{variant.name}.py) | `{variant.scenario}` | {must} | {may} |"


def _hammered() -> Iterator[str]:
    yield HAMMERED
    yield "| variant | what it is |"
    yield "|---|---|"
    for name in unsafe.hammered():
        what = (getdoc(import_module(f"chaos.unsafe.{name}")) or "").partition("\n\n")[0].replace("\n", " ")
        yield f"| [`{name}`](../chaos/unsafe/{name}.py) | {what} |"
