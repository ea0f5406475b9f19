"""The demo: relays die, consumers are shuffled, time is turned back, and every order still gets one invoice."""

from gettext import gettext as _

from chaos.faults.failpoint import AtFailpoint
from chaos.faults.members import MembersComeAndGo
from chaos.faults.replay import Replay
from chaos.scenario import Act, Expectation, Scenario, Twin, Workload
from shared.failpoints import Failpoint

SCENARIO = Scenario(
    name="three_acts",
    title=_("Three acts: the messenger dies, the staff changes, time is turned back"),
    teaches=_(
        "Each act makes the system see the same event again. The first writes it into the log twice, the second hands "
        "the same log entry out twice, the third hands out everything twice. One guard, the inbox, answers all three."
    ),
    guard="inbox",
    workload=Workload(seconds=20.0, rate_per_second=30.0),
    acts=(
        Act(
            at=0.2,
            title=_("The messenger dies"),
            story=_(
                "A relay carries events from the database to Kafka and then ticks them off. We kill each relay right "
                "between the two. Its successor cannot know what was carried, so it carries it again."
            ),
            faults=(
                AtFailpoint(
                    name="relays-killed-after-publish",
                    targets=("relay-orders-1", "relay-orders-2", "relay-billing-1", "relay-billing-2"),
                    point=Failpoint.RELAY_AFTER_PUBLISH_BEFORE_SETTLE,
                    rounds=2,
                    patience_seconds=4.0,
                ),
            ),
        ),
        Act(
            at=0.4,
            title=_("The staff changes"),
            story=_(
                "Two clerks share the billing work. One drops dead right after writing an invoice and before noting "
                "how far the work had got. Colleagues join and leave, and each time the stacks of paper change hands."
            ),
            faults=(
                AtFailpoint(
                    name="member-killed-before-its-offset",
                    targets=("billing-1",),
                    point=Failpoint.CONSUMER_AFTER_COMMIT_BEFORE_OFFSET,
                ),
                MembersComeAndGo(name="members-come-and-go", members=("billing-3", "analytics-2")),
            ),
        ),
        Act(
            at=0.7,
            title=_("Time is turned back"),
            story=_(
                "We tell billing that it has read nothing yet. Every event since the first order comes again, while "
                "new orders keep coming in."
            ),
            faults=(
                Replay(
                    name="billing-replayed-from-the-start",
                    group="billing",
                ),
            ),
        ),
    ),
    expect=Expectation(
        flags={
            "duplicates": ["log", "deliveries"],
            "suppressed": True,
            "owner_change": ["billing"],
            "pending_pairs": 3,
            "overlap": True,
        }
    ),
    twin=Twin(variant="billing_without_inbox"),
)
