"""``once order``: place one order, as a customer's program would, and show how."""

import json
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

_TIMEOUT_SECONDS = 10.0


@click.command()
@click.option("--currency", default="EUR", show_default=True)
@click.option("--price", type=int, default=450, show_default=True, help="Price of one piece, in minor units.")
@click.option("--quantity", type=int, default=2, show_default=True)
@click.option("--key", default=None, help="Idempotency-Key. Default: a new one.")
@click.option("--twice", is_flag=True, help="Send it again, like a client that did not hear the first answer.")
def order(currency: str, price: int, quantity: int, key: str | None, twice: bool) -> None:
    """Place one order by HTTP, and print the request as a curl command."""
    url = f"{open_stack().deployment().url('orders-api')}/orders"
    key = key or str(uuid4())
    body = json.dumps(
        {
            "customer_id": "customer-1",
            "email": "customer@example.com",
            "currency": currency,
            "lines": [{"sku": "tea", "quantity": quantity, "unit_price_minor": price}],
        }
    )
    curl = f"curl {url} -H 'Idempotency-Key: {key}' -H 'Content-Type: application/json' -d '{body}'"
    out.print(Text(curl, "cyan"), soft_wrap=True)
    placed = _tell(*_post(url, key, body))
    if twice:
        _tell(*_post(url, key, body))
    if placed:
        out.print(Text(_("Follow it: once trace {order}").format(order=placed), "dim"), soft_wrap=True)


def _tell(status: int, answer: dict[str, Any], replayed: bool) -> str | None:
    """Show an answer; return the order's id if there is one."""
    note = _(" (the answer of before: this key has placed its order)") if replayed else ""
    out.print(Text(f"{status} {json.dumps(answer)}{note}", "green" if status < 400 else "red"), soft_wrap=True)
    return answer.get("order_id")


def _post(url: str, key: str, body: str) -> tuple[int, dict[str, Any], bool]:
    request = urllib.request.Request(  # noqa: S310  # our own API's address
        url, body.encode(), {"Idempotency-Key": key, "Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as response:  # noqa: S310
            return response.status, json.load(response), response.headers.get("Idempotency-Replayed") == "true"
    except urllib.error.HTTPError as error:
        return error.code, json.load(error), False
    except urllib.error.URLError as error:
        raise StackError(
            _("The orders API at {url} does not answer ({reason}). `once up` starts it.").format(
                url=url, reason=error.reason
            )
        ) from error
