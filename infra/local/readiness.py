"""Whether a process or a consumer group can do its work, asked with a real question: an open port is not an answer."""

import json
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from smtplib import SMTP

from confluent_kafka import ConsumerGroupState
from confluent_kafka.admin import AdminClient

from infra.cdc.connect import connectors
from infra.local.errors import NotReadyError
from infra.local.services import Listens

READY_WITHIN_SECONDS = 120


def ask_ready(host: str, port: int) -> None:
    try:
        with urllib.request.urlopen(f"http://{host}:{port}/readyz", timeout=5):
            return
    except urllib.error.HTTPError as error:
        raise NotReadyError(json.loads(error.read()).get("detail", f"HTTP {error.code}")) from error


def ask_metrics(host: str, port: int) -> None:
    with urllib.request.urlopen(f"http://{host}:{port}/metrics", timeout=5):
        return


def ask_connect(host: str, port: int) -> None:
    for each in connectors(f"{host}:{port}"):
        if each.state != "RUNNING":
            raise NotReadyError(f"connector {each.name} is {each.state.lower()}: {each.error}")


def ask_smtp(host: str, port: int) -> None:
    with SMTP(host, port, timeout=5) as client:
        client.noop()


PROBES: Mapping[Listens, Callable[[str, int], None]] = {
    "http": ask_ready,
    "smtp": ask_smtp,
    "metrics": ask_metrics,
    "connect": ask_connect,
}
"""By what a process listens on. Each raises any error while it cannot work."""


def ask_group(client: AdminClient, group: str, members: int) -> None:
    """Ask whether a group has this many members, and each its partitions."""
    found = client.describe_consumer_groups([group], request_timeout=5)[group].result()
    if found.state != ConsumerGroupState.STABLE or len(found.members) < members:
        raise NotReadyError(f"group {group} has {len(found.members)} of {members} members")
