"""A module of rules changed in every way that mutmut knows, and which of the changes nobody notices."""

from __future__ import annotations

import difflib
import importlib
import signal
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType, ModuleType

from mutmut.mutation.file_mutation import MutatedFile, mutate_file_contents
from mutmut.mutation.trampoline import set_mutant_under_test

from chaos.checker.finding import Invariant
from chaos.checker.registry import INVARIANTS
from tests.mutants.cases import Case

PACKAGE = "chaos.checker.invariants"
MODULES = ("log", "orders", "money", "read_model", "effects", "generations", "liveness", "vacuity")
SECONDS_PER_MUTANT = 30


@dataclass(frozen=True, slots=True)
class Mutant:
    """Named by what it changes and not by a number, so that the name lasts as long as the code that it changes."""

    where: str
    """Module and function."""
    change: str
    """Lines taken out (-) and put in (+)."""

    def __str__(self) -> str:
        return "\n".join((self.where, *(f"    {line}" for line in self.change.splitlines())))


class Mutated:
    """One module of rules, with all its mutants in it. What its own rules must find is asked first."""

    def __init__(self, name: str, asked: Sequence[Case]) -> None:
        original = importlib.import_module(f"{PACKAGE}.{name}")
        path = Path(str(original.__file__))
        self._name = name
        self._changed = mutate_file_contents(str(path), path.read_text(encoding="utf-8"))
        module = ModuleType(original.__name__)
        exec(compile(self._changed.code, str(path), "exec"), module.__dict__)
        self._rules = [
            replace(rule, check=getattr(module, rule.check.__name__))
            for rule in INVARIANTS
            if rule.check.__module__ == original.__name__
        ]
        ids = {rule.id for rule in self._rules}
        self._asked = sorted(asked, key=lambda case: case.rule not in ids)
        set_mutant_under_test("")
        for case in self._asked:
            assert case.is_answered(self._rules), f"the rules as they are do not answer {case.rule or 'good'} {case}"

    @property
    def names(self) -> Sequence[str]:
        """mutmut's names for the mutants."""
        return self._changed.mutant_names

    def survives(self, mutmuts_name: str) -> bool:
        """Say whether rules with this one change answer every case as they have to."""
        set_mutant_under_test(f"{PACKAGE}.{self._name}.{mutmuts_name}")
        signal.alarm(SECONDS_PER_MUTANT)
        try:
            return _all_answered(self._asked, self._rules)
        except TimeoutError:
            return False
        finally:
            signal.alarm(0)

    def mutants(self) -> Iterator[Mutant]:
        """Yield the mutants in the order of `names`; a change that can be made in several places has a number."""
        seen: Counter[Mutant] = Counter()
        for name in self.names:
            function, _underscore, _number = name.rpartition("_")
            changes = _changes(_source(self._changed, f"{function}_orig"), _source(self._changed, name))
            mutant = Mutant(f"{self._name}.{_plain(function)}", "\n".join(changes))
            seen[mutant] += 1
            yield mutant if seen[mutant] == 1 else replace(mutant, change=f"{mutant.change}\n({seen[mutant]})")


def _all_answered(asked: Sequence[Case], rules: Sequence[Invariant]) -> bool:
    return all(case.is_answered(rules) for case in asked)


def _source(changed: MutatedFile, function: str) -> list[str]:
    """Return the lines of a function without its first one, which has another name in each mutant."""
    span = changed.line_span_by_function_name[function]
    lines = changed.code.splitlines()[span.start - 1 : span.end]
    first = next(number for number, line in enumerate(lines) if line.lstrip().startswith("def "))
    return [line.strip() for line in lines[first + 1 :]]


def _plain(function: str) -> str:
    """Return the name that a function has in the source: mutmut says `x_name__mutmut` and `xǁClassǁname__mutmut`."""
    return function.removesuffix("__mutmut").removeprefix("x_").removeprefix("xǁ").replace("ǁ", ".")


def _changes(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    return (
        f"{line[0]} {line[1:]}"
        for line in difflib.unified_diff(before, after, n=0, lineterm="")
        if not line.startswith(("---", "+++", "@@"))
    )


def too_long(_signal: int, _frame: FrameType | None) -> None:
    raise TimeoutError
