"""Processes die at the remaining points between two durable actions: API, relay, consumer, mail worker."""

from gettext import gettext as _

from chaos.faults.failpoint import AtFailpoint
from chaos.scenario import Act, Expectation, Scenario, Workload
from shared.failpoints import Failpoint

SCENARIO = Scenario(
    name="killed_between_steps",
    title=_("Killed between two steps, everywhere else"),
    teaches=_(
        "Wherever a process does two durable things, it can die between them. The API dies with an order written and "
        "nobody told: the client asks again with the same key and gets the same order. The mail worker dies with a "
        "mail sent and not noted: it goes out again under the same Message-ID, and the mailbox knows it."
    ),
    guard="idempotency key, inbox, Message-ID",
    workload=Workload(seconds=12.0, rate_per_second=25.0),
    acts=(
        Act(
            at=0.25,
            title=_("Between two steps"),
            story=_("One process after the other dies right after one durable step and before the next."),
            faults=(
                AtFailpoint(
                    name="api-killed-before-its-answer",
                    targets=("orders-api",),
                    point=Failpoint.ORDERS_AFTER_COMMIT_BEFORE_RESPONSE,
                    rounds=2,
                ),
                AtFailpoint(
                    name="relay-killed-before-publishing",
                    targets=("relay-orders-1", "relay-billing-1"),
                    point=Failpoint.RELAY_AFTER_READ_BEFORE_PUBLISH,
                ),
                AtFailpoint(
                    name="consumers-killed-before-their-transaction",
                    targets=("billing-1", "orders-consumer-1"),
                    point=Failpoint.CONSUMER_AFTER_POLL_BEFORE_TRANSACTION,
                ),
                AtFailpoint(
                    name="mail-worker-killed-after-sending",
                    targets=("notifications-1",),
                    point=Failpoint.EMAIL_AFTER_SEND_BEFORE_RECORD,
                ),
            ),
        ),
    ),
    expect=Expectation(flags={"overlap": True}),
)
