"""Billing that sends the e-mail itself, from inside its transaction.

Guard removed: the e-mail as a command through the outbox, which exists only if its invoice does. Scenario:
``consumer_killed_after_effect_before_commit``, which rolls back after sending.
Expected verdict: FAIL, with S18 red: the mail of a rolled-back invoice is in the mailbox, and the next attempt sends
another, with a key and often with a number of its own. S11 holds: the books have one invoice per order.

A transaction can be rolled back and a mail cannot. Sending after the commit instead loses mails: see the outbox.
"""

import os
from collections.abc import Sequence
from uuid import UUID, uuid4

from sqlalchemy import Connection, text

from chaos.unsafe import Variant
from services.billing import bill_orders, wiring
from services.billing.settings import Settings
from services.notifications.letter import compose
from services.notifications.mailer import Mailer
from shared import logs, metrics
from shared.events import OrderPlaced, SendInvoice
from shared.inbox import Delivery
from shared.lifecycle import stop_on_signals
from shared.settings import read

VARIANT = Variant(
    name="billing_mails_before_commit",
    guard="mail-through-outbox",
    replaces=("services.billing", "consumer"),
    scenario="consumer_killed_after_effect_before_commit",
    must_fail=frozenset({"S18"}),
    before_start={"billing": ("GRANT SELECT ON invoice TO billing_consumer",)},
)

_INVOICE = text("SELECT number, issued_at FROM invoice WHERE order_id = :order_id")


def apply(connection: Connection, batch: Sequence[Delivery]) -> None:
    """The reference handler, and then a letter for each invoice at once."""
    bill_orders.apply(connection, batch)
    mailer = Mailer(os.environ["SMTP_HOST"], int(os.environ["SMTP_PORT"]), 5.0)
    for delivery in batch:
        order = delivery.payload
        if isinstance(order, OrderPlaced):
            _mail(connection, mailer, order)


def _mail(connection: Connection, mailer: Mailer, order: OrderPlaced) -> None:
    invoice = connection.execute(_INVOICE, {"order_id": UUID(order.order_id)}).one_or_none()
    if invoice is None:
        return
    command = SendInvoice(
        order_id=order.order_id,
        invoice_number=invoice.number,
        email=order.email,
        currency=order.currency,
        amount_minor=order.amount_minor,
        lines=order.lines,
        issued_at=invoice.issued_at.isoformat(),
    )
    mailer.send(compose(uuid4(), command, "shop@example.com"), order.email)


def main() -> None:
    settings = read(Settings, os.environ)
    logs.configure(settings.instance, settings.log_level)
    metrics.serve(settings.metrics_host, settings.metrics_port)
    wiring.build(settings, handler=apply).run(stop_on_signals())


if __name__ == "__main__":
    main()
