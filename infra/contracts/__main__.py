"""Write contracts, docs/saga.md, docs/reference, the tables' SQL: ``python -m infra.contracts [FOLDER]``."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from infra.contracts import asyncapi, saga, schemas, tables
from infra.local.home import PROJECT
from infra.reference import pages

FOLDER = PROJECT / "docs" / "contracts"
SAGA = PROJECT / "docs" / "saga.md"
SERVICES = ("orders", "analytics")
"""Those whose HTTP API has a contract."""


def documents() -> dict[str, dict[str, Any]]:
    """Return every document by its file's name."""
    return {
        "asyncapi.json": asyncapi.document(),
        **{f"{service}.openapi.json": openapi(service) for service in SERVICES},
        **schemas.documents(),
    }


def openapi(service: str) -> dict[str, Any]:
    """Return what a service says of its HTTP API."""
    # Asked of the service itself: nothing out here knows its insides.
    printed = subprocess.run(
        [sys.executable, "-m", f"services.{service}", "openapi"], check=True, capture_output=True, cwd=PROJECT
    )
    found: dict[str, Any] = json.loads(printed.stdout)
    return found


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for name, document in documents().items():
        (folder / name).write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    if folder == FOLDER:
        SAGA.write_text(saga.page(), encoding="utf-8")
        pages.FOLDER.mkdir(exist_ok=True)
        for name, text in pages.pages({service: openapi(service) for service in SERVICES}).items():
            (pages.FOLDER / name).write_text(text, encoding="utf-8")
        for name, script in tables.scripts().items():
            (tables.FOLDER / name).write_text(script, encoding="utf-8")


if __name__ == "__main__":
    main()
