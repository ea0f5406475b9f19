"""The documents in docs/contracts say what the code does."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate

from infra.contracts import saga, tables
from infra.contracts.__main__ import FOLDER, SAGA, documents
from shared import events

MADE = documents()


@pytest.mark.parametrize("name", MADE)
def test_a_committed_document_is_fresh(name: str) -> None:
    """Whoever changes a payload runs `make contracts` and sees the difference in review."""
    assert json.loads((FOLDER / name).read_text(encoding="utf-8")) == MADE[name], "stale: run `make contracts`"


def test_the_page_of_the_saga_is_fresh() -> None:
    """Whoever changes a state machine runs `make contracts`; the picture follows."""
    assert SAGA.read_text(encoding="utf-8") == saga.page(), "stale: run `make contracts`"


@pytest.mark.parametrize(("name", "script"), tables.scripts().items())
def test_a_script_of_tables_is_fresh(name: str, script: str) -> None:
    """Whoever changes a table of outbox or inbox runs `make contracts`; who adopts it sees what has changed."""
    assert (tables.FOLDER / name).read_text(encoding="utf-8") == script, "stale: run `make contracts`"


def test_no_document_of_something_gone_is_left() -> None:
    """A type that was removed takes its schema with it."""
    assert {path.name for path in Path(FOLDER).glob("*.json")} == set(MADE)


@pytest.mark.parametrize("name", [name for name in MADE if name.endswith(".schema.json")])
def test_a_schema_is_a_schema(name: str) -> None:
    """JSON Schema, draft 2020-12."""
    Draft202012Validator.check_schema(MADE[name])


@pytest.mark.parametrize("name", [name for name in MADE if name.endswith(".openapi.json")])
def test_an_openapi_document_is_one(name: str) -> None:
    """OpenAPI 3.1, by its own schema."""
    validate(MADE[name])


def test_every_reference_in_the_asyncapi_document_leads_somewhere() -> None:
    """Channels name messages, messages name schemas, schemas name each other."""
    document = MADE["asyncapi.json"]
    references = set(_references(document))
    assert references
    for reference in references:
        _follow(document, reference)


def test_every_payload_stands_in_exactly_one_channel() -> None:
    """An event without a channel would be written and never be described; one in two would have two orders."""
    channels = MADE["asyncapi.json"]["channels"].values()
    listed = [message for channel in channels for message in channel["messages"]]
    assert sorted(listed) == sorted(events.PAYLOADS)


def _references(part: object) -> Iterator[str]:
    return (match for match in re.findall(r'"\$ref": "([^"]+)"', json.dumps(part)))


def _follow(document: dict[str, Any], reference: str) -> None:
    found: Any = document
    for step in reference.removeprefix("#/").split("/"):
        found = found[step]
