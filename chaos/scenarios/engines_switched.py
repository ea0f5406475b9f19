"""Under load, events are published by polling relays, then by Celery's, then by Debezium, and back."""

from gettext import gettext as _

from chaos.faults.engine import SwitchEngine
from chaos.scenario import Act, Expectation, Scenario, Workload

SCENARIO = Scenario(
    name="engines_switched",
    title=_("The engine is changed while orders keep coming"),
    teaches=_(
        "The slot is made before the relays' last pass and dropped after the connector's end, so at every moment an "
        "event is behind the position, or in the slot, or in both. What is in both comes twice."
    ),
    guard="the order of the steps of a switch",
    workload=Workload(seconds=60.0, rate_per_second=15.0),
    acts=(
        Act(
            at=0.2,
            title=_("From polling to Celery, to Debezium, and back"),
            story=_("Six moves, one after the other, in every direction."),
            faults=(
                SwitchEngine(name="polling-to-celery", to="celery"),
                SwitchEngine(name="celery-to-cdc", to="cdc"),
                SwitchEngine(name="cdc-to-polling", to="polling"),
                SwitchEngine(name="polling-to-cdc", to="cdc"),
                SwitchEngine(name="cdc-to-celery", to="celery"),
                SwitchEngine(name="celery-to-polling", to="polling"),
            ),
        ),
    ),
    expect=Expectation(flags={"duplicates": ["log", "deliveries"], "suppressed": True, "overlap": True}),
)
