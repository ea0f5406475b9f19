"""What tests of every tier share: the real local stack, fresh databases and topics on it, and waiting without sleeping.

Invariant: a test gets databases, topics and a Redis database of its own and leaves none behind, so tests may run in any
order and beside a running ``once up``. Servers are started once, when the first test needs them, and stay up.
"""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol, TypeVar
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from redis import Redis
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

from infra.kafka.topics import delete_topics, ensure_topics
from infra.local.home import Home
from infra.local.stack import LocalStack
from tests.janitor import Janitor
from tests.schemas import Schemas

T = TypeVar("T")

ROOT = Path(__file__).parent.parent
WORKER = os.environ.get("PYTEST_XDIST_WORKER", "gw0")
"""Which of the processes this is, where the tests are spread over several."""

TIERS = ("unit", "architecture", "contract", "integration", "e2e")
OTHER_POSTGRES = "ONCE_TEST_POSTGRES"
"""Variable with the superuser's address on another server for tests' databases, ``{database}`` where a name goes."""

_TEST_REDIS_DATABASES = range(16, 64)


class DatabaseFactory(Protocol):
    def __call__(
        self, *, driver: str = "postgresql+psycopg", of: str | None = None, like: str | None = None
    ) -> str: ...


class TopicFactory(Protocol):
    def __call__(self, partitions: int = 12) -> str: ...


def eventually(
    probe: Callable[[], T], deadline_seconds: float = 10, describe: str | Callable[[], object] = "the condition"
) -> T:
    """Ask again and again until the probe's answer is true, and return that answer.

    An exception counts as "not yet". ``describe`` says what was waited for, or, as a function, how things stand at the
    end. Raises AssertionError at the deadline.
    """
    end = time.monotonic() + deadline_seconds
    pause, last = 0.01, ""
    while True:
        try:
            answer = probe()
            last = f"last answer: {answer!r}"
        except Exception as error:  # noqa: BLE001  # whatever it is, it may be gone in a moment
            answer, last = None, f"last error: {error!r}"
        if answer:
            return answer
        if time.monotonic() > end:
            described = describe() if callable(describe) else describe
            raise AssertionError(f"not within {deadline_seconds} s: {described} ({last})")
        time.sleep(pause)
        pause = min(pause * 1.5, 0.25)


def slowness() -> float:
    """How much slower than when idle the machine is now, by what waits for its processors; 1 and more."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def pytest_configure(config: pytest.Config) -> None:
    """Give every worker but the first a home of its own: what one does to its servers is no business of the other's."""
    if WORKER != "gw0":
        os.environ["ONCE_HOME"] = str(Home.from_environment(os.environ).further(WORKER).root)
    for tier in TIERS:
        config.addinivalue_line("markers", f"{tier}: tests in tests/{tier} (set by the folder)")
    config.addinivalue_line("markers", "full: longer tests, run by `make test-full` only")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test by the folder of its tier, so that ``-m unit`` and a path select the same."""
    for item in items:
        tier = item.path.relative_to(ROOT / "tests").parts[0]
        if tier in TIERS:
            item.add_marker(tier)


class Together(LoadScopeScheduling):
    """A file's tests go to one worker, for what they share; all that start containers too, for there is one engine."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return "containers" if file.startswith("tests/compose/") else file

    def remove_node(self, node: WorkerController) -> str | None:
        """Give what a worker left behind to the others, without the test that it died of. Returns that test.

        The library's own hands on files that are done, too, and whoever gets one of those waits for ever for its end.
        """
        left = {file: tests for file, tests in self.assigned_work.pop(node).items() if not all(tests.values())}
        if not left:
            return None
        running = next(iter(left.values()))
        died_of: str = next(test for test, done in running.items() if not done)
        running[died_of] = True
        self.workqueue.update({file: tests for file, tests in left.items() if not all(tests.values())})
        for each in self.assigned_work:
            self._reschedule(each)
        return died_of


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Together:
    return Together(config, log)


@pytest.fixture(scope="session")
def stack() -> Iterator[LocalStack]:
    """Return the local stack with its servers up. The first worker's stay up, for the next run."""
    stack = LocalStack.open()
    stack.servers_up()
    yield stack
    if WORKER != "gw0":
        stack.servers_down()


def server(stack: LocalStack) -> Callable[[str], str]:
    """Return a function that returns the superuser's address of a database, on the server that tests work on."""
    other = os.environ.get(OTHER_POSTGRES)
    return (lambda database: other.format(database=database)) if other else stack.superuser_url


@pytest.fixture(scope="session")
def janitor(stack: LocalStack) -> Iterator[Janitor]:
    janitor = Janitor(server(stack))
    yield janitor
    janitor.close()


@pytest.fixture(scope="session")
def schemas(stack: LocalStack, janitor: Janitor) -> Iterator[Schemas]:
    schemas = Schemas(server(stack))
    yield schemas
    janitor.drop(schemas.made())


@pytest.fixture(scope="module")
def postgres_url(stack: LocalStack, schemas: Schemas, janitor: Janitor) -> Iterator[DatabaseFactory]:
    """Return a function that makes a database and returns its address (superuser, password included).

    It is empty, or has the tables ``of`` a service, or is ``like`` a template of ``schemas``. For psycopg itself:
    ``postgres_url(driver="postgresql")``. The databases are dropped after the module.
    """
    made: list[str] = []
    url = server(stack)

    def make(*, driver: str = "postgresql+psycopg", of: str | None = None, like: str | None = None) -> str:
        name, template = f"test_{uuid4().hex}", schemas.template(of) if of else like or "template1"
        statement = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
        with psycopg.connect(url("postgres"), autocommit=True) as connection:
            connection.execute(statement.format(sql.Identifier(name), sql.Identifier(template)))
        made.append(name)
        return url(name).replace("postgresql", driver, 1)

    yield make
    janitor.drop(made)


@pytest.fixture(scope="session")
def kafka(stack: LocalStack) -> str:
    """Return Kafka's bootstrap address."""
    return stack.servers.kafka


@pytest.fixture(scope="module")
def topic(kafka: str) -> Iterator[TopicFactory]:
    """Return a function that makes a fresh topic and returns its name; deleted after the module."""
    made: list[str] = []

    def make(partitions: int = 12) -> str:
        name = f"test.{uuid4().hex}"
        ensure_topics(kafka, [name], partitions)
        made.append(name)
        return name

    yield make
    if made:
        delete_topics(kafka, made)


@pytest.fixture
def redis_url(stack: LocalStack) -> Iterator[str]:
    """Return the address of an empty Redis database that belongs to this test."""
    for number in _TEST_REDIS_DATABASES:
        url = stack.redis_url(number)
        with Redis.from_url(url) as client:
            # The mark keeps a second test run on the same stack away; it goes by itself if this run is killed.
            if client.set("test-owner", "1", nx=True, ex=600):
                client.flushdb()
                client.set("test-owner", "1", ex=600)
                yield url
                client.flushdb()
                return
    pytest.fail("All Redis databases for tests are in use. Stop other test runs, or wait ten minutes.")
