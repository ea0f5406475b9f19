"""Judge a run: hold every invariant against its evidence, test the checker on it, and sum up.

`judge()` never raises for what it finds in a directory: what is missing or damaged, and a check that breaks, is
UNKNOWN. It reads the evidence and writes nothing; `write()` puts verdict.json and verdict.txt where it is told.
"""

from __future__ import annotations

import gc
import os
import pickle
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from gettext import gettext as _
from itertools import islice
from pathlib import Path
from typing import Any

from chaos.checker import desks
from chaos.checker.canary import Canary, Fate, release
from chaos.checker.evidence import Evidence, RunFacts
from chaos.checker.finding import Family, Invariant, NotApplicable
from chaos.checker.lines import Unusable
from chaos.checker.recovery import recovery_of
from chaos.checker.registry import INVARIANTS, W07
from chaos.checker.result import Answer, Result, Status, Verdict, status_of
from chaos.checker.sample import sample
from chaos.checker.story import Story, tell
from chaos.checker.turning import TURNS
from chaos.checker.write import to_document, to_text, write

__all__ = [
    "Answer", "Result", "Status", "Verdict", "judge", "judge_and_write", "status_of", "to_document", "to_text", "write",
]  # fmt: skip

KEPT = 3
"""Counterexamples kept per invariant; the others are counted."""
STORIES = 3


def judge(
    directory: Path,
    canaries: bool = True,
    invariants: Sequence[Invariant] = INVARIANTS,
    large_bytes: int = desks.LARGE_BYTES,
) -> Verdict:
    """Return the verdict on an evidence directory. Without canaries, W07 does not apply."""
    with _without_collector():
        if invariants is not INVARIANTS or not desks.is_large(directory, large_bytes):
            return judge_evidence(_open(directory), canaries, invariants)
        return _judge_at_two_desks(directory, canaries)


def _judge_at_two_desks(directory: Path, canaries: bool) -> Verdict:
    evidence = _open(directory)
    canaries = canaries and evidence.run.canaries
    second = [invariant for invariant in INVARIANTS if invariant.id in desks.SECOND]
    first = [invariant for invariant in INVARIANTS if invariant.id not in desks.SECOND]
    with desks.SecondDesk(directory, second, canaries) as desk:
        answers = ask(evidence, first, canaries) + desk.answers()
    return _sum_up(evidence, answers)


def judge_and_write(evidence: Path, directory: Path) -> Verdict:
    """Judge, and leave verdict.json and verdict.txt in the directory. UNKNOWN stands there until the judge is done.

    A judge that is killed half-way has found nothing out, so what an earlier one wrote must not stand any longer.
    """
    write(_unfinished(_open(evidence).run), directory)
    verdict = judge(evidence)
    write(verdict, directory)
    return verdict


def _unfinished(run: RunFacts) -> Verdict:
    """Return what a judge has to say before it has looked at anything."""
    reason = _("the checker has not finished: it still runs, or was killed")
    answers = desks.Answers([_answer(invariant, Answer.UNKNOWN, reason) for invariant in INVARIANTS])
    return _sum_up(Evidence(_refuse(Unusable(reason)), run), answers)


def judge_evidence(evidence: Evidence, canaries: bool = True, invariants: Sequence[Invariant] = INVARIANTS) -> Verdict:
    return _sum_up(evidence, ask(evidence, invariants, canaries and evidence.run.canaries))


def serve() -> None:
    """Answer one question on the standard input: what a second desk does."""
    directory, ids, canaries = pickle.loads(sys.stdin.buffer.read())  # noqa: S301 - from the process that started this
    with _without_collector():
        evidence = _open(directory, desks.SECOND_OMITS)
        of_intents = [i for i in INVARIANTS if i.id in ids and i.id in desks.OF_INTENTS]
        others = [i for i in INVARIANTS if i.id in ids and i.id not in desks.OF_INTENTS]
        answers = ask(evidence, of_intents, canaries)
        evidence.forget("intents", "keys")
        answers += ask(evidence, others, canaries)
    sys.stdout.buffer.write(pickle.dumps(answers))
    sys.stdout.buffer.flush()
    os._exit(0)  # To let go of millions of rows one by one takes a second, and there is nothing else to leave behind.


def ask(evidence: Evidence, invariants: Sequence[Invariant], canaries: bool) -> desks.Answers:
    results = [_ask(invariant, evidence) for invariant in invariants]
    birds = _release_all(invariants, evidence) if canaries else []
    return desks.Answers(results, birds, evidence.torn)


def _sum_up(evidence: Evidence, answers: desks.Answers) -> Verdict:
    results, birds = [*answers.results], [*answers.canaries]
    order = [invariant.id for invariant in INVARIANTS]
    birds.sort(key=lambda bird: order.index(bird.invariant))
    results.append(_w07(birds))
    results.sort(key=lambda result: (list(Family).index(result.family), result.invariant))
    return Verdict(
        status=status_of(results, birds),
        run=evidence.run.run,
        scenario=evidence.run.scenario,
        seed=evidence.run.seed,
        guard_off=evidence.run.guard_off,
        results=tuple(results),
        canaries=tuple(birds),
        counts=_counts(evidence),
        torn_lines=dict(answers.torn),
        stories=tuple(islice(_stories(results, evidence), STORIES)),
        recovery=recovery_of(evidence),
    )


def _open(directory: Path, omitting: frozenset[str] = frozenset()) -> Evidence:
    try:
        return Evidence.of(directory, omitting)
    except Unusable as missing:
        return Evidence(_refuse(missing), RunFacts())


def _refuse(missing: Unusable) -> Callable[[str], list[Any]]:
    def load(_name: str) -> list[Any]:
        raise missing

    return load


@contextmanager
def _without_collector() -> Iterator[None]:
    """Millions of tuples without a cycle among them: looking for cycles would take as long as the judging.

    Whoever judges inside has to let go of the evidence there: the first look afterwards goes through what is left.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _ask(invariant: Invariant, evidence: Evidence) -> Result:
    if invariant.family is Family.LIVENESS and not evidence.run.ended:
        return _answer(invariant, Answer.UNKNOWN, _("the run did not end, so nobody waited for what it still owed"))
    try:
        found = invariant.check(evidence)
        first = tuple(islice(found, KEPT))
        count = len(first) + sum(1 for _rest in found)
    except NotApplicable as reason:
        return _answer(invariant, Answer.NOT_APPLICABLE, str(reason))
    except Unusable as missing:
        return _answer(invariant, Answer.UNKNOWN, str(missing))
    except Exception as error:  # noqa: BLE001 - a check that breaks has not looked, and must not pass
        return _answer(invariant, Answer.UNKNOWN, _("the check itself broke: {error!r}").format(error=error))
    excused = evidence.run.expect.get("not_applicable", {}).get(invariant.id)
    if excused:
        return _answer(invariant, Answer.NOT_APPLICABLE, str(excused))
    answer = _answer_to(invariant, evidence.run, count)
    return Result(invariant.id, invariant.meaning, invariant.family, answer, "", count, first)


def _answer_to(invariant: Invariant, run: RunFacts, violations: int) -> Answer:
    if not violations:
        return Answer.HOLDS
    claimed = invariant.claim is None or run.expect.get(invariant.claim)
    return Answer.BROKEN if claimed else Answer.WARNING


def _answer(invariant: Invariant, answer: Answer, reason: str) -> Result:
    return Result(invariant.id, invariant.meaning, invariant.family, answer, reason)


def _release_all(invariants: Sequence[Invariant], evidence: Evidence) -> list[Canary]:
    excused = evidence.run.expect.get("not_applicable", {})
    cut = sample(evidence)
    return [release(invariant, cut) for invariant in invariants if invariant.id not in excused]


def _w07(canaries: Sequence[Canary]) -> Result:
    """Answer W07. A canary that could not be planted for want of evidence is UNKNOWN already by its own invariant."""
    identity = (*W07, Family.VACUITY)
    if not canaries:
        return Result(*identity, Answer.NOT_APPLICABLE, _("the checker was not tested on this run"))
    if all(bird.fate is Fate.NOT_PLANTED for bird in canaries):
        return Result(*identity, Answer.UNKNOWN, _("there is no evidence to plant a violation in"))
    lost = [bird for bird in canaries if bird.fate in (Fate.MISSED, Fate.NOTHING_TO_SPOIL)]
    if not lost:
        return Result(*identity, Answer.HOLDS)
    reason = "; ".join(f"{bird.invariant}: {bird.fate} {bird.detail}".strip() for bird in lost)
    return Result(*identity, Answer.BROKEN, reason, len(lost))


def _counts(evidence: Evidence) -> dict[str, int]:
    """Count what a reader wants to know first; a table that is missing is left out."""
    tables = ("orders", "events", "copies", "invoices", "credit_notes")
    counts = {name: len(evidence.table(name)) for name in tables if evidence.has(name)}
    if evidence.has("copies"):
        counts["distinct_events_in_log"] = len(evidence.first_copies)
    if evidence.has("deliveries"):
        spans = [(d.last_offset - d.offset + 1, d.duplicate) for d in evidence.deliveries]
        counts["deliveries"] = sum(span for span, _duplicate in spans)
        counts["duplicates_suppressed"] = sum(span for span, duplicate in spans if duplicate)
    if evidence.has("mails"):
        counts["mails"] = len({mail.key for mail in evidence.mails})
    return counts


def _stories(results: Sequence[Result], evidence: Evidence) -> Iterator[Story]:
    """Tell of what is broken before what is only a warning, and what says most to a newcomer first."""
    told: set[str | None] = set()
    telling = [*TURNS]
    broken = [result for result in results if result.invariant in TURNS]
    broken.sort(key=lambda result: (result.answer is Answer.WARNING, telling.index(result.invariant)))
    for result in broken:
        for example in result.counterexamples:
            if example.order_id in told and example.order_id is not None:
                continue
            story = tell(result.invariant, example, evidence)
            if story.order_id not in told:
                told.add(story.order_id)
                yield story
