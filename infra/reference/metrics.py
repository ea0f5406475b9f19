"""The page of metrics: what each service counts, and the alerts over it."""

import re
from collections.abc import Iterator
from typing import Any, Final

from infra.local.home import PROJECT
from infra.reference.described import described
from infra.reference.markdown import code, page, table

ALERTS: Final = PROJECT / "infra" / "prometheus" / "alerts.yml"


def text() -> str:
    return page(
        "Metrics",
        "Every process serves Prometheus' text format at `/metrics`, on a port that `once status` lists; APIs on their "
        "own. A histogram has `_bucket`, `_sum` and `_count` besides. Counters are there from the start, at 0.",
        "Which process has which follows from what it runs: a relay has those of the relay, a member of a group those "
        "of the consumer.",
        *_sections(),
        "## Alerts",
        f"In `{ALERTS.relative_to(PROJECT)}`, tested by `promtool`'s own rule tests where that is installed.",
        table(("alert", "tells that", "what it means, and where to look"), _alerts()),
    )


def _sections() -> Iterator[str]:
    found = described()
    for module, counted in found["metrics"].items():
        yield f"## `{module}`"
        yield from found["docs"][module]
        yield table(("metric", "type", "labels", "what it is"), map(_row, counted))


def _row(metric: dict[str, Any]) -> tuple[str, str, str, str]:
    return code(metric["name"]), metric["type"], ", ".join(map(code, metric["labels"])), metric["help"]


def _alerts() -> list[tuple[str, str, str]]:
    # Read by form, not as YAML: services and their tools do without a YAML parser.
    source = ALERTS.read_text(encoding="utf-8")
    found = re.findall(r"- alert: (\w+)\n(?:.*\n)*?\s+summary: \"(.+)\"\n\s+description: \"(.+)\"", source)
    return [(code(name), _plain(summary), _plain(description)) for name, summary, description in found]


def _plain(template: str) -> str:
    """Say what is filled in: ``{{ $labels.group }}`` is *group*, ``{{ $value }}`` is *N*."""
    return re.sub(r"\{\{ *\$labels\.(\w+) *\}\}", r"*\1*", template).replace("{{ $value }}", "*N*")
