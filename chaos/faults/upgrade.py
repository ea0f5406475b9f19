"""Processes that begin as the release before (``chaos/earlier.py``) are brought up to date while orders keep coming.

Felt when the two releases have really met: an event of the older shape was written, or one of the newer was refused.
"""

import json
import urllib.request
from dataclasses import dataclass, replace
from functools import partial
from gettext import gettext as _
from typing import Any, Final

from chaos.faults import Quiet, missing
from chaos.history import FaultPhase
from chaos.stage import Stage
from infra.local.services import Program

NEWER, OLDER = "urn:effectively-once:PaymentDeclined:2", "urn:effectively-once:PaymentDeclined:1"
_WRITTEN: Final = "SELECT count(*) FROM outbox WHERE dataschema = %s"
_IN_LOT: Final = "SELECT count(*) FROM inbox_parked WHERE state <> 'discarded'"
PATIENCE_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Upgrade(Quiet):
    """What every upgrade of a mixed system is: it waits until the releases have met, then renews its targets."""

    targets: tuple[str, ...]

    @property
    def local_only(self) -> bool:
        return True

    @property
    def earlier(self) -> tuple[str, ...]:
        return self.targets

    def upgrade(self, stage: Stage) -> None:
        """One process after the other runs today's release."""
        for target in self.targets:
            table = stage.deployment.programs
            stage.deployment.change({**table, target: of_today(table[target])}, stage.say)

    def probe(self, stage: Stage) -> str | None:
        return missing(stage, self.targets)


@dataclass(frozen=True, slots=True, kw_only=True)
class OldProducer(Upgrade):
    """Writers are still of the release before: readers of today meet the older shape, then both, then the newer."""

    database: str

    def inject(self, stage: Stage) -> None:
        stage.record(self.name, FaultPhase.INJECT, self.database, detail="writes what the release before wrote")
        stage.wait_until(partial(_count, stage, self.database, _WRITTEN, OLDER), PATIENCE_SECONDS)
        self.upgrade(stage)
        if stage.wait_until(partial(_count, stage, self.database, _WRITTEN, NEWER), PATIENCE_SECONDS):
            older, newer = (_count(stage, self.database, _WRITTEN, shape) for shape in (OLDER, NEWER))
            if older:
                detail = f"{older} events of the older shape, {newer} of the newer"
                stage.record(self.name, FaultPhase.HIT, self.database, detail=detail)


@dataclass(frozen=True, slots=True, kw_only=True)
class OldConsumer(Upgrade):
    """Readers are still of the release before: what they cannot read is parked, and redriven once they are of today."""

    service: str

    def inject(self, stage: Stage) -> None:
        stage.record(self.name, FaultPhase.INJECT, self.service, detail="reads what the release before read")
        if stage.wait_until(partial(_count, stage, self.service, _IN_LOT), PATIENCE_SECONDS):
            stage.record(self.name, FaultPhase.HIT, self.service, detail=f"parked: {_entries(stage, self.service)[0]}")
        self.upgrade(stage)
        self._redrive(stage)

    def heal(self, stage: Stage) -> None:
        self._redrive(stage)
        stage.record(self.name, FaultPhase.HEAL, self.service, detail="redriven by a reader that knows them")

    def probe(self, stage: Stage) -> str | None:
        if stage.wait_until(lambda: not _count(stage, self.service, _IN_LOT), PATIENCE_SECONDS):
            return missing(stage, self.targets)
        left = _count(stage, self.service, _IN_LOT)
        return _("{count} entries are still in the lot of {service}").format(count=left, service=self.service)

    def _redrive(self, stage: Stage) -> None:
        """What `once parked redrive` does, for each that is parked; what is held behind it follows by itself."""
        for entry in _entries(stage, self.service):
            if entry["state"] == "parked":
                _admin(stage, self.service, "POST", f"/inbox/{entry['id']}/redrive")


def of_today(program: Program) -> Program:
    return replace(program, argv=tuple(word for word in program.argv if word != "chaos.earlier"))


def _count(stage: Stage, database: str, query: str, *parameters: object) -> int:
    with stage.database(database) as connection:
        row = connection.execute(query.encode(), parameters).fetchone()
        return int(row[0]) if row else 0


def _entries(stage: Stage, service: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = _admin(stage, service, "GET", "?lot=inbox")["entries"]
    return found


def _admin(stage: Stage, service: str, method: str, path: str) -> dict[str, Any]:
    request = urllib.request.Request(  # noqa: S310  # our own address
        f"{stage.deployment.url(f'{service}-api')}/admin/parked{path}",
        data=b"" if method == "POST" else None,
        headers={"Authorization": f"Bearer {stage.stack.home.secret('admin-token')}"},
        method=method,
    )
    with urllib.request.urlopen(request, timeout=10.0) as answer:  # noqa: S310  # our own address
        found: dict[str, Any] = json.load(answer)
        return found
