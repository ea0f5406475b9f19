"""``once parked``: what was set aside because it can never be sent or applied, and what to do about it.

Goes through the admin endpoints of the service whose lot it is; the token is the stack's.
"""

import json
import urllib.error
import urllib.parse
import urllib.request
from gettext import gettext as _
from typing import Any

import click
from rich import box
from rich.table import Table
from rich.text import Text

from infra.cli.console import out
from infra.local.deployment import Deployment
from infra.local.errors import StackError
from infra.local.services import GROUPS
from infra.stack import open_stack

SERVICES = tuple(GROUPS)
_TIMEOUT_SECONDS = 10.0

service_argument = click.argument("service", type=click.Choice(SERVICES))
lot_argument = click.argument("lot", type=click.Choice(["outbox", "inbox"]))
id_argument = click.argument("entry_id", metavar="ID")


@click.group()
def parked() -> None:
    """List, show, send again or give up what was parked."""


@parked.command()
@click.option("--service", "services", type=click.Choice(SERVICES), multiple=True, help="Only this one's.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def ls(services: tuple[str, ...], as_json: bool) -> None:
    """List what is parked, and what is held behind it."""
    deployment = open_stack().deployment()
    found = [
        {"service": service, **entry}
        for service in services or SERVICES
        for entry in _ask(deployment, service, "GET", "")["entries"]
    ]
    if as_json:
        out.print_json(json.dumps(found))
    elif found:
        out.print(_table(found))
    else:
        out.print(_("Nothing is parked."))


@parked.command()
@service_argument
@lot_argument
@id_argument
def show(service: str, lot: str, entry_id: str) -> None:
    """Show one entry whole, with its payload."""
    out.print_json(json.dumps(_ask(open_stack().deployment(), service, "GET", f"/{lot}/{_quoted(entry_id)}")))


@parked.command()
@service_argument
@lot_argument
@id_argument
def redrive(service: str, lot: str, entry_id: str) -> None:
    """Ask for another try; what is held behind it follows in its order."""
    _ask(open_stack().deployment(), service, "POST", f"/{lot}/{_quoted(entry_id)}/redrive")
    out.print(_("Asked for. Whoever owns it tries it next: `once parked ls` shows when it is gone, or why it is not."))


@parked.command()
@service_argument
@lot_argument
@id_argument
@click.option("--reason", required=True, help="Why it is given up; stays on record.")
def discard(service: str, lot: str, entry_id: str, reason: str) -> None:
    """Give an entry up, and let go what is held behind it."""
    body = json.dumps({"reason": reason}).encode()
    _ask(open_stack().deployment(), service, "POST", f"/{lot}/{_quoted(entry_id)}/discard", body)
    out.print(_("Given up, and on record with the reason. What was held behind it goes on now."))


def _ask(deployment: Deployment, service: str, method: str, path: str, body: bytes | None = None) -> dict[str, Any]:
    token = open_stack().home.secret("admin-token")
    request = urllib.request.Request(  # noqa: S310  # our own address
        f"{deployment.url(f'{service}-api')}/admin/parked{path}",
        data=body if method == "POST" else None,
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
        method=method,
    )
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as answer:  # noqa: S310  # our own address
            found: dict[str, Any] = json.load(answer)
            return found
    except urllib.error.HTTPError as error:
        raise StackError(_words(error)) from error
    except OSError as error:
        raise StackError(
            _("The API of {service} does not answer: {why}. Start the system with `once up`, and try again.").format(
                service=service, why=getattr(error, "reason", error)
            )
        ) from error


def _words(error: urllib.error.HTTPError) -> str:
    """Return the service's own words for what it refused."""
    try:
        return str(json.load(error)["detail"])
    except (ValueError, KeyError):
        return str(error)


def _table(entries: list[dict[str, Any]]) -> Table:
    table = Table(box=box.SIMPLE, show_header=True, header_style="dim")
    for name in (_("service"), _("lot"), _("id"), _("state"), _("event"), _("aggregate"), _("why")):
        table.add_column(name)
    for entry in entries:
        row = (entry["service"], entry["lot"], entry["id"], entry["state"], _event(entry), entry["aggregate_id"] or "–")
        table.add_row(*(Text(str(cell)) for cell in row), Text(entry["discarded_reason"] or entry["error"]))
    return table


def _event(entry: dict[str, Any]) -> str:
    """Name the event, or where the message stands that does not say what it is."""
    if entry["type"] is None:
        return f"{entry['topic']}[{entry['partition']}] @ {entry['offset']}"
    return f"{entry['type']} v{entry['aggregate_version'] or '?'}"


def _quoted(entry_id: str) -> str:
    return urllib.parse.quote(entry_id, safe="")
