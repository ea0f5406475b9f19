"""Somebody writes, leaves the transaction open and goes to lunch."""

from gettext import gettext as _

from chaos.faults.session import IdleInTransaction
from chaos.scenario import Act, Expectation, Scenario, Workload

SCENARIO = Scenario(
    name="transaction_left_open",
    title=_("A transaction is left open"),
    teaches=_(
        "One open transaction holds back the oldest snapshot of the whole server. A relay that waits until "
        "everything older has ended would stand still for as long as somebody is at lunch. This one remembers "
        "which transactions were running and reads past them."
    ),
    guard="snapshots with their list of running transactions",
    workload=Workload(seconds=10.0, rate_per_second=30.0),
    acts=(
        Act(
            at=0.3,
            title=_("Idle in transaction"),
            story=_(
                "For eight seconds a session with a transaction id of its own sits in each database and does nothing."
            ),
            faults=(
                IdleInTransaction(name="orders-left-open", database="orders", seconds=6.0),
                IdleInTransaction(name="billing-left-open", database="billing", seconds=4.0),
            ),
        ),
    ),
    expect=Expectation(flags={"overlap": True, "progress": True}),
)
