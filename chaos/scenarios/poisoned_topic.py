"""Messages that nobody can apply stand in the log."""

from gettext import gettext as _

from chaos.faults.poison import Poison
from chaos.scenario import Act, Expectation, Promise, Scenario, Twin, Workload

SCENARIO = Scenario(
    name="poisoned_topic",
    title=_("Poison in the log"),
    teaches=_(
        "Broken bytes, a type that nobody knows, a schema from the future, a header that is missing, a value of null: "
        "delivered again they fail again, and a consumer that insists stands still for good. Here they are set aside "
        "with their bytes and the reason, in the transaction that records them; later events of the same order wait "
        "behind them at billing, and everybody else goes on."
    ),
    guard="the consumer's parking lot",
    promise=Promise.DETECTED,
    workload=Workload(seconds=12.0, rate_per_second=30.0, share_cancelled_later=0.12),
    acts=(
        Act(
            at=0.25,
            title=_("A dozen bad ones"),
            story=_("Somebody writes twelve messages into the topic of orders that no consumer can apply."),
            faults=(Poison(name="poison", topic="orders.events", databases=("billing", "analytics")),),
        ),
        Act(
            at=0.6,
            title=_("And a dozen more"),
            story=_("It happens again, while the first are still where they were set aside."),
            faults=(Poison(name="more-poison", topic="orders.events", databases=("billing", "analytics")),),
        ),
    ),
    expect=Expectation(flags={"overlap": True, "progress": True}),
    twin=Twin(variant="billing_stops_at_poison"),
)
