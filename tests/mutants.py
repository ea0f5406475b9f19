"""``python -m tests.mutants [MODULE ...]``: the second mutation score, of the checker's own code.

mutmut changes the rules in every small way it knows, one at a time; each changed rule is asked about good histories and
about every corruption. A change that nobody notices is a hole in the corruptions, or changes nothing (then it stands in
EQUIVALENT, with the reason). Sentences are left alone: another word is no other rule.
"""

from __future__ import annotations

import importlib
import signal
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType, ModuleType

from mutmut.mutation.file_mutation import mutate_file_contents
from mutmut.mutation.trampoline import set_mutant_under_test

from chaos.checker.evidence import Evidence
from chaos.checker.finding import Invariant
from chaos.checker.registry import INVARIANTS
from chaos.checker.result import Answer
from chaos.checker.tables import TABLES
from chaos.checker.verdict import judge_evidence
from chaos.specimens import Varied
from tests.unit.checker.corruptions import CORRUPTIONS, points_at

PACKAGE = "chaos.checker.invariants"
MODULES = ("log", "orders", "money", "read_model", "effects", "generations", "liveness", "vacuity")
SECONDS_PER_MUTANT = 30
GOOD_SEEDS = range(4)

EQUIVALENT: dict[str, str] = {
    "x__of_changed_generations__mutmut_27": "more partitions are sorted, in which there is nothing to find",
    **dict.fromkeys(
        ("x_immutable__mutmut_34", "x_immutable__mutmut_37", "x_immutable__mutmut_38"),
        "one list is made of the other, so that they are of one length",
    ),
    **dict.fromkeys(
        ("x_one_order_per_key__mutmut_2", "x_one_order_per_key__mutmut_16"), "only the keys of this dictionary are read"
    ),
    "x__wrong_money__mutmut_12": "an order that was accepted has an attempt that was, so that there is always a first",
    "x_settled_is_in_log__mutmut_17": "the same answer, UNKNOWN, in other words",
    "x__difference__mutmut_2": "the same finding in other words",
    "x_ends_as_intended__mutmut_15": "the same finding in other words",
}
"""Mutants that do the same as the original, by name, and why."""


@dataclass(frozen=True)
class Case:
    """Evidence, and what has to be said of it: `rule` is broken and names the order, `also` may be, no other is."""

    evidence: Evidence
    rule: str = ""
    order_id: str | None = None
    also: frozenset[str] = frozenset()

    def is_answered(self, rules: Sequence[Invariant]) -> bool:
        """Say whether these rules say what they have to."""
        for result in judge_evidence(self.evidence, canaries=False, invariants=rules).results:
            if result.answer is Answer.UNKNOWN:
                return False
            if result.invariant == self.rule:
                if result.answer is not Answer.BROKEN:
                    return False
                if not points_at(self.rule, self.order_id, result.counterexamples):
                    return False
            elif result.answer is Answer.BROKEN and result.invariant not in self.also:
                return False
        return True


def cases(directory: Path, seed: int) -> Iterator[Case]:
    """Yield good histories, and one of each corruption."""
    for good in GOOD_SEEDS:
        yield Case(_evidence(Varied(good), directory / f"good-{good}"))
    for number, corruption in enumerate(CORRUPTIONS):
        history = Varied(seed)
        order_id = corruption.spoil(history)
        evidence = _evidence(history, directory / f"{seed}-{number}")
        yield Case(evidence, corruption.rule, order_id, corruption.also)


def _evidence(history: Varied, directory: Path) -> Evidence:
    directory.mkdir()
    evidence = Evidence.of(history.write(directory))
    for table in TABLES:
        evidence.has(table)
    return evidence


def survivors(name: str, asked: Sequence[Case]) -> tuple[int, list[str]]:
    """Return how many mutants of a module there are, and the names of those that answer every case as they have to."""
    original = importlib.import_module(f"{PACKAGE}.{name}")
    path = Path(str(original.__file__))
    changed = mutate_file_contents(str(path), path.read_text(encoding="utf-8"))
    module = ModuleType(original.__name__)
    exec(compile(changed.code, str(path), "exec"), module.__dict__)
    rules = [
        replace(rule, check=getattr(module, rule.check.__name__))
        for rule in INVARIANTS
        if rule.check.__module__ == original.__name__
    ]
    ids = {rule.id for rule in rules}
    ordered = sorted(asked, key=lambda case: case.rule not in ids)
    set_mutant_under_test("")
    assert all(case.is_answered(rules) for case in ordered), "the rules as they are do not answer every case"
    alive = [mutant for mutant in changed.mutant_names if _survives(f"{original.__name__}.{mutant}", rules, ordered)]
    return len(changed.mutant_names), alive


def _survives(mutant: str, rules: Sequence[Invariant], asked: Sequence[Case]) -> bool:
    set_mutant_under_test(mutant)
    signal.alarm(SECONDS_PER_MUTANT)
    try:
        return all(case.is_answered(rules) for case in asked)
    except TimeoutError:
        return False
    finally:
        signal.alarm(0)


def _too_long(_signal: int, _frame: FrameType | None) -> None:
    raise TimeoutError


def main(names: Sequence[str], seed: int = 5) -> int:
    """Print the score of each module and the survivors. Returns 1 when there is one without a reason."""
    signal.signal(signal.SIGALRM, _too_long)
    killed = made = 0
    unexplained: list[str] = []
    with TemporaryDirectory() as directory:
        asked = [*cases(Path(directory), seed)]
    for name in names:
        count, alive = survivors(name, asked)
        new = [mutant for mutant in alive if mutant not in EQUIVALENT]
        made, killed, unexplained = made + count, killed + count - len(alive), unexplained + new
        sys.stdout.write(f"{name}: {count - len(alive)} of {count} killed, {len(alive) - len(new)} equivalent\n")
        sys.stdout.writelines(f"  survived: {name} {mutant}\n" for mutant in new)
        sys.stdout.flush()
    sys.stdout.write(f"mutants of the rules killed: {killed} of {made}\n")
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or MODULES))
