"""All pages of docs/reference by their file's name."""

from collections.abc import Mapping
from typing import Any, Final

from infra.local.home import PROJECT
from infra.reference import commands, errors, events, http, metrics, settings
from infra.reference.markdown import table

FOLDER: Final = PROJECT / "docs" / "reference"

CONTENTS: Final = {
    "settings.md": "every environment variable, with default, unit and meaning, by service",
    "metrics.md": "what each process counts, and the alerts",
    "commands.md": "`once` and `make`",
    "http.md": "endpoints and bodies",
    "events.md": "events and commands: channels, headers, payloads",
    "errors.md": "exit codes, problem types, exceptions",
}


def pages(openapi: Mapping[str, dict[str, Any]]) -> dict[str, str]:
    """Return every page; ``openapi`` is what each service that has a contract says of its HTTP API."""
    return {
        "README.md": _index(),
        "settings.md": settings.text(),
        "metrics.md": metrics.text(),
        "commands.md": commands.text(),
        "http.md": http.text(openapi),
        "events.md": events.text(),
        "errors.md": errors.text(openapi),
    }


def _index() -> str:
    rows = ((f"[{name.removesuffix('.md')}]({name})", what) for name, what in CONTENTS.items())
    return (
        "# Reference\n\nMade from the code by `make contracts`; a test fails when a page is stale.\n\n"
        f"{table(('page', 'what is in it'), rows)}\n"
    )
