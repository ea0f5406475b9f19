"""Several scenarios, each held against what was foretold of it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from gettext import gettext as _
from itertools import count, takewhile
from pathlib import Path
from time import monotonic

from rich import box
from rich.table import Table
from rich.text import Text

from chaos import scenarios
from chaos.checker.verdict import Verdict, judge_and_write
from chaos.foretold import Comparison
from chaos.run import perform
from chaos.scenario import Promise, Scenario
from chaos.soak import PREFIX
from chaos.watcher import Phase, Silent
from infra.cli import abreast
from infra.cli.console import out
from infra.stack import open_stack


@dataclass(frozen=True, slots=True)
class Ended:
    """One scenario of a series, judged."""

    name: str
    verdict: Verdict
    found: Comparison
    seconds: float
    problems: tuple[str, ...]
    evidence: Path
    phases: str

    @property
    def scenario(self) -> Scenario:
        return scenarios.load(self.name)

    @property
    def as_foretold(self) -> bool:
        return self.found.as_foretold and not (self.problems and self.scenario.promise is not Promise.BEYOND)


class Stopwatch(Silent):
    """Measures how long each phase of a run takes: in a series, what is not load is what one waits for."""

    def __init__(self) -> None:
        self.seconds: dict[Phase, float] = {}
        self._phase: Phase | None = None
        self._since = monotonic()

    def phase(self, phase: Phase) -> None:
        now = monotonic()
        if self._phase is not None:
            self.seconds[self._phase] = self.seconds.get(self._phase, 0.0) + now - self._since
        self._phase, self._since = phase, now

    def __str__(self) -> str:
        return ", ".join(f"{phase} {seconds:.0f}" for phase, seconds in self.seconds.items())


def every_scenario() -> list[Scenario]:
    """All scenarios that the present stack and this machine can take; says which it cannot."""
    stack = open_stack()
    found = list(map(scenarios.load, scenarios.names()))
    possible = [
        each
        for each in found
        if each.available and each.runs_on(stack.profile) and (stack.is_local or not each.local_only)
    ]
    for each in found:
        if each not in possible:
            out.print(Text(_("{name} cannot be had here").format(name=each.name), "yellow"))
    return possible


def run(wanted: Sequence[Scenario], *, seed: int, stacks: int | None) -> int:
    """Run them all, show a table, and return the exit code: 0 if every one ended as was foretold of it."""
    started = monotonic()
    ended = []
    for one in abreast.each(partial(_run_one, seed=seed), _longest_first(wanted), stacks):
        ended.append(one)
        out.print(_line(len(ended), len(wanted), one), soft_wrap=True)
    out.print(_table(ended))
    return total([each.as_foretold for each in ended], monotonic() - started)


def soak(seed: int, minutes: float, *, stacks: int | None) -> int:
    """Run scenarios that dice have put together until the time is over; 0 if every one ended green."""
    started, ended = monotonic(), list[Ended]()
    for one in abreast.each(_soak_one, _seeds(seed, minutes), stacks):
        ended.append(one)
        out.print(Text(one.scenario.title, "dim"))
        out.print(_line(len(ended), len(ended), one), soft_wrap=True)
    out.print(_table(ended))
    return total([each.as_foretold for each in ended], monotonic() - started)


def total(as_foretold: Sequence[bool], seconds: float) -> int:
    """Say how many ended as was foretold of them, and return the exit code: 0 if all did."""
    out.print(
        _("{good} of {count} ended as foretold, in {minutes:.1f} minutes.").format(
            good=sum(as_foretold), count=len(as_foretold), minutes=seconds / 60
        )
    )
    return 0 if all(as_foretold) else 1


def _longest_first(wanted: Iterable[Scenario]) -> list[str]:
    """Return the names so that no long one is left over for the end, when the other stacks have nothing to do."""
    return [each.name for each in sorted(wanted, key=lambda each: -each.workload.seconds)]


def _seeds(first: int, minutes: float) -> Iterator[int]:
    """Count up until the time is over, and once at least."""
    end = monotonic() + minutes * 60
    yield first
    yield from takewhile(lambda _seed: monotonic() < end, count(first + 1))


def _soak_one(seed: int) -> Ended:
    return _run_one(f"{PREFIX}{seed}", seed)


def _run_one(name: str, seed: int) -> Ended:
    started = monotonic()
    watch = Stopwatch()
    scenario = scenarios.load(name)
    finished = perform(scenario, watcher=watch, seed=seed)
    watch.phase(Phase.CHECK)
    verdict = judge_and_write(finished.evidence, finished.directory)
    watch.phase(Phase.PREPARE)
    return Ended(
        name=name,
        verdict=verdict,
        found=scenario.judged(verdict),
        seconds=monotonic() - started,
        problems=finished.problems,
        evidence=finished.evidence,
        phases=str(watch),
    )


def _line(number: int, of: int, each: Ended) -> Text:
    text = Text(f"{number}/{of}  {each.name}: {each.verdict.status}, {each.seconds:.0f} s")
    text.append(f"  ({each.phases})", "dim")
    if each.as_foretold:
        text.stylize("green")
        return text
    for words in (*each.found.words(), *each.problems):
        text.append(f"\n    {words}")
    text.append(f"\n    {each.evidence}")
    text.stylize("bold red")
    return text


def _table(ended: Sequence[Ended]) -> Table:
    table = Table(box=box.SIMPLE, header_style="dim")
    for title in (_("scenario"), _("promise"), _("verdict"), _("seconds"), _("as foretold")):
        table.add_column(title)
    for each in ended:
        foretold = Text(_("yes"), "green") if each.as_foretold else Text(_("no"), "bold red")
        table.add_row(each.name, each.scenario.promise, each.verdict.status, f"{each.seconds:.0f}", foretold)
    return table
