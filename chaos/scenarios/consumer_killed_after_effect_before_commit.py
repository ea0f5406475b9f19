"""A member of billing dies with inbox and effect written and not committed."""

from gettext import gettext as _

from chaos.faults.failpoint import AtFailpoint
from chaos.scenario import Act, Expectation, Scenario, Twin, Workload
from shared.failpoints import Failpoint

SCENARIO = Scenario(
    name="consumer_killed_after_effect_before_commit",
    title=_("Consumers killed between effect and commit"),
    teaches=_(
        "Inbox row and invoice are written and roll back together, and the offset was never noted: the batch comes "
        "again and is new. A consumer that notes its offset before its effect loses exactly these orders."
    ),
    guard="offsets are committed after the effect",
    workload=Workload(seconds=10.0, rate_per_second=40.0),
    acts=(
        Act(
            at=0.25,
            title=_("Dead before the commit"),
            story=_("Both billing members die with an invoice written and not yet committed, three times."),
            faults=(
                AtFailpoint(
                    name="consumers-killed-before-commit",
                    targets=("billing-1", "billing-2"),
                    point=Failpoint.CONSUMER_AFTER_EFFECT_BEFORE_COMMIT,
                    rounds=3,
                    patience_seconds=10.0,
                ),
            ),
        ),
    ),
    expect=Expectation(flags={"overlap": True}),
    twin=Twin(variant="consumer_commits_offset_before_effect"),
)
