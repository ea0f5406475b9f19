"""The page docs/saga.md: the state machines of order and bill, drawn from the data that the use cases ask."""

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, Final

from infra.local.home import PROJECT

SERVICES: Final = ("orders", "billing")

INTRODUCTION: Final = """\
# The saga, state by state

Made from the code by `make contracts`; a test fails when it is stale. The data is in `services/orders/order_states.py`
and `services/billing/bill_states.py`, and the use cases ask it what to do: there is no second list of what is allowed.

Nobody conducts. Orders and billing each move an aggregate of their own by the other's events, which are delivered at
least once and, across the two, in any order; within one aggregate they keep their order. Every arrow below is one
transaction of inbox row, state and outbox rows, and the text on it reads: what comes [what was decided about it] / what
is told.

An order ends **confirmed** with an invoice, **declined** with none, or **cancelled**: with none, or with an invoice and
a credit note of the same amount. `tests/integration/shared/test_saga.py` takes every way through both machines, on real
databases, and meets no question without an answer here.
"""


def page() -> str:
    """Return the whole page. Each service is asked for its states: nothing out here knows its insides."""
    return "\n".join([INTRODUCTION, *(line for service in SERVICES for line in _section(_states(service)))]) + "\n"


def _states(service: str) -> dict[str, Any]:
    printed = subprocess.run(
        [sys.executable, "-m", f"services.{service}", "states"], check=True, capture_output=True, cwd=PROJECT
    )
    found: dict[str, Any] = json.loads(printed.stdout)
    return found


def _section(machine: dict[str, Any]) -> Iterator[str]:
    yield f"## The {machine['aggregate']}"
    yield ""
    yield from _diagram(machine["transitions"])
    yield ""
    yield "What may come and changes nothing:"
    yield ""
    yield f"| the {machine['aggregate']} is | what comes | why nothing changes |"
    yield "|---|---|---|"
    for stay in machine["stays"]:
        yield f"| {stay['state'] or 'not there'} | {_code(stay['on'])} | {stay['because']} |"
    yield ""


def _diagram(transitions: list[dict[str, Any]]) -> Iterator[str]:
    yield "```mermaid"
    yield "stateDiagram-v2"
    for transition in transitions:
        given = f" [{transition['given']}]" if transition["given"] else ""
        told = ", ".join(transition["tells"])
        yield f"    {transition['state'] or '[*]'} --> {transition['to']}: {transition['on']}{given} / {told}"
    left = {transition["state"] for transition in transitions}
    for state in dict.fromkeys(transition["to"] for transition in transitions):
        if state not in left:
            yield f"    {state} --> [*]"
    yield "```"


def _code(words: str) -> str:
    """Mark the type of an event, which is one word, as code."""
    return words if " " in words else f"`{words}`"
