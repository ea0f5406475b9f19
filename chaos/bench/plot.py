"""A strip plot as SVG: one line per rival, a dot per round, a bar at the median."""

from collections.abc import Iterator
from html import escape
from statistics import median

from chaos.bench.rounds import Rates

WIDTH, LEFT, RIGHT, TOP, ROW = 860, 290, 110, 56, 34
INK, QUIET, DOT, BAR = "#1f2933", "#d9dee3", "#2b7bba", "#c2410c"


def strip_plot(title: str, unit: str, rates: Rates) -> str:
    """Draw every round's rate on an axis that begins at 0."""
    height = TOP + ROW * len(rates) + 36
    most = max(max(values) for values in rates.values())
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="system-ui, sans-serif" '
        f'font-size="13" fill="{INK}" role="img" aria-label="{escape(title, quote=True)}">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="16" y="26" font-size="15" font-weight="600">{escape(title)}</text>',
        f'<text x="{WIDTH - 16}" y="26" text-anchor="end" fill="#52606d">{escape(unit)}</text>',
        *(line for row, rival in enumerate(rates) for line in _row(row, rival, rates[rival], most)),
        *_axis(height, most),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _row(row: int, rival: str, values: list[float], most: float) -> Iterator[str]:
    y, middle = TOP + ROW * row + ROW // 2, median(values)
    yield f'<text x="{LEFT - 14}" y="{y + 4}" text-anchor="end">{escape(rival)}</text>'
    yield f'<line x1="{LEFT}" y1="{y}" x2="{WIDTH - RIGHT}" y2="{y}" stroke="{QUIET}"/>'
    for value in values:
        yield f'<circle cx="{_x(value, most):.1f}" cy="{y}" r="4.5" fill="{DOT}" fill-opacity="0.55"/>'
    x = _x(middle, most)
    yield f'<line x1="{x:.1f}" y1="{y - 10}" x2="{x:.1f}" y2="{y + 10}" stroke="{BAR}" stroke-width="2.5"/>'
    yield f'<text x="{WIDTH - RIGHT + 14}" y="{y + 4}" font-weight="600">{middle:,.0f}</text>'


def _axis(height: int, most: float) -> Iterator[str]:
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        x = _x(most * share, most)
        yield f'<text x="{x:.1f}" y="{height - 12}" text-anchor="middle" fill="#52606d">{most * share:,.0f}</text>'


def _x(value: float, most: float) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * value / most
