"""``once retention``: what is kept for how long, and deleting now what is too old."""

import json
from dataclasses import asdict
from datetime import UTC, datetime
from gettext import gettext as _
from typing import Any

import click
from rich.table import Table
from rich.text import Text

from infra.cli.console import duration, out, steps
from infra.local.deployment import Deployment
from infra.local.services import HOUSEHOLDS
from infra.one_shot import ask
from infra.stack import open_stack
from infra.status.retention import Store, stores


@click.group()
def retention() -> None:
    """Show and delete what is too old of outboxes, inboxes and parking lots. Housekeepers do it four times a day."""


@retention.command()
@click.option("--json", "as_json", is_flag=True, help=_("For programs: one JSON object."))
def status(as_json: bool) -> None:
    """Show what is there, how old it is, what would go, and when it was last done."""
    deployment = _deployment() if not as_json else open_stack().deployment()
    found = stores(deployment)
    if as_json:
        click.echo(json.dumps([asdict(each) for each in found], default=str))
        return
    out.print(_table(found))
    for each in found:
        for line in each.kept_because:
            out.print(Text(f"{each.database}, {each.what}: {line}", "yellow"), soft_wrap=True)


@retention.command()
def run() -> None:
    """Delete now what is too old, in small batches beside everything else."""
    deployment = _deployment()
    for service in HOUSEHOLDS:
        answer: dict[str, Any] = ask(deployment, f"services.{service}", service, f"{service}_housekeeper", "retention")
        if not answer:
            out.print(Text(_("{service}: nothing is too old.").format(service=service), "green"))
        for done in answer.values():
            words = _("{service}, {what}: {count} deleted.")
            out.print(Text(words.format(service=service, what=done["what"], count=done["deleted"]), "green"))
            for line in done["kept_because"]:
                out.print(Text(f"  {line}", "yellow"), soft_wrap=True)


def _deployment() -> Deployment:
    stack = open_stack()
    with steps(_("Looking at the databases")) as report:
        stack.servers_up(report)
    return stack.deployment()


def _table(found: list[Store]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name in (_("what"), _("oldest"), _("newest"), _("rows"), _("MB"), _("kept"), _("would go"), _("last run")):
        right = name in {_("rows"), _("MB"), _("kept")}
        table.add_column(name, justify="right" if right else "left", no_wrap=True)
    for each in found:
        table.add_row(
            f"{each.database} {each.what}",
            str(each.oldest or "–"),
            str(each.newest or "–"),
            str(each.rows),
            f"{each.size_bytes / 1e6:.1f}",
            f"{each.kept_days} d",
            Text(f"{each.would_go} {each.unit}", "yellow" if each.would_go else "dim"),
            _ago(each.ran_at),
        )
    return table


def _ago(when: datetime | None) -> str:
    if when is None:
        return _("never")
    return _("{age} ago").format(age=duration((datetime.now(UTC) - when).total_seconds()))
