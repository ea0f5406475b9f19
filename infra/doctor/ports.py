"""Ports that we need and somebody else holds."""

from collections.abc import Iterable, Iterator, Mapping
from gettext import gettext as _

from infra.doctor.finding import Finding, fault, ok, warning
from infra.local import ports
from infra.local.stack import LocalStack


def check_ports(stack: LocalStack) -> Iterable[Finding]:
    findings: list[Finding] = []
    supervisor = stack.supervisor()
    # What a killed supervisor left holds ports of ours; ``data`` names it, and the next `up` ends it.
    if not supervisor.is_running() and not supervisor.orphans():
        findings += _taken(stack.ports(), stack.environ)
    deployment = stack.deployment()
    if not deployment.is_up() and not deployment.supervisor().orphans():
        findings += _taken(deployment.ports(), stack.environ)
    return findings or [ok(_("ports"), _("Each is ours or free."))]


def _taken(wanted: Mapping[str, int], environ: Mapping[str, str]) -> Iterator[Finding]:
    for name, port in wanted.items():
        if ports.is_free(port):
            continue
        found = _("Port {port} for {name} is held by {holder}.").format(port=port, name=name, holder=ports.holder(port))
        if ports.overrides([name], environ):
            cure = _("Stop that process, or give {variable} another number.").format(variable=ports.variable(name))
            yield fault(_("ports"), found, cure)
        else:
            cure = _("Nothing to do: `once up` moves to free ports and says so. Or stop that process to keep this one.")
            yield warning(_("ports"), found, cure)
