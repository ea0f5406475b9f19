"""Memory and limits of the machine."""

import resource
from collections.abc import Iterable, Iterator
from gettext import gettext as _

import psutil

from infra.doctor.finding import Finding, ok, warning
from infra.local.profile import Profile
from infra.local.stack import LocalStack

MEMORY_WANTED_BYTES = {Profile.SMALL: 1_500_000_000, Profile.CLUSTER: 3_000_000_000}
FILES_WANTED = 1024


def check_machine(stack: LocalStack) -> Iterable[Finding]:
    needed = 0 if stack.servers_running() else MEMORY_WANTED_BYTES[stack.profile]
    return [*judge_memory(psutil.virtual_memory().available, needed), *judge_files(_file_limit())]


def judge_memory(available: int, needed: int) -> Iterator[Finding]:
    found = _("{free:.1f} GB available").format(free=available / 1e9)
    if available < needed:
        cure = _("The whole system wants {needed:.1f} GB. Close something, or give the (virtual) machine more memory.")
        yield warning(_("memory"), found, cure.format(needed=needed / 1e9))
    else:
        yield ok(_("memory"), found)


def judge_files(limit: int) -> Iterator[Finding]:
    if limit < FILES_WANTED:
        found = _("A process may open {limit} files only, and Kafka keeps several per partition.").format(limit=limit)
        yield warning(_("open files"), found, _("Run `ulimit -n 4096` in this shell, then start again."))


def _file_limit() -> int:
    soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return soft if soft != resource.RLIM_INFINITY else 1_000_000
