"""Tell a run on a terminal: the story scrolls by, and below it a picture of what is going on now."""

import threading
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
    """Draws at its own pace; what a run tells only changes what is drawn next. Threads may tell at the same time."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(self, console=console, refresh_per_second=8, transient=True)
        self._lock = threading.RLock()
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
        with self._lock:
            self._finish_phase()
            self._phase, self._phase_begun, self._detail = phase, time.monotonic(), ""

    def act_begins(self, number: int, act: Act) -> None:
        with self._lock:
            self._act, self._before = (number, act), self._pulse
            colour = _colour(number)
            heading = Text.assemble((_("Act {number}").format(number=number), "bold"), "  ", (act.title, "bold"))
            panel = Panel(
                Text(act.story), title=heading, title_align="left", border_style=colour, box=box.HEAVY, padding=(0, 1)
            )
            self._console.print(Padding(panel, (1, 0, 0, 0)))

    def act_ends(self, number: int, act: Act) -> None:  # noqa: ARG002
        with self._lock:
            for sentence in what_an_act_did(self._before, self._pulse):
                self._console.print(Text.assemble(("  → ", _colour(number)), sentence))
            self._act = None

    def say(self, sentence: str) -> None:
        self._detail = sentence

    def pulse(self, pulse: Pulse) -> None:
        self._pulse = pulse

    # What is drawn

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        with self._lock:
            yield Text()
            yield self._headline()
            if self._pulse.planned:
                yield Padding(self._load(), (0, 0, 0, 2))
                yield Padding(_counters(self._pulse), (1, 0, 0, 2))

    def _headline(self) -> RenderableType:
        line = Table.grid(padding=(0, 1))
        what = self._phase.sentence if self._phase else _("Beginning")
        text = Text.assemble((what, "bold"), f"  {time.monotonic() - self._phase_begun:.0f} s")
        if self._detail and self._phase is not Phase.LOAD:
            text.append(f"  {self._detail}", "dim")
        if self._act is not None:
            number, act = self._act
            text.append(f"   {_('Act {number}').format(number=number)}: {act.title}", _colour(number))
        line.add_row(self._spinner, text)
        return line

    def _load(self) -> RenderableType:
        done, planned = self._pulse.orders, self._pulse.planned
        line = Table.grid(padding=(0, 2))
        goal = _("{done} of {planned} orders").format(done=done, planned=planned)
        more = _("and more, until the last act is over") if done > planned else ""
        line.add_row(ProgressBar(total=planned, completed=min(done, planned), width=40), Text(goal), Text(more, "dim"))
        return line

    def _finish_phase(self) -> None:
        if self._phase is not None:
            seconds = time.monotonic() - self._phase_begun
            self._console.print(Text.assemble(("✓ ", "green"), self._phase.sentence, (f"  {seconds:.1f} s", "dim")))
        self._phase = None


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
