"""Small pieces of Markdown."""

from collections.abc import Iterable, Sequence


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; what a cell says may have no line of its own."""
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join("| " + " | ".join(_cell(each) for each in line) + " |" for line in lines)


def code(text: object) -> str:
    return f"`{text}`"


def page(title: str, *parts: str) -> str:
    """Return a page that says where it comes from."""
    made = "Made from the code by `make contracts`; a test fails when it is stale."
    return "\n\n".join([f"# {title}", made, *parts]) + "\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
