"""A ledger emptied for each test, a mail sink that is up, a worker that a test starts, and the queue between them."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from alembic.config import Config
from sqlalchemy import Engine, inspect, text

from shared.database import create_engine
from tests.conftest import DatabaseFactory
from tests.integration.notifications.processes import OwnRedis, Process, Queue, Sink, free_port

INI = Path(__file__).parents[3] / "infra" / "alembic.ini"
KEPT = {"alembic_version"}

StartWorker = Callable[..., Process]


@pytest.fixture(scope="module")
def alembic_config() -> Config:
    return Config(INI, ini_section="notifications")


@pytest.fixture(scope="module")
def database_url(postgres_url: DatabaseFactory) -> str:
    return postgres_url(of="notifications")


@pytest.fixture(scope="module")
def migrated(database_url: str) -> Iterator[Engine]:
    engine = create_engine(database_url, None, "test", pool_size=5)
    yield engine
    engine.dispose()


@pytest.fixture
def engine(migrated: Engine) -> Engine:
    """Return a way into the module's database, whose tables are empty again."""
    with migrated.begin() as connection:
        tables = ", ".join(table for table in inspect(connection).get_table_names() if table not in KEPT)
        connection.execute(text(f"TRUNCATE {tables} RESTART IDENTITY"))
    return migrated


@pytest.fixture
def sink(tmp_path: Path) -> Iterator[Sink]:
    """Return a mail sink that is up."""
    port, journal = free_port(), tmp_path / "mail.jsonl"
    environment = {"SMTP_PORT": str(port), "MAIL_JOURNAL": str(journal), "LARGEST_MAIL_BYTES": "20000"}
    sink = Sink(("services.notifications.mail_sink",), environment, tmp_path / "sink.log", port, journal)
    sink.start()
    yield sink
    if sink.running:
        sink.end()


@pytest.fixture
def start_worker(
    tmp_path: Path, engine: Engine, database_url: str, redis_url: str, sink: Sink
) -> Iterator[StartWorker]:
    """Return a function that starts a worker with short waits."""
    workers: list[Process] = []

    def start(*arguments: str, **environment: str) -> Process:
        common = {
            "DATABASE_URL": database_url,
            "REDIS_URL": redis_url,
            "SMTP_PORT": str(sink.port),
            "SENDING_LEASE_SECONDS": "1",
            "RETRY_CEILING_SECONDS": "1",
            "VISIBILITY_TIMEOUT_SECONDS": "3",
        }
        module = arguments or ("services.notifications", "worker")
        worker = Process(module, {**common, **environment}, tmp_path / "worker.log")
        worker.start()
        workers.append(worker)
        return worker

    yield start
    for worker in workers:
        if worker.running and worker.exit_status() is None:
            worker.end()


@pytest.fixture
def queue(redis_url: str) -> Iterator[Queue]:
    queue = Queue(redis_url)
    yield queue
    queue.close()


@pytest.fixture
def own_redis(tmp_path: Path) -> Iterator[OwnRedis]:
    """Return a Redis of the test's own that is up, as durable as the stack's."""
    port = free_port()
    settings = {"port": port, "bind": "127.0.0.1", "dir": tmp_path, "appendonly": "yes", "appendfsync": "always"}
    options = tuple(word for name, value in settings.items() for word in (f"--{name}", str(value)))
    redis = OwnRedis(options, {}, tmp_path / "redis.log", port)
    redis.start()
    yield redis
    if redis.running:
        redis.end()
