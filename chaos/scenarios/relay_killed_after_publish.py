"""Relays die between the log's acknowledgement and their own note of it, again and again."""

from gettext import gettext as _

from chaos.faults.failpoint import AtFailpoint
from chaos.scenario import Act, Expectation, Scenario, Twin, Workload
from shared.failpoints import Failpoint

SCENARIO = Scenario(
    name="relay_killed_after_publish",
    title=_("Relays killed right after they published"),
    teaches=_(
        "A relay cannot publish and settle in one step. Killed in between, it publishes again: the log holds second "
        "copies with the same event id, at other offsets. First copies stay in order, and the inbox drops the second."
    ),
    guard="inbox",
    workload=Workload(seconds=12.0, rate_per_second=40.0),
    acts=(
        Act(
            at=0.25,
            title=_("Relays die after publishing"),
            story=_("Each relay is killed when the log has its chunk and the database does not know it; five times."),
            faults=(
                AtFailpoint(
                    name="relays-killed-after-publish",
                    targets=("relay-orders-1", "relay-orders-2", "relay-billing-1", "relay-billing-2"),
                    point=Failpoint.RELAY_AFTER_PUBLISH_BEFORE_SETTLE,
                    rounds=5,
                    patience_seconds=4.0,
                ),
            ),
        ),
    ),
    expect=Expectation(
        flags={"duplicates": ["log", "deliveries"], "suppressed": True, "pending_pairs": 1, "overlap": True}
    ),
    twin=Twin(variant="billing_without_inbox"),
)
