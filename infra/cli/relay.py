"""``once relay``: where the relays of an outbox stand, and what an operator may do with their positions.

The work is done by the relay's own program (``python -m services.relay VERB``), run here with the environment of the
deployment and the role that the verb needs. So it is the same on both stacks, and this command knows no table.
"""

import json
from gettext import gettext as _
from typing import Any

import click
from rich.table import Table
from rich.text import Text

from infra import one_shot
from infra.cli.console import command, duration, out, steps
from infra.local.deployment import Deployment
from infra.local.services import OUTBOXES
from infra.postgres.roles import owner
from infra.stack import open_stack

_source = click.argument("source", type=click.Choice(OUTBOXES))
_yes = click.option("--yes", is_flag=True, help=_("Do not ask."))
_dry_run = click.option("--dry-run", is_flag=True, help=_("Say what would happen, and change nothing."))
_json = click.option("--json", "as_json", is_flag=True, help=_("For programs: one JSON object."))


@click.group()
def relay() -> None:
    """Show and move the positions of the relays."""


@relay.command()
@_json
def status(as_json: bool) -> None:
    """Show lanes, owners, leases, what is pending, and what is parked, of each outbox."""
    deployment = open_stack().deployment() if as_json else _deployment()
    found = {source: ask(deployment, source, f"{source}_relay", "status") for source in OUTBOXES}
    if as_json:
        click.echo(json.dumps(found, indent=2))
        return
    for source, overview in found.items():
        out.print(positions_table(source, overview["positions"]))
        parked = ", ".join(f"{count} {state}" for state, count in overview["parked"].items()) or _("nothing")
        out.print(Text(_("parked or held: ")) + Text(parked, "red" if overview["parked"] else "dim") + Text("\n"))


@relay.command()
@_source
@click.option("--to", required=True, metavar="ID|TIME|earliest", help=_("Where to begin again."))
@click.option("--destination", type=click.Choice(("event", "command")), default="event", show_default=True)
@click.option("--lanes", default="", help=_("Such as 0,3,7. Default: all."))
@_dry_run
@_yes
def rewind(source: str, to: str, destination: str, lanes: str, dry_run: bool, yes: bool) -> None:
    """Publish again what SOURCE published from a place in its outbox on. Relays may run; inboxes suppress copies."""
    deployment = _deployment()
    asked = ["--to", to, "--destination", destination, *(["--lanes", lanes] if lanes else [])]
    plan = ask(deployment, source, f"{source}_relay", "rewind", *asked, "--dry-run")
    out.print(Text(_rewind_words(source, plan)))
    if dry_run or not plan["rows"]:
        out.print(Text(_("Nothing was changed."), "dim"))
        return
    _confirm(yes, _("Send them again?"))
    done = ask(deployment, source, f"{source}_relay", "rewind", *asked)
    words = _("{rows} rows are on their way again, from id {first} on. `{command}` shows how far it has come.")
    out.print(
        Text(words.format(rows=done["rows"], first=done["first_id"], command=command("relay status")), "green"),
        soft_wrap=True,
    )


@relay.command()
@_source
@click.option("--xids-kept", is_flag=True, help=_("After pg_upgrade: only the cluster's identity is new."))
@_dry_run
@_yes
def rebase(source: str, xids_kept: bool, dry_run: bool, yes: bool) -> None:
    """Take over SOURCE's outbox in a cluster that did not write its positions: a restored dump, a logical copy."""
    deployment = _deployment()
    asked = ["--xids-kept"] if xids_kept else []
    plan = ask(deployment, source, owner(source), "rebase", *asked, "--dry-run")
    out.print(Text(_rebase_words(source, plan, xids_kept)))
    if dry_run:
        out.print(Text(_("Nothing was changed."), "dim"))
        return
    _confirm(yes, _("Rebase it?"))
    done = ask(deployment, source, owner(source), "rebase", *asked)
    if done["sequence_set_to"]:
        out.print(Text(_("The sequence of ids was behind; it stands at {id} now.").format(id=done["sequence_set_to"])))
    words = _("Rebased: {pending} rows are pending. Relays that had stopped come back with `{command}`.")
    out.print(Text(words.format(pending=done["pending"], command=command("up")), "green"), soft_wrap=True)


def ask(deployment: Deployment, source: str, role: str, *arguments: str) -> Any:
    """Run a verb of the relay's program as a role, and return its answer. Raises StackError with its words."""
    return one_shot.ask(deployment, "services.relay", source, role, *arguments, "--json")


def positions_table(source: str, positions: list[dict[str, Any]]) -> Table:
    first = positions[0] if positions else {"system_identifier": None, "timeline": None}
    title = _("{source}: cluster {identifier}, timeline {timeline}").format(
        source=source, identifier=first["system_identifier"] or "–", timeline=first["timeline"] or "–"
    )
    table = Table(
        box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold", title=title, title_justify="left"
    )
    for name in (_("destination"), _("lanes"), _("owner"), _("epoch"), _("lease"), _("doing"), _("pending"),
                 _("oldest"), _("stalls")):  # fmt: skip
        table.add_column(name, min_width=15 if name == _("owner") else None)
    for each in positions:
        lease = each["lease_seconds"]
        expired = lease is not None and lease < 0
        # Nobody has ever worked there, and there is nothing to do: a destination that this service does not use.
        idle = not each["epoch"] and not each["pending"]
        table.add_row(
            each["destination"],
            lanes_in_short(each["lanes"]),
            Text(each["owner"] or _("nobody"), "dim" if idle else "" if each["owner"] and not expired else "red"),
            str(each["epoch"]),
            "–" if lease is None else Text(_("ran out"), "red") if expired else duration(lease),
            each["doing"],
            Text(str(each["pending"]), "yellow" if each["pending"] else "green"),
            duration(each["oldest_seconds"]) if each["pending"] else "–",
            Text(str(each["stalls"]), "red" if each["stalls"] else "dim"),
        )
    return table


def lanes_in_short(lanes: list[int]) -> str:
    """Write runs of neighbours as from and to."""
    runs: list[list[int]] = []
    for lane in sorted(lanes):
        if runs and lane == runs[-1][-1] + 1:
            runs[-1].append(lane)
        else:
            runs.append([lane])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in runs)


def _deployment() -> Deployment:
    stack = open_stack()
    with steps(_("Looking at the database")) as report:
        stack.servers_up(report)
    return stack.deployment()


def _rewind_words(source: str, plan: dict[str, Any]) -> str:
    words = _("{rows} {destination} rows that {source} has published, from id {first} on, would go out again.").format(
        rows=plan["rows"], destination=plan["destination"], source=source, first=plan["first_id"]
    )
    if plan["oldest_at"] is None:
        return words
    return f"{words} " + _(
        "The oldest is from {since}: inboxes know what they have seen within their window (14 days unless set), and "
        "nothing of what is older."
    ).format(since=plan["oldest_at"])


def _rebase_words(source: str, plan: dict[str, Any], xids_kept: bool) -> str:
    before = plan["before"]["identifier"] if plan["before"] else _("none yet")
    words = _("Positions of {source}: written in cluster {before}; this is cluster {now}.").format(
        source=source, before=before, now=plan["now"]["identifier"]
    )
    if xids_kept:
        return f"{words} " + _("They are taken over as they stand: right after pg_upgrade, and never after a dump.")
    return f"{words} " + _(
        "{pending} rows would be pending and go out again or for the first time; {done} are taken as published."
    ).format(pending=plan["pending"], done=plan["done"])


def _confirm(yes: bool, question: str) -> None:
    if not yes:
        click.confirm(question, abort=True)
