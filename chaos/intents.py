"""What a customer writes down of an attempt: before it is sent, and when there is an answer."""

from dataclasses import replace
from datetime import UTC, datetime

from chaos.client import Answer
from chaos.history import Intent, Operation, Outcome, Result
from chaos.plan import PlannedOrder


def attempt(number: int, order: PlannedOrder, order_id: str | None) -> Intent:
    placing = order_id is None
    return Intent(
        n=number,
        op=Operation.PLACE if placing else Operation.CANCEL,
        key=order.key if placing else None,
        customer_id=order.customer_id,
        order_ref=order.reference,
        order_id=order_id,
        currency=order.currency,
        amount_minor=order.amount_minor,
        expect=order.outcome if placing else Outcome.CANCELLED,
        started_at=datetime.now(UTC),
        result=Result.INFO,
    )


def answered(intent: Intent, answer: Answer) -> Intent:
    return replace(
        intent,
        order_id=intent.order_id or answer.body.get("order_id"),
        ended_at=datetime.now(UTC),
        result=answer.result,
        status=answer.status,
        replayed=answer.replayed,
    )
