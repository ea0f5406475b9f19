"""A measurement as a page: table, plot and the machine it comes from.

Every figure is of one run; the page is written by the command that measured, never by hand.
"""

import os
import platform
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import psutil
from confluent_kafka import libversion

from chaos.bench.plot import strip_plot
from chaos.bench.rounds import Rates, Spread, ratio


@dataclass(frozen=True, slots=True)
class Comparison:
    """Rivals of one kind. ``reference`` is the one that the others are compared with."""

    title: str
    what: str
    unit: str
    rates: Rates
    reference: str
    aims: Sequence[str] = ()


def machine() -> str:
    """Say in a line what the figures come from."""
    cores, memory = os.cpu_count(), psutil.virtual_memory().total / 2**30
    return (
        f"{cores} cores, {memory:.0f} GB memory, {platform.system()} {platform.machine()}, "
        f"Python {platform.python_version()}, librdkafka {libversion()[0]}, psycopg {version('psycopg')}; "
        "PostgreSQL, Kafka and the rivals share these cores; durability settings at their safe values"
    )


def table(comparison: Comparison) -> list[str]:
    """Return the comparison as lines of Markdown."""
    head = f"| | {comparison.unit}: median (least–most) | × {comparison.reference} (least–most) |"
    return [head, "|---|---:|---:|", *(_row(comparison, rival) for rival in comparison.rates)]


def write(directory: Path, name: str, title: str, comparisons: Iterable[Comparison], notes: Iterable[str] = ()) -> Path:
    """Write ``name.md`` and a plot for each comparison. Returns the page."""
    directory.mkdir(parents=True, exist_ok=True)
    lines = [f"# {title}", "", f"Measured {datetime.now(UTC):%Y-%m-%d} by `once bench {name}` on: {machine()}.", ""]
    for number, comparison in enumerate(comparisons, start=1):
        picture = f"{name}-{number}.svg"
        (directory / picture).write_text(strip_plot(comparison.title, comparison.unit, comparison.rates))
        lines += [f"## {comparison.title}", "", comparison.what, "", *table(comparison), ""]
        lines += [f"* {aim}" for aim in comparison.aims] + [""] if comparison.aims else []
        lines += [f"![{comparison.title}]({picture})", ""]
    lines += [*notes, ""] if notes else []
    page = directory / f"{name}.md"
    page.write_text("\n".join(lines).rstrip() + "\n")
    return page


def shown(value: float) -> str:
    """Return a figure with as many digits as it is worth."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _row(comparison: Comparison, rival: str) -> str:
    rate = Spread.of(comparison.rates[rival])
    times = ratio(comparison.rates, rival, comparison.reference)
    return (
        f"| {rival} | {shown(rate.middle)} ({shown(rate.least)}–{shown(rate.most)}) "
        f"| {times.middle:.2f} ({times.least:.2f}–{times.most:.2f}) |"
    )
