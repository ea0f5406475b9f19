"""Redis comes back empty: commands that were accepted are gone."""

from gettext import gettext as _

from chaos.faults.queue import QueueEmptied
from chaos.scenario import Act, Expectation, Scenario, Workload

SCENARIO = Scenario(
    name="redis_emptied",
    title=_("The queue is empty"),
    teaches=_(
        "The relay has handed the commands over, the queue has lost them, and nothing is left that would tell. "
        "Only whoever wanted the effect can miss it: the housekeeper of billing looks for invoices whose mail "
        "nobody has reported, and commands it again under the same key."
    ),
    guard="reconciliation: who orders an effect looks whether it came",
    workload=Workload(seconds=10.0, rate_per_second=30.0),
    acts=(
        Act(
            at=0.3,
            title=_("Emptied"),
            story=_("The mail worker stops, commands queue up, and the queue is thrown away."),
            faults=(QueueEmptied(name="queue-emptied", worker="notifications-1", housekeeper="billing-housekeeper-1"),),
        ),
    ),
    expect=Expectation(flags={"overlap": True}),
)
