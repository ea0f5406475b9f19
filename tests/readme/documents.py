"""Command blocks of a document, and what it says one should see.

In the documents:

    ```console
    $ make demo
    ```

    <!-- you should see -->

    ```text
    PASS … orders, 528 invoices
    ```

Every line of the text block has to appear in the output, in this order; ``…`` stands for anything, and a number for any
number. A block of commands after ``<!-- not run: why -->`` is left out.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(
    r"(?:<!-- not run: (?P<why>[^>]+?) -->\s*)?^```console\n(?P<commands>.*?)^```\s*?$"
    r"(?:\s*<!-- you should see -->\s*^```text\n(?P<seen>.*?)^```\s*?$)?",
    re.MULTILINE | re.DOTALL,
)
_CODE = re.compile(r"^```(?P<language>\w+)\n(?P<text>.*?)^```\s*?$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\((?!\w+:)([\w./-]+\.md)(?:#[\w-]*)?\)")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass(frozen=True, slots=True)
class Block:
    document: str
    commands: tuple[str, ...]
    seen: tuple[str, ...]
    not_run: str | None = None

    def __str__(self) -> str:
        return f"{self.document}: {self.commands[0] if self.commands else '?'}"


def blocks(document: str, text: str) -> Iterator[Block]:
    for found in _BLOCK.finditer(text):
        commands = [line[2:] for line in _joined(found["commands"]) if line.startswith("$ ")]
        seen = [line for line in (found["seen"] or "").splitlines() if line.strip()]
        yield Block(document, tuple(commands), tuple(seen), found["why"])


def code(text: str, language: str) -> list[str]:
    """Return a document's blocks of a language."""
    return [found["text"] for found in _CODE.finditer(text) if found["language"] == language]


def linked(readme: Path) -> list[Path]:
    """Return a document and those that it links in this project, in order and once each."""
    links = _LINK.findall(readme.read_text(encoding="utf-8"))
    return list(dict.fromkeys([readme, *((readme.parent / link).resolve() for link in links)]))


def missing_line(seen: tuple[str, ...], output: str) -> str | None:
    """Return the first line that should be seen and is not, or None."""
    rest = _COLOUR.sub("", output)
    for line in seen:
        found = pattern(line).search(rest)
        if found is None:
            return line
        rest = rest[found.end() :]
    return None


def pattern(line: str) -> re.Pattern[str]:
    parts = [_words(part.strip()) for part in line.strip().split("…")]
    return re.compile("[^\n]*?".join(parts))


def _words(text: str) -> str:
    pieces = _NUMBER.split(text)
    escaped = [re.sub(r"(?:\\ |\s)+", r"\\s+", re.escape(piece)) for piece in pieces]
    return r"\d+(?:[.,]\d+)*".join(escaped)


def _joined(commands: str) -> list[str]:
    """Return the lines, those that end with a backslash together with the next."""
    return commands.replace("\\\n", " ").splitlines()
