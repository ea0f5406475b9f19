"""Put the page together: the verdict, the charts, the rules, the story, and what was tried."""

from __future__ import annotations

import json
from gettext import gettext as _
from itertools import pairwise
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader
from markupsafe import Markup

from chaos.checker.evidence import Evidence
from chaos.checker.lines import Unusable
from chaos.checker.result import Answer, Verdict
from chaos.checker.story import Moment, Story, left_out_in_words, turning_in_words
from chaos.checker.write import canaries_in_words, recovery_in_words, sentence_of
from chaos.report import figures, svg
from chaos.report.times import Axis, quantile

COLOURS = 10
NAME = "report.html"


def write(verdict: Verdict, evidence: Path, directory: Path) -> Path:
    """Write report.html about an evidence directory, over that of an earlier verdict, and return its path."""
    path = directory / NAME
    path.write_text(render(verdict, evidence), encoding="utf-8")
    return path


def render(verdict: Verdict, evidence: Path) -> str:
    """Return the page. What the evidence lacks is left out."""
    environment = Environment(loader=PackageLoader("chaos.report", "."), autoescape=True, trim_blocks=True)
    environment.globals |= {
        "_": _, "left_out_in_words": left_out_in_words, "turning_in_words": turning_in_words,
    }  # fmt: skip
    about = _document(evidence / "run.json")
    return environment.get_template("page.html").render(
        verdict=verdict,
        sentence=sentence_of(verdict.status),
        recovery=recovery_in_words(verdict),
        canaries=canaries_in_words(verdict),
        about=about.get("about") or {},
        run=about,
        settings=_document(evidence / "env.json"),
        charts=_charts(evidence),
        stories=[(story, _marked(story)) for story in verdict.stories if story.moments],
        answers={answer: [r for r in verdict.results if r.answer is answer] for answer in Answer},
    )


def _document(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _charts(directory: Path) -> dict[str, Any]:
    try:
        evidence = Evidence.of(directory)
        axis = Axis.of(evidence)
    except (Unusable, ValueError):
        return {}
    windows = figures.windows(evidence, axis)
    waiting = figures.outstanding(evidence, axis)
    taken = figures.latencies(evidence)
    charts: dict[str, Any] = {
        "faults": _svg(svg.fault_lines(axis, windows, _("Faults over time"))) if windows else None,
        "waiting": _svg(svg.series(axis, waiting, windows, _("What was outstanding over time"))),
        "waiting_names": [name for name, _values in waiting],
        "lags": {
            group: (_svg(svg.heat(axis, found, windows, group)), max(max(values) for _place, values in found))
            for group, found in figures.lags(evidence, axis).items()
            if found
        },
        "latency": None,
    }
    if taken:
        ordered = sorted(after for _moment, after in taken)
        charts["latency"] = _svg(svg.dots(axis, taken, windows, _("From commit to invoice over time")))
        charts["distribution"] = _svg(svg.distribution(taken, _("How long the invoices took")))
        charts["quantiles"] = {
            name: svg.duration(float(f"{quantile(ordered, share):.2g}"))
            for name, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("max", 1.0))
        }
    return {**charts, **_owners(directory, axis, windows)}


def _owners(directory: Path, axis: Axis, windows: list[svg.Window]) -> dict[str, Any]:
    held = figures.owners(directory, axis)
    pictures = {}
    for name, units in held.items():
        who = sorted({span.who for spans in units.values() for span in spans})
        colours = {instance: number % COLOURS for number, instance in enumerate(who)}
        pictures[name] = (_svg(svg.owned(axis, units, colours, windows, name)), colours)
    return {"owners": pictures}


def _svg(text: str) -> Markup:
    # Everything that came from the evidence was escaped where it was put in.
    return Markup(text)  # noqa: S704


def _marked(story: Story) -> list[tuple[Moment, list[str], list[str]]]:
    """Each moment with the faults that have begun since the one before, and those that are over."""
    during: list[tuple[str, ...]] = [(), *(moment.during for moment in story.moments)]
    changes = [([f for f in now if f not in old], [f for f in old if f not in now]) for old, now in pairwise(during)]
    return [(moment, *change) for moment, change in zip(story.moments, changes, strict=True)]
