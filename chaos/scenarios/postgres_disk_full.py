"""PostgreSQL cannot write its log any more, and panics."""

from gettext import gettext as _

from chaos.faults.server import DiskFull, Server
from chaos.scenario import Act, Expectation, Scenario, Workload

SCENARIO = Scenario(
    name="postgres_disk_full",
    title=_("No room for PostgreSQL"),
    teaches=_(
        "A database that cannot write its write-ahead log does the only honest thing and stops. Nothing that it "
        "had promised is missing after it has come back, and nothing that it had not promised was published: a "
        "relay reads only what is committed."
    ),
    guard="publication only of what is committed",
    workload=Workload(seconds=10.0, rate_per_second=30.0),
    acts=(
        Act(
            at=0.3,
            title=_("No room"),
            story=_("No process of PostgreSQL may make any file longer, until it gives up and starts again with room."),
            faults=(DiskFull(name="postgres-disk-full", server=Server.POSTGRES),),
        ),
    ),
    expect=Expectation(flags={"overlap": True}),
)
