"""A topic takes less than some events need."""

from gettext import gettext as _

from chaos.faults.topic import TopicTakesLess
from chaos.scenario import Act, Expectation, Promise, Scenario, Workload

SCENARIO = Scenario(
    name="oversized_event",
    title=_("An event that the log will not take"),
    teaches=_(
        "One message that is too large makes the broker refuse everything that travels with it, and a relay that "
        "only retries stands still for good. Here the culprit is found alone and set aside with its reason; later "
        "events of the same order are held behind it, and everybody else goes on."
    ),
    guard="only a row that failed alone is set aside",
    promise=Promise.DETECTED,
    workload=Workload(seconds=10.0, rate_per_second=30.0, share_oversized=0.04),
    acts=(
        Act(
            at=0.3,
            title=_("Too large"),
            story=_("The topic of orders takes five kilobytes at most, compressed, and a few orders need more."),
            faults=(
                TopicTakesLess(name="topic-takes-less", topic="orders.events", limit_bytes=5_000, database="orders"),
            ),
        ),
    ),
    expect=Expectation(flags={"overlap": True, "progress": True}),
)
