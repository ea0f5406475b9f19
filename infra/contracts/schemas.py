"""JSON Schema of every payload, and of the headers around it."""

from typing import Any

import msgspec

from shared import events

DRAFT = "https://json-schema.org/draft/2020-12/schema"

HEADERS: dict[str, str] = {
    "ce_specversion": "Version of CloudEvents: 1.0.",
    "ce_id": "The event's id, a UUID version 7. The same in every copy: a consumer knows duplicates by it.",
    "ce_type": "Which payload this is.",
    "ce_source": "The service that tells it.",
    "ce_subject": "The aggregate's id; also the message's key.",
    "ce_time": "When it was written, RFC 3339, UTC.",
    "ce_dataschema": "Name and version of the payload's schema.",
    "ce_aggregatetype": "What kind of thing the subject is.",
    "ce_aggregateversion": "1, 2, 3, ... within the aggregate, without a gap.",
    "content-type": "application/json.",
    "traceparent": "W3C Trace Context of the request that caused it; may be absent.",
}


def headers() -> dict[str, Any]:
    """Describe the headers of a message. All are text."""
    return {
        "type": "object",
        "required": [name for name in HEADERS if name != "traceparent"],
        "properties": {name: {"type": "string", "description": text} for name, text in HEADERS.items()},
    }


def payloads(ref_template: str) -> dict[str, Any]:
    """Return the schema of every payload by its name, with those that they are made of."""
    older = (shape.kind for shapes in events.OLDER.values() for shape in shapes)
    _, found = msgspec.json.schema_components([*events.PAYLOADS.values(), *older], ref_template=ref_template)
    return found


def shapes(type_name: str) -> list[type[events.Payload]]:
    """Return every shape that a type has had, version 1 first."""
    return [*(shape.kind for shape in events.OLDER.get(type_name, ())), events.PAYLOADS[type_name]]


def documents() -> dict[str, dict[str, Any]]:
    """Return a document for every version of every payload, by its file's name."""
    return {
        f"{type_name}.{number}.schema.json": _document(kind, events.dataschema(type_name, number))
        for type_name in events.PAYLOADS
        for number, kind in enumerate(shapes(type_name), 1)
    }


def _document(kind: type[events.Payload], schema: str) -> dict[str, Any]:
    (_,), found = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    top = found.pop(kind.__name__)
    return {"$schema": DRAFT, "$id": schema, **top, **({"$defs": found} if found else {})}
