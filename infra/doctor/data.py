"""What earlier versions and killed processes left behind."""

from collections.abc import Iterable, Iterator
from gettext import gettext as _

from infra.doctor.finding import Finding, fault, ok, warning
from infra.local import kafka
from infra.local.postgres_programs import version, wheel
from infra.local.stack import LocalStack
from shared.errors import OnceError

RESET = "`once reset`"


def check_data(stack: LocalStack) -> Iterable[Finding]:
    findings = [*_postgres(stack), *_kafka(stack), *_orphans(stack)]
    return findings or [ok(_("data"), _("Nothing stale."))]


def _postgres(stack: LocalStack) -> Iterator[Finding]:
    file = stack.postgres().data / "PG_VERSION"
    try:
        written, installed = file.read_text(encoding="ascii").strip(), version(wheel() / "bin" / "postgres")
    except (OSError, OnceError):
        return
    if written != installed.partition(".")[0]:
        yield _stale("PostgreSQL", written, installed)


def _kafka(stack: LocalStack) -> Iterator[Finding]:
    written = stack.kafka().written_by()
    try:
        installed = kafka.version()
    except OnceError:
        return
    if written is not None and written != installed:
        yield _stale("Kafka", written, installed)


def _stale(name: str, written: str, installed: str) -> Finding:
    found = _("The data were written by {name} {written}, and {installed} is installed.")
    cure = _("Run {reset} to start with empty data, or go back to the version that wrote them.").format(reset=RESET)
    return fault(_("data"), found.format(name=name, written=written, installed=installed), cure)


def _orphans(stack: LocalStack) -> Iterator[Finding]:
    for supervisor in (stack.supervisor(), stack.deployment().supervisor()):
        left = [] if supervisor.is_running() else supervisor.orphans()
        if left:
            named = ", ".join(f"{process.name()} (pid {process.pid})" for process in left)
            found = _("These run although their supervisor was killed: {named}.").format(named=named)
            yield warning(_("processes"), found, _("`once up` or `once down` ends them."))
