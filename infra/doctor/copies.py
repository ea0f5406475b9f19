"""Whether each copy of the profile ``cluster`` is there and in step: brokers, partitions, the standby."""

from collections.abc import Iterable
from gettext import gettext as _

import psycopg
from confluent_kafka import KafkaException

from infra.doctor.finding import Finding, ok, warning
from infra.kafka import health
from infra.local.profile import Profile
from infra.local.stack import LocalStack
from infra.status import replication


def check_copies(stack: LocalStack) -> Iterable[Finding]:
    if stack.profile is Profile.SMALL or not stack.server_processes():
        return []
    return [*_brokers(stack), *_standby(stack)]


def _brokers(stack: LocalStack) -> Iterable[Finding]:
    try:
        said = health.complaints(health.health(stack.servers.kafka))
    except KafkaException:
        said = [_("No broker answers.")]
    cure = _("`once up` starts what is down; copies catch up by themselves, `once status` shows it.")
    return [warning("Kafka", each, cure) for each in said] or [ok("Kafka", _("Every copy is in step."))]


def _standby(stack: LocalStack) -> Iterable[Finding]:
    try:
        found = replication.replication(stack.superuser_url("postgres"), stack.database_names())
    except psycopg.Error:
        cure = _("`once up` starts it; if it is gone for good, `once standby promote` makes the standby the primary.")
        return [warning("PostgreSQL", _("No server takes writes."), cure)]
    # The cure is in the sentence, since it depends on what was found.
    said = [warning("PostgreSQL", each, _("docs/cluster.md says more.")) for each in replication.complaints(found)]
    return said or [ok("PostgreSQL", _("The standby is in step, and commits wait for it."))]
