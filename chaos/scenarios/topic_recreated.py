"""A topic is deleted and made again under the same name."""

from gettext import gettext as _

from chaos.faults.topic import TopicRecreated
from chaos.foretold import Foretold
from chaos.scenario import Act, Expectation, Promise, Scenario, Workload

SCENARIO = Scenario(
    name="topic_recreated",
    title=_("A topic is deleted and made again"),
    teaches=_(
        "Everything that was in the topic and not yet read is gone, and the offsets that the groups remember now "
        "point into another log. Consumers whose place no longer exists stop and say so. A deleted topic is a "
        "restore from the outbox, not a restart."
    ),
    guard="none; consumers refuse a place that does not exist",
    promise=Promise.BEYOND,
    workload=Workload(seconds=10.0, rate_per_second=30.0),
    acts=(
        Act(
            at=0.3,
            title=_("Deleted"),
            story=_("Billing and analytics are away, orders come in, and the topic is deleted and made again."),
            faults=(
                TopicRecreated(
                    name="orders-topic-recreated",
                    topic="orders.events",
                    members=("billing-1", "billing-2", "analytics-1"),
                ),
            ),
        ),
    ),
    expect=Expectation(
        verdict="FAIL", red=Foretold(must_fail=frozenset({"S00"}), must_hold=frozenset({"S01", "S03", "S11"}))
    ),
    drain_seconds=12.0,
)
