"""A copy of the databases in which nothing runs, and Debezium's jars."""

import os
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from infra.cdc import slot
from infra.kafka.jars import JarError, fetch_connect
from infra.local.deployment import Deployment
from infra.local.stack import LocalStack


@pytest.fixture(scope="module")
def deployment(stack: LocalStack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    name = f"engines-{uuid4().hex[:6]}"
    deployment = stack.deployment(name, Path(tmp_path_factory.mktemp(name)))
    try:
        deployment.prepare()
        yield deployment
    finally:
        deployment.destroy()


@pytest.fixture(scope="module")
def logical(deployment: Deployment) -> None:
    """Make sure that changes can be read from the log of this server."""
    level = slot.wal_level(deployment.superuser_url("orders"))
    assert level == "logical", "this server was started by an earlier version: `once down`, then `once up --servers`"


@pytest.fixture(scope="session")
def connect_jars() -> None:
    """Fetch Debezium. A laptop without a network skips; CI fails."""
    try:
        fetch_connect(os.environ)
    except JarError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))


@pytest.fixture
def outbox(deployment: Deployment) -> Iterator[psycopg.Connection]:
    """Return a superuser's connection to an orders database with an empty outbox."""
    with psycopg.connect(deployment.superuser_url("orders"), autocommit=True) as connection:
        connection.execute("TRUNCATE outbox, outbox_parked, cdc_heartbeat RESTART IDENTITY")
        connection.execute(
            "UPDATE relay_position SET done = '1:1:', floor_id = 0, target = NULL, target_floor = NULL, after_id = 0, "
            "owner = NULL, lease_until = NULL, epoch = epoch + 1"
        )
        yield connection
