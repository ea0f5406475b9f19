"""``once status``: who runs, how far each part is behind, and where to look."""

import json
from dataclasses import asdict
from datetime import UTC, datetime
from gettext import gettext as _
from typing import Any

import click
from rich.table import Table
from rich.text import Text

from infra.cli.console import duration, out
from infra.kafka.health import Health
from infra.stack import open_stack
from infra.status.picture import Picture, Process, take

_COLOURS = {"RUNNING": "green", "STARTING": "yellow", "BACKOFF": "red", "FATAL": "red", "EXITED": "red"}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="For programs: one JSON object.")
def status(as_json: bool) -> None:
    """Show who runs, how far each part is behind, and where to look."""
    picture = take(open_stack())
    if as_json:
        click.echo(json.dumps(as_object(picture), indent=2))
    elif not picture.servers and not picture.services:
        out.print(Text(_("Nothing runs. `once up` starts the system."), "bold"))
    else:
        show(picture)


def as_object(picture: Picture) -> dict[str, Any]:
    """Return the picture as plain data: names and meanings here are a promise to people's own tools."""
    return {
        "services": {each.name: _process(each) for each in picture.services},
        **{each.name: {**_process(each), "address": picture.addresses[each.name]} for each in picture.servers},
        "copies": _copies(picture),
        "groups": {name: {**asdict(lag), "parked": picture.parked.get(name)} for name, lag in picture.lag.items()},
        "engine": picture.engine,
        "feeds": {name: asdict(feed) for name, feed in picture.feeds.items()},
        "outbox": {
            name: {**asdict(backlog), **(asdict(picture.trend[name]) if name in picture.trend else {})}
            for name, backlog in picture.outbox.items()
        },
        "invoices_without_mail": picture.invoices_without_mail,
        "trouble": picture.trouble,
    }


def _process(each: Process) -> dict[str, Any]:
    return {
        "url": each.url,
        "pid": each.pid,
        "state": each.state.lower(),
        "since": each.since.isoformat() if each.since else None,
        "restarts": each.restarts,
        "memory_bytes": each.memory_bytes,
    }


def _copies(picture: Picture) -> dict[str, Any] | None:
    """Say of a cluster how its copies are."""
    if picture.kafka is None:
        return None
    return {
        "kafka": asdict(picture.kafka),
        "standbys": {name: asdict(replica) for name, replica in picture.replicas.items()},
    }


def show(picture: Picture) -> None:
    out.print(_processes(picture))
    if picture.kafka is not None:
        out.print(_copies_shown(picture, picture.kafka))
    if not picture.services:
        out.print(Text(_("Only the servers run. `once up` starts the services, too."), "bold"))
    if picture.lag:
        out.print(_groups(picture))
    if picture.outbox:
        out.print(_outboxes(picture))
        out.print(Text(_("Engine: "), "bold") + Text(picture.engine))
    if picture.feeds:
        out.print(_feeds(picture))
    if picture.invoices_without_mail is not None:
        count = picture.invoices_without_mail
        out.print(
            Text(_("Invoices whose e-mail has not left: "), "bold") + Text(str(count), "yellow" if count else "green")
        )
    for line in picture.trouble:
        out.print(Text("! ", "bold red") + Text(line))


def _processes(picture: Picture) -> Table:
    table = _table(_("process"), _("state"), _("since"), _("restarts"), _("memory"), _("where"))
    for each in [*picture.servers, *picture.services]:
        where = each.url or picture.addresses.get(each.name, "")
        age = duration((datetime.now(UTC) - each.since).total_seconds()) if each.since else "–"
        table.add_row(
            each.name,
            Text(each.state.lower(), _COLOURS.get(each.state, "dim")),
            age,
            Text(str(each.restarts), "yellow" if each.restarts else "dim"),
            f"{each.memory_bytes / 1e6:.0f} MB",
            Text(where, "dim"),
        )
    total = sum(each.memory_bytes for each in [*picture.servers, *picture.services])
    table.add_section()
    table.add_row(_("together"), "", "", "", f"{total / 1e6:.0f} MB", "")
    return table


def _copies_shown(picture: Picture, kafka: Health) -> Table:
    table = _table(_("copies"), _("state"), _("behind by"))
    behind = len(kafka.under_replicated)
    state = _("{count} brokers").format(count=len(kafka.brokers))
    table.add_row("kafka", Text(state, "red" if kafka.lost else "green"), _("{count} partitions").format(count=behind))
    for name, replica in picture.replicas.items():
        state = _("in step with commits") if replica.awaited else _("commits do not wait for it")
        megabytes = f"{replica.behind_bytes / 1e6:.1f} MB"
        table.add_row(name, Text(f"{replica.state}, {state}", "green" if replica.awaited else "yellow"), megabytes)
    return table


def _groups(picture: Picture) -> Table:
    table = _table(_("consumer group"), _("members"), _("behind by"), _("oldest waiting"), _("parked"))
    for name, lag in picture.lag.items():
        style = "yellow" if lag.messages else "green"
        behind = Text(_("{count} messages").format(count=lag.messages), style)
        waiting, parked = duration(lag.seconds) if lag.messages else "–", picture.parked.get(name)
        lot = Text("–" if parked is None else str(parked), "red" if parked else "dim")
        table.add_row(name, str(lag.members), behind, waiting, lot)
    return table


def _outboxes(picture: Picture) -> Table:
    table = _table(_("outbox"), _("pending"), _("oldest"), _("growth"), _("drained in"), _("parked"))
    for name, backlog in picture.outbox.items():
        trend = picture.trend.get(name)
        drained = duration(trend.drain_seconds) if trend and trend.drain_seconds is not None else "–"
        table.add_row(
            name,
            Text(str(backlog.pending), "yellow" if backlog.pending else "green"),
            duration(backlog.oldest_seconds) if backlog.pending else "–",
            f"{trend.growth_per_second:+.0f}/s" if trend and backlog.pending else "–",
            drained,
            Text(str(backlog.parked), "red" if backlog.parked else "dim"),
        )
    return table


def _feeds(picture: Picture) -> Table:
    table = _table(_("connector"), _("state"), _("behind by"), _("confirmed"))
    for name, feed in picture.feeds.items():
        standing = feed.standing
        confirmed = standing.confirmed_seconds if standing else None
        table.add_row(
            name,
            Text(feed.state.lower(), "green" if feed.state == "RUNNING" else "red"),
            f"{standing.behind_bytes / 1e6:.1f} MB" if standing else "–",
            _("{age} ago").format(age=duration(confirmed)) if confirmed is not None else "–",
        )
    return table


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold", title_justify="left")
    for number, column in enumerate(columns):
        right = number and column in {_("restarts"), _("memory")}
        table.add_column(column, justify="right" if right else "left", no_wrap=True)
    return table
