"""Tell a run on a terminal: the story scrolls by, and below it a picture of what is going on now."""

import time
from gettext import gettext as _

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.live import Live
from rich.padding import Padding
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from chaos.pulse import Pulse
from chaos.scenario import Act
from chaos.telling.counters import counters, what_an_act_did
from chaos.watcher import Phase

ACT_COLOURS = ("yellow", "magenta", "cyan", "blue")


class LiveTeller:
    """Draws at its own pace; what a run tells only changes what is drawn next. Threads may tell at the same time.

    No lock of its own: drawing happens under the terminal's lock, and printing takes that lock too, so a second one
    around either could be taken in the other order. Attributes are replaced as a whole, and read once.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(self, console=console, refresh_per_second=8, transient=True)
        self._begun = time.monotonic()
        self._phase: Phase | None = None
        self._phase_begun = self._begun
        self._spinner = Spinner("dots", style="cyan")
        self._detail = ""
        self._act: tuple[int, Act] | None = None
        self._pulse = Pulse()
        self._before = Pulse()

    def __enter__(self) -> "LiveTeller":
        self._live.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._finish_phase()
        self._live.stop()

    # What a run tells

    def phase(self, phase: Phase) -> None:
        self._finish_phase()
        self._phase, self._phase_begun, self._detail = phase, time.monotonic(), ""

    def act_begins(self, number: int, act: Act) -> None:
        self._act, self._before = (number, act), self._pulse
        colour = _colour(number)
        heading = Text.assemble((_("Act {number}").format(number=number), "bold"), "  ", (act.title, "bold"))
        panel = Panel(
            Text(act.story), title=heading, title_align="left", border_style=colour, box=box.HEAVY, padding=(0, 1)
        )
        self._console.print(Padding(panel, (1, 0, 0, 0)))

    def act_ends(self, number: int, act: Act) -> None:  # noqa: ARG002
        for sentence in what_an_act_did(self._before, self._pulse):
            self._console.print(Text.assemble(("  → ", _colour(number)), sentence))
        self._act = None

    def say(self, sentence: str) -> None:
        self._detail = sentence

    def pulse(self, pulse: Pulse) -> None:
        self._pulse = pulse

    # What is drawn

    def draw(self) -> None:
        """Draw now, besides the regular times."""
        self._live.refresh()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text()
        yield self._headline()
        pulse = self._pulse
        if pulse.planned:
            yield Padding(_load(pulse), (0, 0, 0, 2))
            yield Padding(_counters(pulse), (1, 0, 0, 2))

    def _headline(self) -> RenderableType:
        line = Table.grid(padding=(0, 1))
        phase, act_now = self._phase, self._act
        what = phase.sentence if phase else _("Beginning")
        text = Text.assemble((what, "bold"), f"  {time.monotonic() - self._phase_begun:.0f} s")
        if self._detail and phase is not Phase.LOAD:
            text.append(f"  {self._detail}", "dim")
        if act_now is not None:
            number, act = act_now
            text.append(f"   {_('Act {number}').format(number=number)}: {act.title}", _colour(number))
        line.add_row(self._spinner, text)
        return line

    def _finish_phase(self) -> None:
        if self._phase is not None:
            seconds = time.monotonic() - self._phase_begun
            self._console.print(Text.assemble(("✓ ", "green"), self._phase.sentence, (f"  {seconds:.1f} s", "dim")))
        self._phase = None


def _load(pulse: Pulse) -> RenderableType:
    done, planned = pulse.orders, pulse.planned
    line = Table.grid(padding=(0, 2))
    goal = _("{done} of {planned} orders").format(done=done, planned=planned)
    more = _("and more, until the last act is over") if done > planned else ""
    line.add_row(ProgressBar(total=planned, completed=min(done, planned), width=40), Text(goal), Text(more, "dim"))
    return line


def _counters(pulse: Pulse) -> RenderableType:
    table = Table(box=None, show_header=False, padding=(0, 1), pad_edge=False)
    table.add_column(justify="right", style="bold", min_width=8, no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(style="dim", no_wrap=True, overflow="ellipsis")
    for counter in counters(pulse):
        table.add_row(f"{counter.value:,}", counter.name, counter.remark)
    return table


def _colour(number: int) -> str:
    return ACT_COLOURS[(number - 1) % len(ACT_COLOURS)]
