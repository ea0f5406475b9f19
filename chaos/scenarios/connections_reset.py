"""Connections to Kafka and Redis are reset again and again."""

from gettext import gettext as _

from chaos.faults.link import BrokenLink
from chaos.faults.server import Server
from chaos.proxy import Weather
from chaos.scenario import Act, Expectation, Scenario, Workload

SCENARIO = Scenario(
    name="connections_reset",
    title=_("Connections are reset, again and again"),
    teaches=_(
        "A connection is not a place to keep anything. Relays and consumers lose theirs in the middle of a "
        "request, do not know whether it was carried out, and ask again: the log may have a second copy, the "
        "queue a second command, and both have a key by which they are known."
    ),
    guard="event id as the key of every copy",
    workload=Workload(seconds=10.0, rate_per_second=30.0),
    acts=(
        Act(
            at=0.3,
            title=_("Reset"),
            story=_(
                "Every connection to Kafka is refused for a second and a half, three times, then every one to Redis."
            ),
            faults=(
                BrokenLink(
                    name="kafka-connections-reset",
                    server=Server.KAFKA,
                    targets=("relay-orders-1", "relay-billing-1", "billing-1", "analytics-1"),
                    weather=Weather.REFUSED,
                    seconds=1.5,
                    rounds=3,
                    pause_seconds=1.0,
                ),
                BrokenLink(
                    name="redis-connections-reset",
                    server=Server.REDIS,
                    targets=("relay-billing-1", "relay-billing-2", "notifications-1"),
                    weather=Weather.REFUSED,
                    seconds=1.5,
                    rounds=2,
                    pause_seconds=1.0,
                ),
            ),
        ),
    ),
    expect=Expectation(flags={"overlap": True, "progress": True}),
)
