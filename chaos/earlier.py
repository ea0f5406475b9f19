"""A service's second entry point: the same program as the release before it, for upgrades that are rehearsed.

    python -m chaos.earlier services.billing consumer

The release before knew one shape of ``PaymentDeclined``, with a ``reason``, and wrote it. This is today's code with
that one change taken back, which is what two releases differ by that follow each other; an older program as it lay in
the repository would differ in a hundred things that are not the question.

Invariant: only ``shared.events`` is changed, and before the service is imported. Services themselves cannot become
older; without this entry point no variable means anything.
"""

import runpy
import sys
from typing import Any

import msgspec

from shared import events


class PaymentDeclined(events.OrderPayload, frozen=True, kw_only=True):
    """As every reader and writer of the release before knew it; ``events.PaymentDeclinedV1`` under its name of then."""

    reason: str
    currency: events.Currency
    amount_minor: events.AmountMinor


def take_back() -> None:
    """Make this process read and write the one shape of before. A later one is from the future then, and refused."""
    name = PaymentDeclined.__name__
    read = msgspec.json.Decoder(PaymentDeclined).decode
    then: dict[str, Any] = {
        "PAYLOADS": {**events.PAYLOADS, name: PaymentDeclined},
        "OLDER": {each: older for each, older in events.OLDER.items() if each != name},
        "_READERS": {**events._READERS, name: {None: read, events.dataschema(name, 1): read}},
        name: _as_written_then,
    }
    vars(events).update(then)


def _as_written_then(*, order_id: str, code: str, detail: str, currency: str, amount_minor: int) -> PaymentDeclined:  # noqa: ARG001
    return PaymentDeclined(order_id=order_id, reason=code, currency=currency, amount_minor=amount_minor)


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit("Usage: python -m chaos.earlier MODULE [ARGUMENT ...]")
    take_back()
    module, *arguments = sys.argv[1:]
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
