"""What the samples and the committed documents say, for the tests of both ends of a contract.

A sample is a message as it stood in the log of a real run: headers and payload, never edited. It stands for all that
producers of its day have written, so it stays when a newer version of its schema gets a sample of its own.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from infra.contracts.__main__ import FOLDER
from shared.envelope import from_message
from shared.inbox import Delivery

SAMPLES = Path(__file__).parent / "samples"


@dataclass(frozen=True, slots=True)
class Sample:
    name: str
    channel: str
    headers: Mapping[str, str]
    payload: str

    def delivery(self, offset: int = 0, payload: str | None = None) -> Delivery:
        """Return it as a consumer has it from the log."""
        written = (self.payload if payload is None else payload).encode()
        return Delivery(
            from_message([(name, text.encode()) for name, text in self.headers.items()], written),
            self.channel,
            0,
            offset,
            "member",
            1,
        )

    def with_more_fields(self) -> str:
        """Return the payload as a newer producer might write it, which has added fields everywhere."""
        return json.dumps(_grown(json.loads(self.payload)))


def _grown(part: Any) -> Any:
    if isinstance(part, dict):
        return {"added_later": {"by": [1]}, **{name: _grown(value) for name, value in part.items()}}
    return [_grown(each) for each in part] if isinstance(part, list) else part


@cache
def samples() -> tuple[Sample, ...]:
    return tuple(Sample(path.stem, **json.loads(path.read_text("utf-8"))) for path in sorted(SAMPLES.glob("*.json")))


def heard_by(service: str) -> list[Sample]:
    """Return the samples of all that a service receives, by the committed AsyncAPI document."""
    document = json.loads((FOLDER / "asyncapi.json").read_text("utf-8"))
    heard = {
        name
        for key, operation in document["operations"].items()
        if operation["action"] == "receive" and key.startswith(f"{service}HearsFrom")
        for name in document["channels"][operation["channel"]["$ref"].rpartition("/")[2]]["messages"]
    }
    return [sample for sample in samples() if sample.headers["ce_type"] in heard]


def batch_for(service: str) -> list[Delivery]:
    """Return those samples as one batch, each as a newer producer might write it.

    An order's events stand in the order of its versions, as in the log.
    """
    heard = sorted(heard_by(service), key=lambda sample: int(sample.headers["ce_aggregateversion"]))
    return [sample.delivery(place, sample.with_more_fields()) for place, sample in enumerate(heard)]


def schema_of(dataschema: str) -> dict[str, Any]:
    """Return the committed schema that an envelope names."""
    _, _, type_name, number = dataschema.split(":")
    found: dict[str, Any] = json.loads((FOLDER / f"{type_name}.{number}.schema.json").read_text("utf-8"))
    assert found["$id"] == dataschema
    return found


def check_written(dataschema: str, payload: bytes) -> None:
    """Fail unless a payload obeys the schema that it names, and looks like that schema's sample."""
    document = json.loads(payload)
    Draft202012Validator(schema_of(dataschema)).validate(document)
    (sample,) = (sample for sample in samples() if sample.headers["ce_dataschema"] == dataschema)
    assert set(_shape(document)) == set(_shape(json.loads(sample.payload)))


def _shape(part: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Name every field with its JSON type; the elements of a list are one field."""
    yield path, type(part).__name__
    if isinstance(part, dict):
        for name, value in part.items():
            yield from _shape(value, f"{path}.{name}")
    elif isinstance(part, list):
        for value in part:
            yield from _shape(value, f"{path}[]")
