"""A topic gets more partitions under load."""

from gettext import gettext as _

from chaos.faults.topic import PartitionsAdded
from chaos.foretold import Foretold
from chaos.scenario import Act, Expectation, Promise, Scenario, Workload

SCENARIO = Scenario(
    name="partitions_added",
    title=_("More partitions under load"),
    teaches=_(
        "The partition follows from a hash of the key and from their number. With another number, an order's "
        "later events go to another partition than its first ones, where another member reads them at its own "
        "pace: their order is gone. More partitions mean a new topic and a planned move."
    ),
    guard="none; the topics step refuses a topic with another number",
    promise=Promise.BEYOND,
    workload=Workload(seconds=10.0, rate_per_second=30.0),
    acts=(
        Act(
            at=0.3,
            title=_("More partitions"),
            story=_(
                "The topic of orders goes from twelve partitions to sixteen, and one relay sees it after a restart."
            ),
            faults=(
                PartitionsAdded(
                    name="partitions-added",
                    topic="orders.events",
                    partitions=16,
                    restarts=("relay-orders-1", "relay-orders-2"),
                ),
            ),
        ),
    ),
    expect=Expectation(
        verdict="FAIL",
        red=Foretold(
            must_fail=frozenset({"S08"}),
            may_fail=frozenset({"S00", "S09", "S10", "S12", "S17", "S19", "S20", "S23", "L02"}),
        ),
        flags={"overlap": True},
    ),
    drain_seconds=20.0,
)
