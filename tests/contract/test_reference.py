"""The pages in docs/reference say what the code does."""

import re
from functools import cache

import pytest

from infra.contracts.__main__ import SERVICES, openapi
from infra.local.home import PROJECT
from infra.reference import settings
from infra.reference.pages import CONTENTS, FOLDER, pages


@cache
def made() -> dict[str, str]:
    return pages({service: openapi(service) for service in SERVICES})


@pytest.mark.parametrize("name", ["README.md", *CONTENTS])
def test_a_page_of_the_reference_is_fresh(name: str) -> None:
    """Whoever adds a setting, metric, command or endpoint runs `make contracts` and sees the difference in review.

    Seen red with another default of RELAY_LEASE_SECONDS.
    """
    assert (FOLDER / name).read_text(encoding="utf-8") == made()[name], "stale: run `make contracts`"


def test_no_page_of_something_gone_is_left() -> None:
    """Nobody looks for a page that nobody makes."""
    assert {path.name for path in FOLDER.glob("*.md")} == set(made())


def test_every_variable_of_the_local_stack_is_listed() -> None:
    """Those that are read without a dataclass. Seen red with ONCE_JARS left out."""
    sources = "\n".join(path.read_text(encoding="utf-8") for path in (PROJECT / "infra").rglob("*.py"))
    read = set(re.findall(r"environ(?:\.get\(|\[)[\"'](ONCE_\w+|STACK)[\"']", sources))
    assert read
    assert read <= set(settings.LOCAL)


def test_every_metric_of_an_alert_is_listed() -> None:
    """An alert over a name that nobody counts would never fire."""
    rules = (PROJECT / "infra" / "prometheus" / "alerts.yml").read_text(encoding="utf-8")
    asked = set(re.findall(r"\b(?:outbox|relay|consumer|http|billing|housekeeper|notifications)_\w+", rules))
    listed = set(re.findall(r"^\| `(\w+)` \| \w+ \|", made()["metrics.md"], re.MULTILINE))
    assert asked
    assert {re.sub(r"_(bucket|sum|count)$", "", name) for name in asked} - listed == set()
