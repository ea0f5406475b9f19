"""The primary dies for good, and its standby had not received the last seconds: commits did not wait for it."""

from gettext import gettext as _

from chaos.faults.standby import PromoteStandby
from chaos.foretold import Foretold
from chaos.scenario import Act, Expectation, Promise, Scenario, Workload
from infra.local.profile import Profile

SCENARIO = Scenario(
    name="standby_promoted_too_late",
    title=_("A standby that lags is promoted"),
    teaches=_(
        "Commits that were answered by one server alone are gone with it, and what has already read of them is ahead: "
        "customers have an answer for orders that do not exist, the log has events of them, and mails with invoice "
        "numbers that are given out again. Nothing can be made good from here; the checker names each of them."
    ),
    guard="none: commits did not wait for the standby",
    promise=Promise.BEYOND,
    profile=Profile.CLUSTER,
    workload=Workload(seconds=10.0, rate_per_second=25.0),
    acts=(
        Act(
            at=0.3,
            title=_("Failover"),
            story=_("For three seconds commits do not wait for a standby that is away; then the primary is killed."),
            faults=(PromoteStandby(name="standby-promoted-too-late", behind_seconds=3.0),),
        ),
    ),
    # What the database still has is consistent, and is still published: only what is beside it knows more.
    expect=Expectation(
        verdict="FAIL",
        red=Foretold(
            must_fail=frozenset({"S00", "S01", "S06"}),
            must_hold=frozenset({"S02", "S04", "S05", "S08", "S11", "S16", "L01", "W01", "W07"}),
        ),
    ),
    drain_seconds=12.0,
)
