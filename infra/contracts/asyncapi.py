"""The AsyncAPI document: which events stand in which topic, who tells them and who listens."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from infra.contracts import schemas


@dataclass(frozen=True, slots=True)
class Channel:
    """A topic or a queue: what it carries, from whom, and to whom."""

    address: str
    what: str
    messages: Sequence[str]
    senders: Sequence[str]
    receivers: Sequence[str]


CHANNELS: Mapping[str, Channel] = {
    "ordersEvents": Channel(
        "orders.events",
        "Facts about orders. Key: the order's id, so the events of one order stand in one partition, in their order.",
        ("OrderPlaced", "OrderConfirmed", "OrderCancelled"),
        ("orders",),
        ("billing", "analytics"),
    ),
    "billingEvents": Channel(
        "billing.events",
        "Facts about bills. Key: the bill's id, which is its order's id.",
        ("InvoiceIssued", "PaymentDeclined", "CreditNoteIssued"),
        ("billing",),
        ("orders", "analytics"),
    ),
    "notifications": Channel(
        "notifications",
        "Commands, through a Celery queue: one receiver. The task's id is the event's id.",
        ("SendInvoice",),
        ("billing",),
        ("notifications",),
    ),
    "deadLetters": Channel(
        "dead.letters",
        "Notices of messages that a consumer could not apply and has parked, for alarms and for people. Key: the "
        "consumer and the number in its parking lot, such as billing/7. The message itself stays in the lot.",
        ("DeliveryParked",),
        ("orders", "billing"),
        (),
    ),
}


def document() -> dict[str, Any]:
    """Return the whole document, by AsyncAPI 3.0."""
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "effectively-once",
            "version": version("effectively-once"),
            "description": (
                "Events are CloudEvents 1.0 in binary mode. Every event may be delivered more than once and has the "
                "same ce_id each time. Unknown fields are to be ignored; an unknown type or a newer schema is to be "
                "parked, not skipped."
            ),
            "license": {"name": "MIT"},
        },
        "defaultContentType": "application/json",
        "channels": {name: _channel(channel) for name, channel in CHANNELS.items()},
        "operations": {key: made for name, channel in CHANNELS.items() for key, made in _operations(name, channel)},
        "components": {
            "messages": {each: _message(each) for channel in CHANNELS.values() for each in channel.messages},
            "schemas": {"Headers": schemas.headers(), **schemas.payloads("#/components/schemas/{name}")},
        },
    }


def _channel(channel: Channel) -> dict[str, Any]:
    return {
        "address": channel.address,
        "description": channel.what,
        "messages": {each: {"$ref": f"#/components/messages/{each}"} for each in channel.messages},
    }


def _operations(name: str, channel: Channel) -> list[tuple[str, dict[str, Any]]]:
    reference = {"$ref": f"#/channels/{name}"}
    sent = [
        (
            f"{each}TellsTo{name[0].upper()}{name[1:]}",
            {"action": "send", "channel": reference, "summary": f"{each} tells, through its outbox and relay."},
        )
        for each in channel.senders
    ]
    heard = [
        (
            f"{each}HearsFrom{name[0].upper()}{name[1:]}",
            {"action": "receive", "channel": reference, "summary": f"{each} applies it once, behind its inbox."},
        )
        for each in channel.receivers
    ]
    return [*sent, *heard]


def _message(type_name: str) -> dict[str, Any]:
    # The log keeps what older producers wrote: a reader meets every shape, today's first.
    kinds = reversed(schemas.shapes(type_name))
    payloads = [{"$ref": f"#/components/schemas/{kind.__name__}"} for kind in kinds]
    return {
        "name": type_name,
        "contentType": "application/json",
        "headers": {"$ref": "#/components/schemas/Headers"},
        "payload": payloads[0] if len(payloads) == 1 else {"oneOf": payloads},
    }
