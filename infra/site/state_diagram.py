"""Draw a state machine as SVG, from the Mermaid text that GitHub draws by itself: the site is read without a network.

States stand below one another. Each arrow leaves its state at the right, runs in a lane of its own, and ends in a line
of the other state that nothing else has, with its words beside it: so nothing can lie over anything else. Colours are
the page's own, light or dark.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Final

_ARROW: Final = re.compile(
    r"\s*(?P<source>\[\*\]|\w+) --> (?P<target>\[\*\]|\w+)(?:: (?P<on>.*?)(?: / (?P<tells>.*))?)?"
)
_OUTSIDE: Final = "[*]"

_BOX, _GAP, _LANE = 92, 16, 13
_IN, _OUT = 36, 12
"""Heights of a line for an arrow that comes in, with its two lines of words, and for one that goes out."""
_DOT: Final = 6
_CHARACTER: Final = 6.6
"""Width of one at 12 pixels, on the large side."""


class UndrawableError(ValueError):
    """The text has something that is not drawn here."""


@dataclass(frozen=True, slots=True)
class Arrow:
    source: str
    target: str
    words: Sequence[str]


@dataclass(slots=True)
class _State:
    name: str
    is_last: bool
    top: float = 0
    height: float = 0
    lines: dict[tuple[bool, int], float] = field(default_factory=dict)
    """(comes in, number of the arrow) → where it meets the box."""


def read(mermaid: str) -> tuple[list[Arrow], set[str]]:
    """Return the arrows between states, and the states that are ends. Raises UndrawableError."""
    head, *lines = [line for line in mermaid.splitlines() if line.strip()]
    if head.strip() != "stateDiagram-v2":
        raise UndrawableError(f"Only a stateDiagram-v2 is drawn for the site, and this is {head.strip()!r}.")
    arrows, ends = [], set()
    for line in lines:
        found = _ARROW.fullmatch(line)
        if found is None:
            raise UndrawableError(f"This line of a state diagram is not understood: {line.strip()!r}.")
        if found["target"] == _OUTSIDE:
            ends.add(found["source"])
        else:
            words = [found["on"] or "", *([f"→ {found['tells']}"] if found["tells"] else [])]
            arrows.append(Arrow(found["source"], found["target"], words))
    return arrows, ends


def svg(mermaid: str) -> str:
    """Return the drawing, for a page to take in as it is. Raises UndrawableError."""
    arrows, ends = read(mermaid)
    states = _placed(arrows, ends)
    lanes = _BOX + _LANE * (len(arrows) + 1)
    width = lanes + max((len(words) for arrow in arrows for words in arrow.words), default=0) * _CHARACTER
    height = max(state.top + state.height for state in states.values()) + 2
    told = "; ".join(f"{arrow.source} to {arrow.target}: {' '.join(arrow.words)}" for arrow in arrows)
    return "\n".join(
        [
            f'<svg role="img" aria-label="{escape(told)}" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}"',
            'style="max-width: 100%; height: auto" fill="none" stroke="currentColor" font-size="12">',
            *(line for state in states.values() for line in _box(state)),
            *(line for number, arrow in enumerate(arrows) for line in _arrow(number, arrow, states, lanes)),
            "</svg>",
        ]
    )


def _placed(arrows: Sequence[Arrow], ends: set[str]) -> dict[str, _State]:
    """Put the states below one another, each as high as its arrows need."""
    names = dict.fromkeys(name for arrow in arrows for name in (arrow.source, arrow.target))
    states = {name: _State(name, name in ends) for name in names}
    top = 1.0
    for state in states.values():
        state.top = y = top
        for comes_in, step in ((True, _IN), (False, _OUT)):
            for number, arrow in enumerate(arrows):
                if (arrow.target if comes_in else arrow.source) == state.name:
                    state.lines[comes_in, number] = y + step / 2
                    y += step
        state.height = max(y - top, _IN)
        if state.name == _OUTSIDE:  # a dot, where all begin
            state.height = 2 * _DOT
            state.lines = dict.fromkeys(state.lines, top + _DOT)
        top += state.height + _GAP
    return states


def _box(state: _State) -> Iterator[str]:
    middle = state.top + state.height / 2
    if state.name == _OUTSIDE:
        yield f'<circle cx="{_BOX - _DOT}" cy="{middle}" r="{_DOT}" fill="currentColor"/>'
        return
    yield f'<rect x="1" y="{state.top}" width="{_BOX - 1}" height="{state.height}" rx="6"/>'
    if state.is_last:
        yield f'<rect x="4" y="{state.top + 3}" width="{_BOX - 7}" height="{state.height - 6}" rx="4"/>'
    yield _text(_BOX / 2, middle + 4, state.name, "middle")


def _arrow(number: int, arrow: Arrow, states: dict[str, _State], lanes: float) -> Iterator[str]:
    lane = lanes - _LANE * (number + 0.5)  # earlier ones farther out: they go to states farther up
    start, end = states[arrow.source].lines[False, number], states[arrow.target].lines[True, number]
    yield f'<path d="M{_BOX} {start} H{lane} V{end} H{_BOX + 6}"/>'
    yield f'<path d="M{_BOX} {end} l8 -4 v8 z" fill="currentColor"/>'
    for place, words in enumerate(arrow.words):
        yield _text(lanes + 4, end + (place - (len(arrow.words) - 1) / 2) * 14 + 4, words, "start")


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" fill="currentColor" stroke="none">{escape(words)}</text>'
