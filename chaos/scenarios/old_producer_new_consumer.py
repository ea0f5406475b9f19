"""Readers are upgraded first, and read what writers of the release before still write."""

from gettext import gettext as _

from chaos.faults.upgrade import OldProducer
from chaos.scenario import Act, Expectation, Scenario, Twin, Workload

SCENARIO = Scenario(
    name="old_producer_new_consumer",
    title=_("New consumers, old producers"),
    teaches=_(
        "An event that was written stays as it is for ever, so a reader knows every shape there has been and turns the "
        "older ones into today's at the door. That is why readers are upgraded first: in this order two releases can "
        "run side by side for as long as one likes."
    ),
    guard="older shapes are upcast",
    workload=Workload(seconds=12.0, rate_per_second=25.0, share_declined=0.25),
    acts=(
        Act(
            at=0.3,
            title=_("Writers follow"),
            story=_("Billing's members are of the release before; one after the other becomes today's."),
            faults=(OldProducer(name="old-producer", targets=("billing-1", "billing-2"), database="billing"),),
        ),
    ),
    expect=Expectation(flags={"overlap": True, "progress": True}),
    twin=Twin(variant="orders_without_upcast"),
)
