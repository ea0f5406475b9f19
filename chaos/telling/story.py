"""Draw a counterexample's story: one order in time order, the faults marked, no longer than a screen.

What is left out when it is too long is chosen for a reader who wants to know how it came to that: the first hit of each
fault, what was asked, what was done and what arrived stay before the steps in between.
"""

from collections.abc import Mapping

from rich import box
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from chaos.checker.story import Kind, Moment, Story

LONGEST = 24
COLOURS: Mapping[Kind, str] = {
    Kind.EFFECT: "bold",
    Kind.FAULT: "red",
    Kind.DELIVERY: "cyan",
    Kind.DUPLICATE: "yellow",
    Kind.MAIL: "magenta",
}
KEEP_FIRST = (Kind.REQUEST, Kind.EFFECT, Kind.MAIL, Kind.OUTBOX, Kind.LOG)


def panel(story: Story, title: str, left_out: str) -> RenderableType:
    """``left_out``: a sentence with ``{count}`` in it."""
    kept = most_telling(story.moments)
    table = Table(box=None, show_header=False, padding=(0, 1), pad_edge=False)
    table.add_column(no_wrap=True, style="dim")
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for moment in kept:
        colour = COLOURS.get(moment.kind, "")
        when = f"{moment.at:%H:%M:%S}.{moment.at.microsecond // 1000:03d}"
        table.add_row(when, Text(str(moment.kind), colour), Text(moment.what, colour))
    parts: list[RenderableType] = [Text(story.what, "bold"), Text(), table]
    missing = story.left_out + len(story.moments) - len(kept)
    if missing:
        parts.append(Text(left_out.format(count=missing), "dim"))
    heading = Text(title, "bold")
    return Panel(Group(*parts), title=heading, title_align="left", border_style="red", box=box.ROUNDED, padding=(0, 1))


def most_telling(moments: tuple[Moment, ...], longest: int = LONGEST) -> list[Moment]:
    """Choose by what a moment says, and give back in time order."""
    ranks = _ranks(moments)
    places = sorted(range(len(moments)), key=lambda place: (ranks[place], place))[:longest]
    return [moments[place] for place in sorted(places)]


def _ranks(moments: tuple[Moment, ...]) -> list[int]:
    seen: set[str] = set()
    ranks = []
    for moment in moments:
        fault = moment.what.partition(":")[0] if moment.kind is Kind.FAULT else None
        if fault is not None and fault not in seen:
            seen.add(fault)
            ranks.append(0)
        elif moment.kind in KEEP_FIRST:
            ranks.append(1 + KEEP_FIRST.index(moment.kind))
        else:
            ranks.append(1 + len(KEEP_FIRST))
    return ranks
