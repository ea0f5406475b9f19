"""``once doctor``: what keeps the system from running well here, and the cure for each."""

from collections.abc import Sequence
from gettext import gettext as _

import click
from rich.padding import Padding
from rich.text import Text

from infra.cli.console import out
from infra.doctor import Finding, Level, examine
from infra.stack import open_stack

_SIGNS = {Level.OK: ("✓", "green"), Level.WARNING: ("!", "yellow"), Level.FAULT: ("✗", "bold red")}


@click.command()
def doctor() -> int:
    """Look for what keeps the system from running well, and say the cure. Exits with 1 when something is at fault."""
    return conclude(examine(open_stack()))


def conclude(findings: Sequence[Finding]) -> int:
    """Show findings and what they come to; return the exit code."""
    for finding in findings:
        show(finding)
    faults = sum(finding.level is Level.FAULT for finding in findings)
    warnings = sum(finding.level is Level.WARNING for finding in findings)
    if faults:
        out.print(Text(_("{count} to cure before the system can run.").format(count=faults), "bold red"))
    elif warnings:
        out.print(Text(_("It will run; {count} to look at.").format(count=warnings), "bold yellow"))
    else:
        out.print(Text(_("All is well."), "bold green"))
    return 1 if faults else 0


def show(finding: Finding) -> None:
    sign, style = _SIGNS[finding.level]
    out.print(Text(f"{sign} ", style) + Text(f"{finding.subject}: ", "bold") + Text(finding.found))
    if finding.cure:
        out.print(Padding(Text("→ " + finding.cure, "cyan"), (0, 4)))
