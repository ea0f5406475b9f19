"""No fault at all: if this is not green, nothing else means anything."""

from gettext import gettext as _

from chaos.scenario import Scenario, Workload

SCENARIO = Scenario(
    name="smoke",
    title=_("Fair weather"),
    teaches=_("Orders, declines, cancellations and repeated requests, without any fault: the base line of all runs."),
    guard="none",
    workload=Workload(seconds=5.0, rate_per_second=30.0),
)
