"""``once replay``: a consumer group reads again what it has read, from some place in its topics on."""

from gettext import gettext as _

import click
from rich.table import Table
from rich.text import Text

from infra.cli.console import command, out, steps
from infra.local.services import GROUPS
from infra.local.stack import LocalStack
from infra.replay.group import Group
from infra.replay.known import Again
from infra.replay.rebuild import SERVICE
from infra.replay.rebuild import rebuild as build_again
from infra.replay.replay import Plan, doubles, in_words, plan, refuse
from infra.replay.replay import replay as send_back
from infra.stack import open_stack


@click.command()
@click.argument("group", type=click.Choice(sorted(GROUPS)))
@click.option("--to", metavar="earliest|OFFSET|TIME", help=_("Where to begin again."))
@click.option("--topic", help=_("Only this one, where the group reads two."))
@click.option("--partition", type=click.IntRange(min=0), help=_("Only this one; an offset needs it."))
@click.option("--rebuild", is_flag=True, help=_("Analytics only: build the read model anew beside the live one."))
@click.option("--dry-run", is_flag=True, help=_("Say what would be delivered again, and change nothing."))
@click.option("--force", is_flag=True, help=_("Also further back than LONGEST_REPLAY_DAYS."))
@click.option("--yes", is_flag=True, help=_("Do not ask."))
def replay(
    group: str, to: str | None, topic: str | None, partition: int | None, rebuild: bool, dry_run: bool, force: bool,
    yes: bool,
) -> None:  # fmt: skip
    """Let GROUP read again what it has read. Members that run are stopped and started; the inbox suppresses copies."""
    if rebuild:
        if group != SERVICE or to or topic or partition is not None or dry_run:
            raise click.UsageError(_("--rebuild goes with analytics and with nothing else: it reads everything."))
        _rebuild()
    elif to is None:
        raise click.UsageError(_("Say where to begin again: --to earliest, --to TIME or --to OFFSET."))
    else:
        _replay(group, to, topic, partition, dry_run=dry_run, force=force, yes=yes)


def _rebuild() -> None:
    stack = open_stack()
    with steps(_("Building the read model of analytics again")) as report:
        done = build_again(stack.deployment(), stack.servers.kafka, report)
    words = _("The new version is live, from {events} events. Its figures stood still for {seconds:.1f} s.")
    out.print(Text(words.format(events=done.events, seconds=done.paused_seconds), "bold green"))


def _replay(
    service: str, to: str, topic: str | None, partition: int | None, *, dry_run: bool, force: bool, yes: bool
) -> None:
    group = _group(open_stack(), service)
    with steps(_("Reading what would come again, and asking the inbox")):
        planned = plan(group, to, topic, partition)
    out.print(_table(planned))
    out.print(Text(_words(planned)), soft_wrap=True)
    if dry_run or not planned.total.events:
        out.print(Text(_("Nothing was changed."), "dim"))
        return
    refuse(planned, force=force)
    if not yes:
        click.confirm(_("Deliver them again?"), abort=True)
    with steps(_("Sending group {group} back").format(group=group.name)) as report:
        send_back(group, planned, report, force=force)
    words = _("On their way. `{command}` shows how far the group has come.")
    out.print(Text(words.format(command=command("status")), "green"), soft_wrap=True)


def _group(stack: LocalStack, service: str) -> Group:
    with steps(_("Looking at the servers")) as report:
        stack.servers_up(report)
    return Group(stack.deployment(), stack.servers.kafka, service)


def _table(planned: Plan) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column(_("partition"))
    for name in (_("from"), _("up to"), _("again"), _("known"), _("unknown"), _("too old")):
        table.add_column(name, justify="right")
    for (topic, partition), again in planned.again.items():
        table.add_row(f"{topic}[{partition}]", str(again.begin), str(again.end), *_counts(again))
    table.add_section()
    table.add_row(_("together"), "", "", *_counts(planned.total))
    return table


def _counts(again: Again) -> tuple[str, ...]:
    return str(again.events), str(again.known), str(again.unknown.total()), str(again.beyond)


def _words(planned: Plan) -> str:
    total = planned.total
    words = [
        _("{events} events would be delivered again, and the inbox knows {known} of them.").format(
            events=total.events, known=total.known
        )
    ]
    if total.unknown:
        words.append(
            _("{count} it does not know ({types}): they would have their effect.").format(
                count=total.unknown.total(), types=in_words(total.unknown)
            )
        )
    if total.nameless:
        words.append(_("{count} have no readable id, and are parked.").format(count=total.nameless))
    if total.beyond:
        words.append(doubles(planned))
    return " ".join(words)
