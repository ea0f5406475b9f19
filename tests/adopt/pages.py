"""The code that stands in the pages of docs/adopt, to be run as it stands."""

import re
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "docs" / "adopt"

_BLOCK = re.compile(r"^```(?P<language>\w+)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: str, language: str) -> list[str]:
    """Return a page's blocks of a language, in their order."""
    text = (FOLDER / page).read_text(encoding="utf-8")
    return [found["code"] for found in _BLOCK.finditer(text) if found["language"] == language]


def python(page: str) -> dict[str, Any]:
    """Run a page's Python and return what it defines."""
    defined: dict[str, Any] = {"__name__": page}
    exec(compile("\n\n".join(blocks(page, "python")), str(FOLDER / page), "exec"), defined)
    return defined
