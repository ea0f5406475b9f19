"""Build the read model of analytics again from the first event on, beside the live one, while orders keep coming.

A second version is filled by a consumer in a group of its own. When it has come near to the live one, the live members
stop; the second version reads on to at least where they had committed, on every partition; one transaction puts it in
the live one's place, inbox and all; the live members go on, behind an inbox that knows what the new version has.

Invariant: below the live group's offsets nothing is missing from the version that is live. Before the switch that is
the old version's own doing; at the switch it is what was waited for.

A crash at any step leaves the live version as it was, or, after the switch, the new one. What else is left (a schema,
a group, members that are stopped) goes with the next call, or with `once up`.
"""

import os
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from gettext import gettext as _
from pathlib import Path
from typing import Any, Final

import psycopg
from confluent_kafka import KafkaException

from infra.kafka.committed import Place
from infra.kafka.marks import Marks
from infra.kafka.topics import admin
from infra.local.deployment import Deployment
from infra.local.errors import StackError
from infra.local.server import Report
from infra.one_shot import ask
from infra.postgres.roles import owner
from infra.replay.group import Group

SERVICE: Final = "analytics"
INSTANCE: Final = "analytics-rebuild"
NEAR_EVENTS: Final = 500
"""How far behind the live version the new one may be when the live members stop: what readers wait for."""

STALLED_SECONDS: Final = 60.0
_LOCK: Final = 0x0CE_0B1D
_POLL_SECONDS: Final = 0.2


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What a rebuild did."""

    events: int
    """That the new version had read when it became live."""
    paused_seconds: float
    """For how long the live members were stopped."""


def rebuild(deployment: Deployment, kafka: str, report: Report) -> Rebuilt:
    """Build a new version and make it the live one. Raises StackError, with the old one live, when it cannot."""
    live = Group(deployment, kafka, SERVICE)
    with _alone(deployment):
        _refuse_without_the_whole_log(live)
        report(_("Making an empty version beside the live one"))
        schema = str(_step(deployment, "begin")["schema"])
        try:
            return _fill_and_switch(live, _Follower(live, schema), report)
        finally:
            _step(deployment, "clean")
            _forget_groups(live)


def _fill_and_switch(live: Group, new: "_Follower", report: Report) -> Rebuilt:
    with new.running():
        report(_("Reading all events from the first one on"))
        new.wait_until(lambda: _behind(live, new.committed()) <= NEAR_EVENTS)
        begun = time.monotonic()
        with live.stopped(report):
            report(_("Waiting until the new version has all that the old one has"))
            new.wait_until(lambda: _behind(live, new.committed()) == 0)
            new.stop()
            report(_("Putting the new version in the place of the old one"))
            _step(live.deployment, "switch", new.schema)
        return Rebuilt(sum(new.committed().values()), time.monotonic() - begun)


def _behind(live: Group, reached: Mapping[Place, int]) -> int:
    """Count what the live group has committed and the new version has not, partition by partition."""
    return sum(max(0, offset - reached.get(place, 0)) for place, offset in live.committed().items())


class _Follower:
    """The consumer that fills the new version: what a live member runs, with another schema and a group of its own.

    It ends with its standard input, so it does not outlive us.
    """

    def __init__(self, live: Group, schema: str) -> None:
        self.schema = schema
        self._group = f"{live.name}.{schema}"
        self._live = live
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> Path:
        return self._live.deployment.directory / f"{INSTANCE}.log"

    @contextmanager
    def running(self) -> Iterator[None]:
        member = self._live.members[0]
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                self._live.deployment.programs[member].argv,
                env={**os.environ, **self._environment(member)},
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
            )
        try:
            yield
        finally:
            self.stop()

    def stop(self) -> None:
        """Let it finish its batch and end; harmless when it has."""
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(STALLED_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def committed(self) -> dict[Place, int]:
        found = Marks(self._live.kafka).committed(self._group, self._live.places())
        return {place: offset for place, offset in found.items() if offset is not None}

    def wait_until(self, reached: Callable[[], bool]) -> None:
        """Wait while it moves. Raises StackError with its last words when it ends, or moves no more."""
        stood, since = self.committed(), time.monotonic()
        while not reached():
            assert self._process is not None
            if self._process.poll() is not None:
                raise StackError(
                    _("The consumer of the new version has ended, and the old one stays live: {words}").format(
                        words=self._last_words()
                    )
                )
            if (now := self.committed()) != stood:
                stood, since = now, time.monotonic()
            elif time.monotonic() - since > STALLED_SECONDS:
                raise StackError(
                    _(
                        "The new version has read nothing for {seconds:.0f} s, and the old one stays live. Its "
                        "consumer's log says why: {log}"
                    ).format(seconds=STALLED_SECONDS, log=self.log)
                )
            time.sleep(_POLL_SECONDS)

    def _environment(self, member: str) -> dict[str, str]:
        return {
            **self._live.deployment.environment(member),
            "INSTANCE": INSTANCE,
            "METRICS_PORT": "0",
            "REBUILD_SCHEMA": self.schema,
        }

    def _last_words(self) -> str:
        lines = self.log.read_text(errors="replace").strip().splitlines()
        return lines[-1] if lines else _("it said nothing ({log})").format(log=self.log)


def _refuse_without_the_whole_log(live: Group) -> None:
    marks = Marks(live.kafka)
    cut = {place: low for place, low in marks.lows(live.places()).items() if low > 0}
    if cut:
        (topic, partition), low = next(iter(cut.items()))
        raise StackError(
            _(
                "{topic}[{partition}] begins at offset {low}: what was before is gone, and a new version would lack "
                "it. The live one stays. A read model whose log does not go back to the first event can only be "
                "restored from a backup."
            ).format(topic=topic, partition=partition, low=low)
        )


@contextmanager
def _alone(deployment: Deployment) -> Iterator[None]:
    """Keep a second rebuild away; the lock goes with the connection, so with this process."""
    with psycopg.connect(deployment.superuser_url(SERVICE), autocommit=True) as connection:
        row = connection.execute("SELECT pg_try_advisory_lock(%s)", [_LOCK]).fetchone()
        if not (row and row[0]):
            raise StackError(_("Another rebuild is at work here. Wait for its end, or end it, and call again."))
        yield


def _step(deployment: Deployment, *arguments: str) -> Any:
    return ask(deployment, f"services.{SERVICE}", SERVICE, owner(SERVICE), "rebuild", *arguments)


def _forget_groups(live: Group) -> None:
    """Delete the groups of this attempt and of earlier ones; one that still has a member is left for the next."""
    client = admin(live.kafka)
    listed = client.list_consumer_groups(request_timeout=10.0).result().valid
    left = [each.group_id for each in listed if each.group_id.startswith(f"{live.name}.rebuild_")]
    for answer in client.delete_consumer_groups(left).values() if left else ():
        try:
            answer.result()
        except KafkaException:
            continue
