"""Draw a counterexample's story: one order in time order, where it went wrong, and what should have been."""

from collections.abc import Mapping

from rich import box
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from chaos.checker.story import Kind, Story, clock, left_out_in_words, turning_in_words

COLOURS: Mapping[Kind, str] = {
    Kind.EFFECT: "bold",
    Kind.FAULT: "red",
    Kind.DELIVERY: "cyan",
    Kind.DUPLICATE: "yellow",
    Kind.MAIL: "magenta",
}
TURNED = "bold reverse red"


def panel(story: Story, title: str) -> RenderableType:
    turned = story.turning.moment if story.turning else None
    table = Table(box=None, show_header=False, padding=(0, 1), pad_edge=False)
    table.add_column(no_wrap=True, width=1)
    table.add_column(no_wrap=True, style="dim")
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for number, moment in enumerate(story.moments):
        here = number == turned
        colour = TURNED if here else COLOURS.get(moment.kind, "")
        mark = Text("►" if here else "", "bold red")
        table.add_row(mark, clock(moment.at), Text(str(moment.kind), colour), Text(moment.what, colour))
    parts: list[RenderableType] = [Text(story.what, "bold"), table]
    if story.left_out:
        parts.append(Text(left_out_in_words(story), "dim"))
    if words := turning_in_words(story):
        parts.append(Text("\n".join(words), "bold"))
    heading = Text(title, "bold")
    return Panel(Group(*parts), title=heading, title_align="left", border_style="red", box=box.ROUNDED, padding=(0, 1))
