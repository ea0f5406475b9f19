"""Writers behind a pooler in transaction mode: many clients, two connections to the server.

Seen red with psycopg's prepared statements left on: "prepared statement already exists" (pgbouncer 1.18).
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from infra.local.ports import RUNS, free_block
from infra.local.system_user import SYSTEM_USER
from tests.adopt import pages
from tests.adopt.shop import Shop
from tests.conftest import eventually

PGBOUNCER = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
WRITERS, EACH = 16, 12

pytestmark = pytest.mark.skipif(
    PGBOUNCER is None, reason="there is no pgbouncer here: install the package of that name to run this"
)

CONFIGURATION = """
[databases]
* = host={host} port={port} user={user} password={password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {listen}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 2
"""


@pytest.fixture
def pooled(shop: Shop, tmp_path: Path) -> Iterator[str]:
    """Return the shop's address behind a pooler."""
    server, listen = urlsplit(shop.plain), free_block(["pgbouncer"], RUNS)["pgbouncer"]
    configuration = CONFIGURATION.format(
        host=server.hostname, port=server.port, user=server.username, password=server.password, listen=listen
    )
    (tmp_path / "pgbouncer.ini").write_text(configuration)
    user = ["-u", SYSTEM_USER] if os.geteuid() == 0 else []
    command = [str(PGBOUNCER), "-q", *user, str(tmp_path / "pgbouncer.ini")]
    with (tmp_path / "log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            url = f"postgresql://shop@127.0.0.1:{listen}{server.path}"
            eventually(lambda: psycopg.connect(url).close() is None, 20, (tmp_path / "log").read_text)
            yield url
        finally:
            process.terminate()


def test_events_keep_their_order_behind_a_pooler(shop: Shop, pooled: str) -> None:
    """A transaction is all that a writer needs: sixteen share two connections, and nothing is lost or out of order."""
    connect = pages.python("pooler.md")["connect"]
    confirm = pages.python("psycopg.md")["confirm"]
    order_ids = [shop.new_order() for _ in range(4)]

    def write(number: int) -> None:
        with connect(pooled) as connection:
            for each in range(EACH):
                with connection.transaction():
                    confirm(connection, order_ids[(number + each) % 4], "R-1")

    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(write, range(WRITERS)))
    assert [shop.told(order_id) for order_id in order_ids] == [list(range(1, WRITERS * EACH // 4 + 1))] * 4
    used = shop.rows(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    assert used[0][0] <= 2, "the pooler has more connections than it was given: nothing was shared"


def test_options_of_a_session_are_refused_with_words(pooled: str) -> None:
    """So nobody believes in a time-out that is not there."""
    with pytest.raises(psycopg.OperationalError, match="unsupported startup parameter"):
        psycopg.connect(pooled, options="-c lock_timeout=2s")
