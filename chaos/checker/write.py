"""Write a verdict down: verdict.json for programs, verdict.txt (ten lines at most) for people."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from gettext import gettext as _
from pathlib import Path
from textwrap import shorten
from typing import Any

from chaos.checker.canary import Fate
from chaos.checker.result import Answer, Result, Status, Verdict
from chaos.checker.story import Story, turning_in_words

WIDTH = 240
LINES = 10
GRAVE = (Answer.BROKEN, Answer.UNKNOWN, Answer.WARNING)
"""What has a line of its own, the gravest first."""


def write(verdict: Verdict, directory: Path) -> None:
    """Write both files into an existing directory, over those of an earlier verdict."""
    document = json.dumps(to_document(verdict), ensure_ascii=False, indent=2, default=_plain)
    (directory / "verdict.json").write_text(document + "\n", encoding="utf-8")
    (directory / "verdict.txt").write_text(to_text(verdict) + "\n", encoding="utf-8")


def to_document(verdict: Verdict) -> dict[str, Any]:
    """Return the verdict as plain data."""
    return {**asdict(verdict), "exit_code": verdict.exit_code}


def _plain(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def to_text(verdict: Verdict) -> str:
    """Say the verdict in at most ten lines: what is broken, and the first counterexample with its turning point."""
    lines = [_headline(verdict), sentence_of(verdict.status), *_figures(verdict)]
    grave = [r for answer in GRAVE for r in verdict.results if r.answer is answer]
    story = next(iter(verdict.stories), None)
    if story:
        lines += [_in_short(grave), *_told(story, grave)]
    else:
        room = LINES - len(lines) - 2
        lines += [_line(result) for result in grave[:room]]
        lines += [_("… and {count} more").format(count=len(grave) - room)] if len(grave) > room else []
        first = next((r.counterexamples[0].what for r in grave if r.counterexamples), None)
        lines += [_("First counterexample: {what}").format(what=first)] if first else []
    return "\n".join(shorten(line, WIDTH, placeholder=" …") for line in lines)


def _in_short(grave: Sequence[Result]) -> str:
    """Name every rule that does not hold in one line."""
    words = {Answer.BROKEN: _("Broken"), Answer.UNKNOWN: _("Unknown"), Answer.WARNING: _("Warning")}
    parts = []
    for answer, word in words.items():
        found = [f"{r.invariant}×{r.count}" if r.count else r.invariant for r in grave if r.answer is answer]
        if found:
            parts.append(f"{word}: {' '.join(found)}")
    return "; ".join(parts)


def _told(story: Story, grave: Sequence[Result]) -> list[str]:
    meaning = next((result.meaning for result in grave if result.invariant == story.invariant), "")
    return [
        f"{story.invariant}: {_(meaning)}",
        _("First counterexample: {what}").format(what=story.what),
        *turning_in_words(story),
    ]


def _headline(verdict: Verdict) -> str:
    without = _(", variant {guard}").format(guard=verdict.guard_off) if verdict.guard_off else ""
    return _("{status}: {scenario}{without} (run {run}, seed {seed})").format(
        status=verdict.status, scenario=verdict.scenario, without=without, run=verdict.run, seed=verdict.seed
    )


def sentence_of(status: Status) -> str:
    """Say what a verdict means."""
    return {
        Status.PASS: _("Every rule was kept, and the checker proved on this run that it can see each one broken."),
        Status.FAIL: _("At least one rule was broken. How it came to that is told by the story of one order."),
        Status.CHECKER_DEAD: _(
            "The checker missed a violation that was planted to test it: trust nothing it says, repair it."
        ),
        Status.UNKNOWN: _("Something could not be checked, so this is no pass. See what is missing and run again."),
        Status.VACUOUS: _(
            "Nothing was broken, but the run did not try what it was to try. Look at the faults and run again."
        ),
    }[status]


def _figures(verdict: Verdict) -> list[str]:
    answers = Counter(result.answer for result in verdict.results)
    rules = ", ".join(f"{answers[answer]} {answer}" for answer in Answer if answers[answer])
    counts = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in verdict.counts.items())
    recovery = f" {recovered}" if (recovered := recovery_in_words(verdict)) else ""
    return [
        _("Rules: {rules}. {canaries}").format(rules=rules, canaries=canaries_in_words(verdict)).rstrip(),
        _("Counted: {counts}.").format(counts=counts or _("nothing")) + recovery,
    ]


def how_often(result: Result) -> str:
    """Say how often a rule was seen broken; nothing where it was not."""
    if result.answer is Answer.WARNING:
        return _("warning, seen {count} times: this run does not claim it").format(count=result.count)
    return _("{count} violations").format(count=f"{result.count:,}") if result.count else ""


def canaries_in_words(verdict: Verdict) -> str:
    """Say how many planted violations were found, and how many could not be planted for want of evidence."""
    if not verdict.canaries:
        return ""
    fates = Counter(bird.fate for bird in verdict.canaries)
    said = _("Planted violations found: {found} of {all}.").format(
        found=fates[Fate.FOUND], all=len(verdict.canaries) - fates[Fate.NOT_PLANTED]
    )
    if not fates[Fate.NOT_PLANTED]:
        return said
    return said + " " + _("{count} could not be planted for want of evidence.").format(count=fates[Fate.NOT_PLANTED])


def recovery_in_words(verdict: Verdict) -> str:
    """Say how long it took to make up for the faults; nothing where none was healed."""
    found = verdict.recovery
    if found is None:
        return ""
    if not found.orders:
        return _("No invoice was owed when the last fault was healed.")
    return _(
        "{orders} invoices owed at the last healing came within p50 {p50:.1f} s, p95 {p95:.1f} s, at most {max:.1f} s."
    ).format(orders=found.orders, p50=found.p50_seconds, p95=found.p95_seconds, max=found.max_seconds)


def _line(result: Result) -> str:
    detail = how_often(result) or result.answer
    reason = f" ({result.reason})" if result.reason else ""
    return f"{result.invariant} {_(result.meaning)} {detail}{reason}"
