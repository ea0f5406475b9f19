"""One run of a scenario: prepare, start, load under faults, heal, drain, observe. Judging comes after, from the files.

Invariant: whatever happens, every fault is healed and every process of the run is stopped before this returns, and
what was seen up to then is in ``evidence/``. The run has databases, topics, groups and a Redis queue of its own, named
by the run; the servers are shared and stay up.

Two phases, since a promise of safety and a promise of progress are different: nothing wrong may happen while things are
broken, and everything has to be done within a bound once they are whole.
"""

import secrets
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import psycopg

from chaos import repro
from chaos.archive import Archiver
from chaos.casting import cast, linked
from chaos.deliveries import DeliveryCount, plain_name
from chaos.director import Director
from chaos.history import Intent, LogRecord, Run, write_run
from chaos.links import Links
from chaos.load import Load
from chaos.observation import Observation, consumer_logs, database_urls
from chaos.pulse import Pulse, PulseTaker
from chaos.quiescence import Rest
from chaos.scenario import Scenario, Workload
from chaos.stage import Stage
from chaos.unsafe import Variant
from chaos.watcher import Phase, Watcher
from infra.engine import switch
from infra.local.services import GROUPS, Program, programs
from infra.local.stack import LocalStack

TOPICS_OF = {name: list(group.topics) for name, group in GROUPS.items()}
"""Consumer group → topics. A consumer that was added is waited for and judged like ours."""

LoadMaker = Callable[[Workload, int, str, Path], Load]
"""Makes the customers of a run from a workload, a seed, the API's address and the file of the journal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """What a run leaves for whoever called it."""

    run: str
    directory: Path
    seed: int
    order_id: str | None
    pulse: Pulse
    first_invoice_at: float | None
    came_to_rest: bool
    problems: tuple[str, ...] = ()

    @property
    def evidence(self) -> Path:
        return self.directory / "evidence"


class Performance:
    """The parts of one run and the order in which they begin and end."""

    def __init__(
        self,
        scenario: Scenario,
        seed: int,
        variant: Variant | None,
        stack: LocalStack,
        watcher: Watcher,
        load: LoadMaker,
    ) -> None:
        self._scenario = scenario
        self._seed = seed
        self._variant = variant
        self._stack = stack
        self._watcher = watcher
        self._load = load
        self.run = f"{scenario.name.replace('_', '-')}-{secrets.token_hex(2)}"
        self.directory = stack.home.runs / self.run
        self.evidence = self.directory / "evidence"
        self._failpoints = self.directory / "failpoints"
        self._faults = self.evidence / "faults.jsonl"
        self._links = Links.open(stack, scenario.links)
        table = linked(self._cast(), scenario, self._links.through)
        self._deployment = stack.deployment(self.run, self.directory, table)
        self._poisoned: list[str] = []
        self._abandoned = threading.Event()
        self._record = self._describe()

    def perform(self) -> Finished:
        """Do all phases. An interruption skips to healing and stopping, and is raised again after them."""
        self._open_evidence()
        with ExitStack() as ending:
            ending.callback(self._links.close)
            ending.callback(self._deployment.stop)
            self._prepare()
            archiver = Archiver(self._stack.servers.kafka, self._topics(), self.evidence / LogRecord.file)
            ending.callback(archiver.stop)
            self._start(archiver)
            customers = self._load(
                self._scenario.workload, self._seed, self._deployment.url("orders-api"), self.evidence / Intent.file
            )
            pulse = self._pulse_taker(customers, archiver)
            ending.callback(pulse.stop)
            problems, at_rest = self._play(customers, archiver, pulse)
            self._deployment.stop()
            pulse.stop()
            self._observe(archiver, [*customers.tally.poisoned, *self._poisoned])
        return Finished(
            run=self.run,
            directory=self.directory,
            seed=self._seed,
            order_id=customers.tally.first_order_id,
            pulse=pulse.last,
            first_invoice_at=pulse.first_invoice_at,
            came_to_rest=at_rest,
            problems=tuple(problems),
        )

    # Phases

    def _open_evidence(self) -> None:
        """Have a file for everything that is written along the way: an empty one says that there was nothing."""
        self.evidence.mkdir(parents=True, exist_ok=True)
        self._faults.touch()
        write_run(self.evidence, self._record)
        repro.write(self.directory / "repro.sh", self._scenario, self._seed, self._variant)

    def _prepare(self) -> None:
        self._deployment.prepare(self._watcher.say)
        for database, statements in (self._variant.before_start if self._variant else {}).items():
            with psycopg.connect(self._deployment.superuser_url(database), autocommit=True) as connection:
                for statement in statements:
                    connection.execute(statement.encode())

    def _start(self, archiver: Archiver) -> None:
        self._watcher.phase(Phase.START)
        archiver.start()
        self._deployment.start(self._watcher.say)
        if self._scenario.engine == "cdc":
            switch(self._deployment, "cdc", self._watcher.say, bootstrap=self._stack.servers.kafka)

    def _play(self, customers: Load, archiver: Archiver, pulse: PulseTaker) -> tuple[list[str], bool]:
        stage = self._stage()
        director = Director(self._scenario, stage, lambda: customers.tally.share, self._watcher)
        self._watcher.phase(Phase.LOAD)
        pulse.start()
        director.start()
        try:
            customers.run(still_needed=lambda: not director.over.is_set())
            director.join()
        except BaseException:
            self._abandoned.set()
            customers.abandon()
            raise
        finally:
            director.join()
            self._watcher.phase(Phase.HEAL)
            self._abandoned.clear()
            problems = director.heal()
        self._watcher.phase(Phase.DRAIN)
        return problems, self._rest(archiver).await_(self._scenario.drain_seconds, self._abandoned, self._watcher.say)

    def _observe(self, archiver: Archiver, poisoned: Sequence[str]) -> None:
        self._watcher.phase(Phase.OBSERVE)
        archiver.stop()
        if archiver.failure is not None:
            raise archiver.failure
        Observation(self._stack, self._deployment, self.evidence).write(TOPICS_OF, self._scenario.workload)
        expect = {**self._record.expect, "poisoned": list(poisoned)}
        write_run(self.evidence, replace(self._record, ended_at=datetime.now(UTC), expect=expect))

    # Parts

    def _cast(self) -> dict[str, Program]:
        # Debezium begins beside relays that poll.
        engine = "polling" if self._scenario.engine == "cdc" else self._scenario.engine
        table = programs(self.run, engine, self._stack.profile)
        return cast(table, self._scenario, self._variant, self._failpoints, self._faults)

    def _stage(self) -> Stage:
        return Stage(
            run=self.run,
            stack=self._stack,
            deployment=self._deployment,
            faults=self._faults,
            failpoints=self._failpoints,
            seed=self._seed,
            links=self._links.proxies,
            say=self._watcher.say,
            poisoned=self._poisoned,
            abandoned=self._abandoned,
        )

    def _pulse_taker(self, customers: Load, archiver: Archiver) -> PulseTaker:
        return PulseTaker(
            urls=self._urls(),
            tally=customers.tally,
            archiver=archiver,
            deliveries=DeliveryCount.of(consumer_logs(self._deployment), self.run),
            mail=self._deployment.mail_journal,
            show=self._watcher.pulse,
        )

    def _rest(self, archiver: Archiver) -> Rest:
        prefix = f"{self.run}."
        return Rest(
            urls=self._urls(),
            kafka=self._stack.servers.kafka,
            groups={prefix + group: [prefix + topic for topic in topics] for group, topics in TOPICS_OF.items()},
            archiver=archiver,
            mail=self._deployment.mail_journal,
        )

    def _topics(self) -> dict[str, str]:
        """Return all that any outbox may send to: also the notices, which no group reads."""
        return {topic: plain_name(topic, self.run) for topic in self._deployment.topics.values()}

    def _urls(self) -> dict[str, str]:
        return database_urls(self._deployment)

    def _describe(self) -> Run:
        # A fault that could not even be injected must be missed, so each is named beforehand.
        expect: dict[str, object] = {"faults": [fault.name for fault in self._scenario.faults]}
        if self._scenario.faults:
            expect["recovery_seconds"] = self._scenario.drain_seconds
        expect |= self._scenario.expect.flags
        if self._variant is not None:
            expect["not_applicable"] = dict(self._variant.not_applicable)
        return Run(
            run=self.run,
            scenario=self._scenario.name,
            seed=self._seed,
            started_at=datetime.now(UTC),
            expect=expect,
            groups=TOPICS_OF,
            guard_off=self._variant.name if self._variant else None,
            about={
                "title": self._scenario.title,
                "teaches": self._scenario.teaches,
                "guard": self._scenario.guard,
                "acts": [{"title": act.title, "story": act.story} for act in self._scenario.acts],
            },
        )
