"""``once order``: place one order, as a customer's program would, and show how."""

import json
import shlex
import sys
import urllib.error
import urllib.request
from gettext import gettext as _
from typing import Any
from uuid import uuid4

import click
from rich.text import Text

from infra.cli.console import out
from infra.local.errors import StackError
from infra.stack import open_stack

REFUSED = 5
"""Exit code when no order was placed; the answer on the screen says why."""
_TIMEOUT_SECONDS = 10.0


@click.command()
@click.option("--currency", default="EUR", show_default=True)
@click.option("--price", type=int, default=450, show_default=True, help="Price of one piece, in minor units.")
@click.option("--quantity", type=int, default=2, show_default=True)
@click.option("--key", default=None, help="Idempotency-Key. Default: a new one.")
@click.option("--twice", is_flag=True, help="Send it again, like a client that did not hear the first answer.")
def order(currency: str, price: int, quantity: int, key: str | None, twice: bool) -> None:
    """Place one order by HTTP, and print the request as a curl command."""
    deployment = open_stack().deployment()
    url = f"{deployment.url('orders-api')}/orders"
    key = key or str(uuid4())
    body = json.dumps(
        {
            "customer_id": "customer-1",
            "email": "customer@example.com",
            "currency": currency,
            "lines": [{"sku": "tea", "quantity": quantity, "unit_price_minor": price}],
        }
    )
    shown = f"{deployment.address('orders-api')}/orders"  # as a person at this machine reaches it
    headers = [word for name, text in _headers(key).items() for word in ("-H", f"{name}: {text}")]
    out.print(
        Text(shlex.join(["curl", shown, *headers, "-d", body]), "cyan"),
        soft_wrap=True,
    )
    placed = _tell(*_post(url, key, body))
    if twice:
        _tell(*_post(url, key, body))
    if placed:
        out.print(Text(_("Follow it: once trace {order}").format(order=placed), "dim"), soft_wrap=True)
    else:
        sys.exit(REFUSED)


def _tell(status: int, answer: dict[str, Any], replayed: bool) -> str | None:
    """Show an answer; return the order's id if there is one."""
    note = _(" (the answer of before: this key has placed its order)") if replayed else ""
    out.print(Text(f"{status} {json.dumps(answer)}{note}", "green" if status < 400 else "red"), soft_wrap=True)
    return answer.get("order_id")


def _post(url: str, key: str, body: str) -> tuple[int, dict[str, Any], bool]:
    request = urllib.request.Request(url, body.encode(), _headers(key))  # noqa: S310  # our own API's address
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as response:  # noqa: S310
            return response.status, json.load(response), response.headers.get("Idempotency-Replayed") == "true"
    except urllib.error.HTTPError as error:
        return error.code, _problem(error), False
    except OSError as error:
        raise StackError(
            _("The orders API at {url} does not answer ({reason}). `once up` starts it.").format(
                url=url, reason=getattr(error, "reason", error)
            )
        ) from error
    except ValueError as error:
        raise StackError(
            _("The key {key!r} cannot stand in a header of HTTP. Give one of visible ASCII characters.").format(key=key)
        ) from error


def _problem(error: urllib.error.HTTPError) -> dict[str, Any]:
    """Return the problem document of a refusal; the server's own refusals, before the application's, have none."""
    try:
        return dict(json.load(error))
    except ValueError:
        return {"status": error.code, "title": error.reason}


def _headers(key: str) -> dict[str, str]:
    return {"Idempotency-Key": key, "Content-Type": "application/json"}
