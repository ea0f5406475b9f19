"""The engine cdc: the process that reads the write-ahead log is killed, twice, under load."""

from gettext import gettext as _

from chaos.faults.process import Kill
from chaos.scenario import Act, Expectation, Scenario, Workload

SCENARIO = Scenario(
    name="debezium_killed",
    title=_("Debezium is killed twice"),
    teaches=_(
        "The slot holds what the broker has not acknowledged. A connector that died goes on from there: what it had "
        "published and not confirmed comes a second time, and the inbox drops it."
    ),
    guard="the replication slot, and the inbox",
    engine="cdc",
    workload=Workload(seconds=30.0, rate_per_second=20.0),
    acts=(
        Act(
            at=0.25,
            title=_("Debezium dies"),
            story=_("Kafka Connect gets SIGKILL, and again when it works once more."),
            faults=(Kill(name="debezium-killed", targets=("connect",), rounds=2, pause_seconds=12.0),),
        ),
    ),
    expect=Expectation(flags={"overlap": True}),
)
