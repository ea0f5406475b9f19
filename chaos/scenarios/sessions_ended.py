"""Sessions are ended and statements cancelled by the server, in whatever they are doing."""

from gettext import gettext as _

from chaos.faults.session import SessionsTerminated, StatementsCancelled
from chaos.scenario import Act, Expectation, Scenario, Workload

SCENARIO = Scenario(
    name="sessions_ended",
    title=_("Sessions and statements end in the middle"),
    teaches=_(
        "An administrator, a time-out or a pooler ends what is running, many times a second. Each unit of work is "
        "one transaction, so that each is done or not begun, and whoever was interrupted begins again."
    ),
    guard="one transaction for each unit of work",
    workload=Workload(seconds=10.0, rate_per_second=30.0),
    acts=(
        Act(
            at=0.3,
            title=_("Ended"),
            story=_(
                "Sessions of all four databases are ended three times, then statements are cancelled for some seconds."
            ),
            faults=(
                SessionsTerminated(name="orders-sessions-ended", database="orders"),
                SessionsTerminated(name="billing-sessions-ended", database="billing"),
                SessionsTerminated(name="analytics-sessions-ended", database="analytics", rounds=1),
                SessionsTerminated(name="notifications-sessions-ended", database="notifications", rounds=1),
                StatementsCancelled(name="orders-statements-cancelled", database="orders", seconds=2.0),
                StatementsCancelled(name="billing-statements-cancelled", database="billing", seconds=2.0),
            ),
        ),
    ),
    expect=Expectation(flags={"overlap": True}),
)
