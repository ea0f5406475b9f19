"""How the command line looks: one console for results, one for trouble, and a list of steps that fills up."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

from rich.console import Console
from rich.text import Text

from infra.local.server import Report

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


def command(words: str) -> str:
    """Return how a person types a command of ours here: in a container it is reached through compose."""
    return f"{os.environ.get('ONCE_COMMAND', 'once')} {words}"


def complain(message: str) -> None:
    err.print(Text("✗ ", "bold red") + Text(message))


@contextmanager
def steps(title: str) -> Iterator[Report]:
    """Show what is being done: a spinner with the step in hand, and a line with its time for each that is done."""
    out.print(Text(title, "bold"))
    with out.status("", spinner="dots") as status:
        begun = monotonic()
        current: str | None = None

        def finish() -> None:
            if current is not None:
                out.print(Text("  ✓ ", "green") + Text(current) + Text(f"  {monotonic() - begun:.1f} s", "dim"))

        def report(line: str) -> None:
            nonlocal begun, current
            finish()
            begun, current = monotonic(), line
            status.update(Text(line + " …"))

        yield report
        finish()


def duration(seconds: float) -> str:
    """Write a duration as a person would: 0.4 s, 12 s, 3 min, 2 h 5 min, 4 days."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    if seconds < 172_800:
        return f"{int(seconds // 3600)} h {int(seconds % 3600 // 60)} min"
    return f"{seconds / 86_400:.0f} days"
