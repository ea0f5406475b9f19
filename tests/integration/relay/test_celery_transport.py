"""Commands into a real queue: accepted is acknowledged, and a queue that takes nothing is a result, not an error."""

import json
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from uuid import uuid4

import pytest
from redis import Redis

from infra.local.redis import server
from services.relay.position import Row
from services.relay.transports import CeleryTransport
from shared.celery import queue_client
from tests.conftest import eventually

QUEUE = "commands"


def commands(count: int) -> list[Row]:
    now = datetime.now(UTC)
    return [
        Row(
            n,
            str(uuid4()),
            "email",
            f"order-{n}",
            1,
            "SendInvoice",
            "/billing",
            "urn:x",
            b'{"n":1}',
            None,
            now.isoformat(),
        )
        for n in range(1, count + 1)
    ]


def transport(url: str) -> CeleryTransport:
    return CeleryTransport(partial(queue_client, url, "test"), QUEUE, {"SendInvoice": "notifications.send_invoice"})


@pytest.fixture
def full_redis(tmp_path: Path) -> Iterator[str]:
    """A server of its own whose memory is used up."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    options = ["--bind", "127.0.0.1", "--port", str(port), "--save", "", "--maxmemory", "1"]
    with subprocess.Popen([str(server()), *options], cwd=tmp_path, stdout=subprocess.DEVNULL) as process:
        try:
            with closing(Redis(port=port)) as client:
                eventually(client.ping, 10, "the server answers")
            yield f"redis://127.0.0.1:{port}/0"
        finally:
            process.terminate()


def test_a_command_is_a_task_under_the_events_id(redis_url: str) -> None:
    """In order, as JSON, and counted once the queue has it."""
    rows = commands(3)
    with closing(transport(redis_url)) as to_queue:
        assert (to_queue.publish(rows, 5.0).count, to_queue.publish([], 5.0).error) == (3, None)
    with closing(Redis.from_url(redis_url)) as client:
        tasks = [json.loads(each) for each in reversed(client.lrange(QUEUE, 0, -1))]  # type: ignore[arg-type]
    assert [task["headers"]["id"] for task in tasks] == [row.event_id for row in rows]
    assert {task["content-type"] for task in tasks} == {"application/json"}


def test_a_full_queue_is_a_result(full_redis: str) -> None:
    """Nothing is thrown away to make room, and the relay's other destination goes on."""
    with closing(transport(full_redis)) as to_queue:
        published = to_queue.publish(commands(2), 5.0)
    assert published.count == 0
    assert "maxmemory" in (published.error or "")


def test_a_queue_that_is_away_is_a_result() -> None:
    """The relay waits and tries again."""
    with closing(transport("redis://127.0.0.1:9/0")) as to_queue:
        published = to_queue.publish(commands(2), 5.0)
    assert published.count == 0
    assert published.error
