"""Show a verdict: what happened in numbers, each rule with its answer, the story of the first violation, the word."""

from collections.abc import Iterator, Mapping
from gettext import gettext as _

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from chaos.causes import Cause
from chaos.checker.canary import Fate
from chaos.checker.result import Answer, Result, Status, Verdict
from chaos.checker.turning import TURNS
from chaos.checker.write import how_often, recovery_in_words
from chaos.pulse import Pulse
from chaos.telling import story as story_shown

COLOURS: Mapping[Status, str] = {
    Status.PASS: "green",
    Status.FAIL: "red",
    Status.CHECKER_DEAD: "red",
    Status.UNKNOWN: "yellow",
    Status.VACUOUS: "yellow",
}
MARKS: Mapping[Answer, tuple[str, str]] = {
    Answer.HOLDS: ("✓", "green"),
    Answer.BROKEN: ("✗", "bold red"),
    Answer.UNKNOWN: ("?", "bold yellow"),
    Answer.WARNING: ("!", "bold yellow"),
}


def show(
    console: Console,
    verdict: Verdict,
    *,
    pulse: Pulse | None = None,
    causes: Mapping[Cause, int] | None = None,
) -> None:
    """Print everything but the last word, and then the last word."""
    story = next((each for each in verdict.stories if each.moments), None)
    console.print(Padding(_numbers(verdict, pulse, causes or {}), (1, 0, 0, 0)))
    console.print(Padding(_rules(verdict), (1, 0, 0, 0)))
    if story is not None:
        title = _("How it came to that: {id}, the story of one order").format(id=story.invariant)
        console.print(Padding(story_shown.panel(story, title), (1, 0, 0, 0)))
    console.print(Padding(_word(verdict), (1, 0, 0, 0)))


# In numbers


def _numbers(verdict: Verdict, pulse: Pulse | None, causes: Mapping[Cause, int]) -> RenderableType:
    table = Table(box=None, show_header=False, padding=(0, 1), pad_edge=False)
    table.add_column(justify="right", style="bold", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(style="dim")
    for value, name, remark in _figures(verdict, pulse):
        table.add_row(f"{value:,}", name, remark)
    for cause, count in causes.items():
        table.add_row("", Text(f"  {count:,}", "dim"), cause.sentence)
    if recovered := recovery_in_words(verdict):
        return Group(Text(_("What happened"), "bold underline"), table, Text(recovered, "dim"))
    return Group(Text(_("What happened"), "bold underline"), table)


def _figures(verdict: Verdict, pulse: Pulse | None) -> Iterator[tuple[int, str, str]]:
    counts = verdict.counts
    told = pulse or Pulse()
    requests = _("{count} were cancelled, {repeats} requests were repeats of the same order")
    second = counts.get("copies", 0) - counts.get("distinct_events_in_log", 0)
    rows = {
        "orders": (
            _("orders accepted"),
            requests.format(count=told.cancelled, repeats=told.replayed_requests) if pulse else "",
        ),
        "events": (_("events and commands"), _("each written in the transaction of what it tells")),
        "copies": (_("copies in the log"), _("{count} of them second copies").format(count=second)),
        "deliveries": (_("deliveries"), _("each event goes to every group that wants it")),
        "invoices": (_("invoices"), ""),
        "credit_notes": (_("credit notes"), _("for orders cancelled after their invoice")),
        "mails": (_("e-mails"), _("in the mailbox, by their key")),
        "duplicates_suppressed": (_("duplicates suppressed"), _("deliveries that the inbox knew, by cause:")),
    }
    for key, (name, remark) in rows.items():
        if key in counts:
            yield counts[key], name, remark


# Rule by rule


def _rules(verdict: Verdict) -> RenderableType:
    table = Table(box=None, show_header=False, padding=(0, 1), pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    asked = [result for result in verdict.results if result.answer is not Answer.NOT_APPLICABLE]
    for result in asked:
        mark, colour = MARKS[result.answer]
        table.add_row(Text(mark, colour), result.invariant, _rule(result))
    parts: list[RenderableType] = [Text(_("The rules"), "bold underline"), table]
    skipped = [result.invariant for result in verdict.results if result.answer is Answer.NOT_APPLICABLE]
    if skipped:
        parts.append(Text(_("Not asked of this run: {ids}").format(ids=" ".join(skipped)), "dim"))
    return Group(*parts)


def _rule(result: Result) -> Text:
    text = Text(_(result.meaning), "" if result.answer is Answer.HOLDS else "bold")
    if result.count:
        text.append("  " + how_often(result), "red")
    if result.reason:
        text.append(f"  {result.reason}", "yellow")
    for example in result.counterexamples[:1]:
        text.append(f"\n{example.what}", "dim")
    return text


# The last word


def _word(verdict: Verdict) -> RenderableType:
    colour = COLOURS[verdict.status]
    found = sum(bird.fate is Fate.FOUND for bird in verdict.canaries)
    text = Text.assemble((f" {verdict.status} ", f"bold reverse {colour}"), "  ", (_sentence(verdict), "bold"))
    if verdict.canaries:
        text.append(
            "\n"
            + _(
                "To show that the judge can see, {all} violations were planted in copies of the evidence: "
                "it found {found}."
            ).format(all=len(verdict.canaries), found=found),
            "dim",
        )
    return Panel(text, border_style=colour, box=box.HEAVY, padding=(0, 1))


def _worst(verdict: Verdict) -> str:
    """Say in words the broken rule that tells a newcomer most."""
    broken = {result.invariant: result for result in verdict.results if result.answer is Answer.BROKEN}
    first = next((broken[invariant] for invariant in TURNS if invariant in broken), None)
    if first is None:
        return ""
    count = _("{count} violations").format(count=f"{first.count:,}")
    return f"\n{first.invariant}: {_(first.meaning)} {count}"


def _sentence(verdict: Verdict) -> str:
    counts = verdict.counts
    if verdict.status is Status.PASS:
        return _(
            "{orders} orders, {invoices} invoices, {suppressed} duplicates without effect. Every rule was kept."
        ).format(
            orders=counts.get("orders", 0),
            invoices=counts.get("invoices", 0),
            suppressed=counts.get("duplicates_suppressed", 0),
        )
    if verdict.status is Status.FAIL:
        return _("Rules were broken: {ids}").format(ids=" ".join(verdict.broken)) + _worst(verdict)
    if verdict.status is Status.UNKNOWN:
        return _("Something could not be checked ({ids}), so this is no pass.").format(ids=" ".join(verdict.unknown))
    if verdict.status is Status.VACUOUS:
        return _("Nothing was broken, but the run did not try what it should have tried: {ids}").format(
            ids=" ".join(verdict.broken)
        )
    return _("The judge missed a violation that was planted to test it. Trust nothing that it says.")
