"""A RabbitMQ of a test's own, where the system has the package: on 127.0.0.1, in a folder, gone with the test."""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest
from kombu import Connection

from infra.local.ports import RUNS, free_block
from tests.conftest import eventually

PROGRAM: Final = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
"""What Debian's and Ubuntu's package has; its wrapper in /usr/sbin insists on a user of its own."""
LARGEST_BYTES: Final = 200_000


class RabbitServer:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ports = free_block(("amqp", "distribution", "epmd"), RUNS)
        self._process: subprocess.Popen[bytes] | None = None
        (folder / "rabbitmq.conf").write_text(f"max_message_size = {LARGEST_BYTES}\nlog.console = false\n")

    @property
    def url(self) -> str:
        return f"amqp://guest:guest@127.0.0.1:{self._ports['amqp']}//"

    def start(self) -> None:
        with (self._folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                [PROGRAM], env=self._environment(), stdout=log, stderr=log, start_new_session=True
            )
        eventually(self._answers, 90, lambda: (self._folder / "server.log").read_text()[-2000:])

    def kill(self) -> None:
        """End the server as a power cut would: nothing is said, nothing is written any more."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(30)
            self._process = None

    def close(self) -> None:
        self.kill()
        # Erlang's port mapper outlives its nodes; this one has a port of its own, so nobody else's is met.
        if shutil.which("epmd"):
            eventually(self._mapper_is_gone, 30, "the port mapper has let its node go, and ends")

    def _mapper_is_gone(self) -> bool:
        """Ask it to end, which it refuses until it has noticed that its node is dead."""
        asked = ["epmd", "-port", str(self._ports["epmd"]), "-kill"]
        said = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=30)
        return "Cannot connect" in said.stdout + said.stderr

    def _answers(self) -> bool:
        with Connection(self.url, connect_timeout=2) as connection:
            connection.connect()
            return bool(connection.connected)

    def _environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self._folder),
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_CONFIG_FILE": str(self._folder / "rabbitmq.conf"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self._folder / "plugins"),
            "RABBITMQ_MNESIA_BASE": str(self._folder / "data"),
            "RABBITMQ_LOG_BASE": str(self._folder / "log"),
            "RABBITMQ_NODENAME": f"test-{self._ports['amqp']}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(self._ports["amqp"]),
            "RABBITMQ_DIST_PORT": str(self._ports["distribution"]),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "ERL_EPMD_PORT": str(self._ports["epmd"]),
        }


@contextmanager
def rabbit_server(folder: Path) -> Iterator[RabbitServer]:
    """Run a server; where there is none to be run, skip with words, and in CI fail."""
    if not PROGRAM.exists():
        words = "needs RabbitMQ (Debian, Ubuntu: apt-get install rabbitmq-server)"
        pytest.fail(f"CI {words}") if os.environ.get("CI") else pytest.skip(words)
    server = RabbitServer(folder)
    try:
        server.start()
        yield server
    finally:
        server.close()
