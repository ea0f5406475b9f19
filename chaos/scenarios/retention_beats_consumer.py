"""The log throws away what a consumer has not read yet."""

from gettext import gettext as _

from chaos.faults.topic import RetentionBeatsConsumer
from chaos.foretold import Foretold
from chaos.scenario import Act, Expectation, Promise, Scenario, Workload

SCENARIO = Scenario(
    name="retention_beats_consumer",
    title=_("Retention beats a consumer"),
    teaches=_(
        "A log that forgets before its readers have read loses events, and no consumer can make that good. What "
        "it can do is notice: billing stops and says which offsets are missing, instead of going on behind the "
        "gap. The outbox still has the events, so they can be sent again."
    ),
    guard="none; the consumer refuses to skip",
    promise=Promise.BEYOND,
    workload=Workload(seconds=10.0, rate_per_second=30.0),
    acts=(
        Act(
            at=0.3,
            title=_("Thrown away"),
            story=_("Billing is away, orders come in, and everything that it has not read is deleted from the log."),
            faults=(
                RetentionBeatsConsumer(
                    name="retention-beats-billing", topic="orders.events", members=("billing-1", "billing-2")
                ),
            ),
        ),
    ),
    expect=Expectation(
        verdict="FAIL",
        red=Foretold(
            must_fail=frozenset({"S00", "S12", "S23", "L02"}),
            may_fail=frozenset({"S05", "S15", "S17", "S18", "S20", "L03", "W04"}),
        ),
        flags={},
    ),
    drain_seconds=12.0,
)
