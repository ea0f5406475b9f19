"""The engine celery: relays that Beat wakes die after publishing, and the queue of their ticks is killed."""

from gettext import gettext as _

from chaos.faults.failpoint import AtFailpoint
from chaos.faults.server import KillServer, Server
from chaos.scenario import Act, Expectation, Scenario, Workload
from shared.failpoints import Failpoint

SCENARIO = Scenario(
    name="celery_relays_killed",
    title=_("Relays that Celery wakes are killed, and Redis with them"),
    teaches=_(
        "A tick may be lost, late or doubled, and its worker may die with a chunk in hand: the position in the "
        "database says what is published, not the queue. While Redis is away nothing leaves, and nothing is lost."
    ),
    guard="the relay's position and leases",
    engine="celery",
    workload=Workload(seconds=14.0, rate_per_second=25.0),
    acts=(
        Act(
            at=0.25,
            title=_("Relays die after publishing"),
            story=_("Each relay of the orders is killed when the log has its chunk and the database does not know it."),
            faults=(
                AtFailpoint(
                    name="ticks-killed-after-publish",
                    targets=("relay-orders-1", "relay-orders-2"),
                    point=Failpoint.RELAY_AFTER_PUBLISH_BEFORE_SETTLE,
                    rounds=2,
                    patience_seconds=12.0,
                ),
            ),
        ),
        Act(
            at=0.6,
            title=_("The queue of ticks dies"),
            story=_("Redis gets SIGKILL: no tick comes until it is back."),
            faults=(KillServer(name="redis-killed-between-ticks", server=Server.REDIS),),
        ),
    ),
    expect=Expectation(flags={"duplicates": ["log", "deliveries"], "suppressed": True, "overlap": True}),
)
