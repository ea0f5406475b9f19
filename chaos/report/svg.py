"""Draw the charts as SVG text. Colours come from the page's style, so that they follow light, dark and paper."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape

from chaos.report.figures import Span
from chaos.report.times import Axis, quantile

WIDTH, LEFT, RIGHT = 1000.0, 190.0, 12.0
PLOT = WIDTH - LEFT - RIGHT
Window = tuple[str, float, float, list[float]]
MOST_DOTS = 1500


class Chart:
    """One picture over the run's time axis: put things in, then take the text out."""

    def __init__(
        self, axis: Axis, height: float, title: str, windows: Sequence[Window] = (), top: float = 10.0
    ) -> None:
        self.axis, self.height, self.top = axis, height, top
        self._title = title
        self._parts: list[str] = []
        self._bands(windows)

    def x(self, moment: float) -> float:
        return LEFT + self.axis.share(moment) * PLOT

    def add(self, element: str) -> None:
        self._parts.append(element)

    def label(self, y: float, text: str, kind: str = "tick") -> None:
        self.add(f'<text class="{kind}" x="{LEFT - 8:.0f}" y="{y + 3.5:.1f}" text-anchor="end">{escape(text)}</text>')

    def line(self, y: float) -> None:
        self.add(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')

    def _bands(self, windows: Sequence[Window]) -> None:
        for fault, begin, end, hits in windows:
            width = max(1.5, self.x(end) - self.x(begin))
            self.add(
                f'<rect class="band" x="{self.x(begin):.1f}" y="{self.top}" width="{width:.1f}" '
                f'height="{self.height}"><title>{escape(fault)}</title></rect>'
            )
            for hit in hits:
                at = f"{self.x(hit):.1f}"
                self.add(
                    f'<line class="hit" x1="{at}" x2="{at}" y1="{self.top}" y2="{self.top + self.height}">'
                    f"<title>{escape(fault)}</title></line>"
                )

    def text(self) -> str:
        bottom = self.top + self.height
        for tick in self.axis.ticks():
            at = self.x(self.axis.begin + tick)
            self.add(f'<line class="grid" x1="{at:.1f}" x2="{at:.1f}" y1="{bottom}" y2="{bottom + 4}"/>')
            self.add(f'<text class="tick" x="{at:.1f}" y="{bottom + 16}" text-anchor="middle">{tick:g} s</text>')
        return picture(bottom + 22, self._title, "".join(self._parts))


def series(axis: Axis, lines: Sequence[tuple[str, Sequence[int]]], windows: Sequence[Window], title: str) -> str:
    """Counts over time, one line for each kind."""
    chart = Chart(axis, 200.0, title, windows)
    top = max([1, *(max(values) for _name, values in lines)])
    for share in (0.0, 0.5, 1.0):
        y = chart.top + chart.height * (1 - share)
        chart.line(y)
        chart.label(y, f"{top * share:,.0f}")
    for number, (name, values) in enumerate(lines):
        step = PLOT / len(values)
        points = [
            f"{LEFT + step * (place + 0.5):.1f},{chart.top + chart.height * (1 - value / top):.1f}"
            for place, value in enumerate(values)
        ]
        chart.add(f'<polyline class="s{number}" points="{" ".join(points)}"><title>{escape(name)}</title></polyline>')
    return chart.text()


def fault_lines(axis: Axis, windows: Sequence[Window], title: str) -> str:
    """Each fault in a row of its own: its window, and a mark for every time it struck."""
    chart = Chart(axis, 22.0 * len(windows), title, top=4.0)
    for number, (fault, begin, end, hits) in enumerate(windows):
        y = chart.top + 22.0 * number
        width = max(2.0, chart.x(end) - chart.x(begin))
        chart.add(f'<rect class="band" x="{chart.x(begin):.1f}" y="{y + 3}" width="{width:.1f}" height="16" rx="3"/>')
        for hit in hits:
            chart.add(f'<circle class="strike" cx="{chart.x(hit):.1f}" cy="{y + 11}" r="3"/>')
        chart.label(y + 11, fault, "name")
    return chart.text()


def heat(axis: Axis, partitions: Sequence[tuple[str, Sequence[int]]], windows: Sequence[Window], title: str) -> str:
    """A row for each partition, the darker the further behind; equal neighbours are one rectangle."""
    row = 9.0
    chart = Chart(axis, row * len(partitions), title, windows, top=4.0)
    most = max([1, *(max(values) for _name, values in partitions)])
    for number, (name, values) in enumerate(partitions):
        y = chart.top + row * number
        if number % 4 == 0:
            chart.label(y + row / 2, name)
        for begin, end, value in _runs(values):
            x, width = LEFT + PLOT * begin / len(values), PLOT * (end - begin) / len(values)
            shade = 0.12 + 0.88 * math.log1p(value) / math.log1p(most)
            chart.add(
                f'<rect class="lag" x="{x:.1f}" y="{y + 0.5:.1f}" width="{width:.1f}" height="{row - 1}" '
                f'fill-opacity="{shade:.2f}"><title>{escape(name)}: {value}</title></rect>'
            )
    return chart.text()


def _runs(values: Sequence[int]) -> Iterable[tuple[int, int, int]]:
    begin = 0
    for place in range(1, len(values) + 1):
        if place == len(values) or values[place] != values[begin]:
            if values[begin]:
                yield begin, place, values[begin]
            begin = place


def owned(
    axis: Axis, units: Mapping[str, Sequence[Span]], colours: Mapping[str, int], windows: Sequence[Window], title: str
) -> str:
    """A row for each lane or partition, in the colour of whoever held it."""
    row = 9.0
    chart = Chart(axis, row * len(units), title, top=4.0)
    for number, (unit, spans) in enumerate(units.items()):
        y = chart.top + row * number
        if number % 4 == 0:
            chart.label(y + row / 2, unit)
        for span in spans:
            width = max(0.5, chart.x(span.end) - chart.x(span.begin))
            chart.add(
                f'<rect class="o{colours[span.who]}" x="{chart.x(span.begin):.1f}" y="{y + 0.5:.1f}" '
                f'width="{width:.1f}" height="{row - 1}"><title>{escape(unit)}: {escape(span.who)}</title></rect>'
            )
    for _fault, _begin, _end, hits in windows:
        for hit in hits:
            at = f"{chart.x(hit):.1f}"
            chart.add(f'<line class="hit" x1="{at}" x2="{at}" y1="{chart.top}" y2="{chart.top + chart.height}"/>')
    return chart.text()


def dots(axis: Axis, found: Sequence[tuple[float, float]], windows: Sequence[Window], title: str) -> str:
    """One dot for each invoice: when it came, and after how long, on a logarithmic scale."""
    chart = Chart(axis, 200.0, title, windows)
    low, high = _decades(found)
    for power in range(low, high + 1):
        y = chart.top + chart.height * (1 - (power - low) / (high - low))
        chart.line(y)
        chart.label(y, duration(10.0**power))
    for moment, taken in found[:: max(1, len(found) // MOST_DOTS)]:
        share = (math.log10(max(taken, 10.0**low)) - low) / (high - low)
        chart.add(
            f'<circle class="dot" cx="{chart.x(moment):.1f}" cy="{chart.top + chart.height * (1 - share):.1f}" r="2"/>'
        )
    return chart.text()


def _decades(found: Sequence[tuple[float, float]]) -> tuple[int, int]:
    taken = [max(0.0005, seconds) for _moment, seconds in found]
    low, high = math.floor(math.log10(min(taken))), math.ceil(math.log10(max(taken)))
    return low, max(high, low + 1)


def distribution(found: Sequence[tuple[float, float]], title: str) -> str:
    """How many invoices took how long, and the median and two high quantiles."""
    low, high = _decades(found)
    bars, height, top = 60, 120.0, 18.0
    counts = [0] * bars
    for _moment, taken in found:
        share = (math.log10(max(taken, 10.0**low)) - low) / (high - low)
        counts[min(bars - 1, max(0, int(share * bars)))] += 1
    parts = [
        f'<rect class="bar" x="{LEFT + PLOT * n / bars + 0.5:.1f}" y="{top + height * (1 - count / max(counts)):.1f}" '
        f'width="{PLOT / bars - 1:.1f}" height="{height * count / max(counts):.1f}"/>'
        for n, count in enumerate(counts)
    ]

    def x(taken: float) -> float:
        return LEFT + PLOT * min(1.0, max(0.0, (math.log10(max(taken, 1e-4)) - low) / (high - low)))

    def name(moment: float, y: float, kind: str, text: str, anchor: str = "middle") -> None:
        parts.append(f'<text class="{kind}" x="{moment:.1f}" y="{y}" text-anchor="{anchor}">{text}</text>')

    for power in range(low, high + 1):
        name(x(10.0**power), top + height + 16, "tick", duration(10.0**power))
    ordered = sorted(taken for _moment, taken in found)
    for label, share, anchor in (("p50", 0.5, "middle"), ("p95", 0.95, "end"), ("p99", 0.99, "start")):
        at = x(quantile(ordered, share))
        parts.append(f'<line class="hit" x1="{at:.1f}" x2="{at:.1f}" y1="{top - 2}" y2="{top + height}"/>')
        name(at, top - 6, "name", label, anchor)
    return picture(top + height + 22, title, "".join(parts))


def picture(height: float, title: str, parts: str) -> str:
    return f'<svg viewBox="0 0 {WIDTH:.0f} {height:.0f}" role="img" aria-label="{escape(title)}">{parts}</svg>'


def duration(taken: float) -> str:
    return f"{taken:g} s" if taken >= 1 else f"{taken * 1000:g} ms"
