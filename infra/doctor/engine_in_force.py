"""Whether what publishes events can do so: a connector that has stopped, a slot that is gone, a switch half done."""

from collections.abc import Iterable
from gettext import gettext as _

import psycopg

from infra.doctor.finding import Finding, fault, ok
from infra.local.stack import LocalStack
from infra.status.feeds import complaints, feeds, interrupted


def check_engine_in_force(stack: LocalStack) -> Iterable[Finding]:
    deployment = stack.deployment()
    if not deployment.is_up():
        return []
    try:
        said = [*interrupted(deployment), *complaints(feeds(deployment))]
    except psycopg.Error:
        return []  # others say that the database is away
    if not said:
        return [ok(_("engine"), deployment.engine)]
    # The cure is in the sentence, since it depends on what was found.
    return [fault(_("engine"), sentence, _("`docs/engines.md` says more.")) for sentence in said]
