"""The page of events and commands: who tells what to whom, and what is in it."""

import re
from collections.abc import Iterator
from typing import Any

from infra.contracts import schemas
from infra.contracts.asyncapi import CHANNELS, Channel
from infra.reference.http import kind
from infra.reference.markdown import code, page, table
from shared import events


def text() -> str:
    return page(
        "Events and commands",
        "What holds for every reader, and how to change a payload: [contracts](../contracts/README.md). For programs: "
        "[asyncapi.json](../contracts/asyncapi.json) and a JSON Schema for each version.",
        table(("channel", "from", "to", "messages"), (_channel(each) for each in CHANNELS.values())),
        "## Headers",
        "Of messages in Kafka. All are text.",
        table(("header", "what it says"), ((code(name), what) for name, what in schemas.HEADERS.items())),
        *(part for channel in CHANNELS.values() for name in channel.messages for part in _message(name, channel)),
    )


def _channel(channel: Channel) -> tuple[str, str, str, str]:
    messages = ", ".join(f"[{name}](#{name.lower()})" for name in channel.messages)
    return code(channel.address), ", ".join(channel.senders), ", ".join(channel.receivers), messages


def _message(name: str, channel: Channel) -> Iterator[str]:
    yield f"## {name}"
    versions = events.version(name)
    older = "" if versions == 1 else " Older: " + ", ".join(_link(name, number) for number in range(1, versions)) + "."
    yield f"In {code(channel.address)}. {_what(name)} Schema: {_link(name, versions)}.{older}".replace("  ", " ")
    found = schemas.payloads("#/$defs/{name}")
    yield _fields(found[name])
    for inner in dict.fromkeys(re.findall(r"#/\$defs/(\w+)", str(found[name]))):
        yield f"Each {inner}:"
        yield _fields(found[inner])


def _what(name: str) -> str:
    """Return the first line of a payload's docstring, where it has one of its own."""
    doc = events.PAYLOADS[name].__dict__.get("__doc__")
    return str(doc).strip().splitlines()[0] if doc else ""


def _link(name: str, number: int) -> str:
    return f"[version {number}](../contracts/{name}.{number}.schema.json)"


def _fields(schema: dict[str, Any]) -> str:
    required = schema.get("required", [])
    rows = (
        (code(each), kind(rule), "yes" if each in required else "no") for each, rule in schema["properties"].items()
    )
    return table(("field", "type", "required"), rows)
