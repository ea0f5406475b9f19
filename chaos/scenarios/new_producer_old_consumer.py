"""Writers are upgraded before their readers: the wrong order, and what it costs."""

from gettext import gettext as _

from chaos.faults.upgrade import OldConsumer
from chaos.scenario import Act, Expectation, Promise, Scenario, Workload

SCENARIO = Scenario(
    name="new_producer_old_consumer",
    title=_("New producers, old consumers"),
    teaches=_(
        "A shape from the future is never guessed at: it would fit best exactly where a field has kept its name and "
        "changed its meaning. It is parked with the reason, later events of its order wait behind it, all others go "
        "on; and once a reader is there that knows it, a redrive makes everything good. Nothing is lost by the wrong "
        "order, but somebody waits."
    ),
    guard="schemas from the future are parked",
    promise=Promise.DETECTED,
    workload=Workload(seconds=12.0, rate_per_second=25.0, share_declined=0.25),
    acts=(
        Act(
            at=0.5,
            title=_("Readers follow"),
            story=_(
                "Orders' consumer is of the release before and parks what billing refuses; it becomes today's, and "
                "what was parked is redriven."
            ),
            faults=(OldConsumer(name="old-consumer", targets=("orders-consumer-1",), service="orders"),),
        ),
    ),
    expect=Expectation(flags={"overlap": True, "progress": True}),
)
