"""Faults: one file per family. Each fault is a frozen value that a scenario names, with four steps.

* ``inject``  waits for work in flight where it must, records its evidence, then acts; returns when it has bitten.
* ``heal``    undoes it; idempotent, and harmless for a fault that was never injected.
* ``probe``   says what is still wrong after healing, or nothing.
* evidence    is a line ``hit`` in ``faults.jsonl``, written before the damage is done.

| file | faults |
|---|---|
| `failpoint.py` | a process dies, hangs or waits at a named point between two durable actions |
| `process.py` | a process is killed, or stopped and continued, by its pid |
| `members.py` | consumer-group members join and leave |
| `replay.py` | a group's offsets go back to the start |
| `server.py` | PostgreSQL, Kafka or Redis is killed |
"""

from typing import Protocol

from chaos.stage import Stage


class Fault(Protocol):
    """See the module's docstring."""

    @property
    def name(self) -> str: ...

    @property
    def arms(self) -> tuple[str, ...]:
        """The processes that have to run with failpoints for this fault."""

    @property
    def spares(self) -> tuple[str, ...]:
        """The extra processes that have to stand by for this fault."""

    def inject(self, stage: Stage) -> None: ...

    def heal(self, stage: Stage) -> None: ...

    def probe(self, stage: Stage) -> str | None: ...
