"""What is written for the supervisor, and what reaches a process."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from infra.local.supervisor import Supervisor, Task, configuration


def task(name: str = "billing-1", **changes: object) -> Task:
    settings: dict[str, object] = {
        "name": name,
        "argv": ("/usr/bin/python3", "-m", "x"),
        "environment": {"A": "1"},
        "directory": Path("/a %x #1; 'b'"),
        **changes,
    }
    return Task(**settings)  # type: ignore[arg-type]


def test_no_path_and_no_password_stands_in_the_configuration() -> None:
    text = configuration([task()], 27400, "secret-word")
    assert "/a %x" not in text
    assert "secret-word" not in text


def test_the_supervisor_listens_on_the_loopback_address_only() -> None:
    assert "port=127.0.0.1:27400\n" in configuration([task()], 27400, "x")
    assert "unix" not in configuration([task()], 27400, "x")


def test_a_section_changes_when_the_process_would_be_started_otherwise() -> None:
    before = configuration([task()], 27400, "x")
    assert configuration([task()], 27400, "x") == before
    assert configuration([task(environment={"A": "2"})], 27400, "x") != before
    assert configuration([task(argv=("/usr/bin/python3", "-m", "y"))], 27400, "x") != before


def test_another_shell_changes_no_section(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its PATH is not the process's business: `once up` from there must not restart the whole system. Seen red so."""
    before = configuration([task()], 27400, "x")
    monkeypatch.setenv("PATH", "/somewhere/else")
    assert configuration([task()], 27400, "x") == before


def test_a_log_without_limit_is_not_rotated() -> None:
    text = configuration([task(log_limit_bytes=0)], 27400, "x")
    assert "stdout_logfile_maxbytes=0\n" in text
    assert "stdout_logfile_backups=0\n" in text


class Stranger(BaseHTTPRequestHandler):
    """Another stack's supervisor: it knows another password."""

    def do_POST(self) -> None:
        self.send_error(401)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def strangers_port() -> Iterator[int]:
    with HTTPServer(("127.0.0.1", 0), Stranger) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


def test_the_supervisor_of_another_stack_on_our_port_is_not_taken_for_ours(tmp_path: Path, strangers_port: int) -> None:
    supervisor = Supervisor(tmp_path, strangers_port, "our-password")
    assert supervisor.processes() == []
    assert not supervisor.is_running()
