"""Partitions change their leader again and again under load, while nothing is down for long."""

from gettext import gettext as _

from chaos.faults.brokers import MoveLeaders
from chaos.scenario import Act, Expectation, Scenario, Workload
from infra.local.profile import Profile

SCENARIO = Scenario(
    name="leaders_moved",
    title=_("Leaders move"),
    teaches=_(
        "A batch may have been written by the old leader while its answer was lost, and the new leader gets it again. "
        "An idempotent producer numbers its batches, and the number moves with the copies: none is written twice or "
        "out of turn. What a relay sends again after its own deadline is another message, and the inbox knows it."
    ),
    guard="the idempotent producer; the inbox behind it",
    profile=Profile.CLUSTER,
    workload=Workload(seconds=15.0, rate_per_second=30.0),
    acts=(
        Act(
            at=0.2,
            title=_("Leaders move"),
            story=_("A broker gives its partitions away and gets them back, twice."),
            faults=(MoveLeaders(name="leaders-moved", server="kafka-3"),),
        ),
    ),
    expect=Expectation(flags={"overlap": True, "pending_pairs": 3}),
)
