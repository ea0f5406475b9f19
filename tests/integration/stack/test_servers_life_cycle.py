"""The servers' life: started twice, stopped twice, killed, robbed of a port, reset.

All of it in a home of its own, whose path is long and has spaces, signs and letters that trip up careless programs.
"""

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest

from infra.kafka.topics import admin, ensure_topics
from infra.local import ports
from infra.local.errors import PortTakenError
from infra.local.stack import LocalStack
from tests.conftest import eventually

_AWKWARD = "a home – größer; 100%x #1 'quoted' " + "lang " * 20


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("stack")
    # PostgreSQL of a root user has to walk here.
    for each in (path, path.parent):
        each.chmod(0o755)
    return path / _AWKWARD.strip()


@pytest.fixture(scope="module")
def own_stack(home: Path) -> Iterator[LocalStack]:
    stack = LocalStack.open({**os.environ, "ONCE_HOME": str(home)})
    yield stack
    stack.destroy()


@pytest.fixture
def running(own_stack: LocalStack) -> LocalStack:
    own_stack.servers_up()
    return own_stack


def pids(stack: LocalStack) -> dict[str, int | None]:
    return {each.name: each.pid for each in stack.server_processes()}


def test_starting_twice_leaves_the_running_servers_alone(running: LocalStack) -> None:
    before = pids(running)
    running.servers_up()
    assert pids(running) == before
    assert len(before) == 3


def test_stopping_twice_leaves_nothing_behind(running: LocalStack) -> None:
    started = [psutil.Process(pid) for pid in pids(running).values() if pid]
    running.servers_down()
    running.servers_down()
    assert not [process for process in started if process.is_running()]
    assert all(ports.is_free(port) for port in running.ports().values())


def test_data_survive_the_killing_of_every_process_and_starting_again_works(running: LocalStack) -> None:
    with psycopg.connect(running.superuser_url("postgres")) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS kept (word text)")
        connection.execute("INSERT INTO kept VALUES ('here')")
    ensure_topics(running.servers.kafka, ["kept"])
    sleeper = psycopg.connect(running.superuser_url("postgres"))  # a backend that outlives its parent for a while

    kill_everything(running)
    running.servers_up()

    sleeper.close()
    with psycopg.connect(running.superuser_url("postgres")) as connection:
        assert connection.execute("SELECT DISTINCT word FROM kept").fetchall() == [("here",)]
    assert "kept" in admin(running.servers.kafka).list_topics(timeout=5).topics


@pytest.mark.full
def test_processes_whose_supervisor_was_killed_are_replaced(running: LocalStack) -> None:
    orphans = pids(running)
    supervisor_of(running).kill()
    running.servers_up()
    assert not set(orphans.values()) & set(pids(running).values())
    assert not [pid for pid in orphans.values() if pid and psutil.pid_exists(pid)]


@pytest.mark.full
@pytest.mark.parametrize("name", ["postgres", "kafka", "redis"])
def test_a_killed_server_comes_back_by_itself_and_is_counted(running: LocalStack, name: str) -> None:
    before = next(each for each in running.server_processes() if each.name == name)
    assert before.pid is not None
    os.kill(before.pid, signal.SIGKILL)

    def back() -> bool:
        now = next(each for each in running.server_processes() if each.name == name)
        return now.state == "RUNNING" and now.pid != before.pid and now.restarts == before.restarts + 1

    eventually(back, 30, lambda: running.server_processes())
    running.servers_up()


def test_bringing_one_server_back_leaves_the_others_sessions_alone(running: LocalStack) -> None:
    """PostgreSQL runs on, open transaction and all, while Redis is started again."""
    with psycopg.connect(running.superuser_url("postgres")) as session:
        session.execute("SELECT pg_current_xact_id()")
        running.supervisor().stop_process("redis")
        assert not running.servers_running()
        running.servers_up()
        session.execute("SELECT 1")


@pytest.mark.full
def test_a_noted_port_that_somebody_took_makes_the_stack_move_and_say_so(running: LocalStack) -> None:
    running.servers_down()
    port = running.ports()["kafka"]
    told: list[str] = []
    with socket.create_server(("127.0.0.1", port)):
        running.servers_up(told.append)
    assert running.ports()["kafka"] != port
    assert any(str(port) in line and f"pid {os.getpid()}" in line for line in told)


def test_a_port_that_was_asked_for_and_is_taken_is_an_error_that_names_its_holder(own_stack: LocalStack) -> None:
    own_stack.servers_down()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        asked = {"ONCE_HOME": str(own_stack.home.root), "ONCE_PORT_REDIS": str(port)}
        with pytest.raises(PortTakenError, match=rf"Port {port} for redis is held by .*pid {os.getpid()}"):
            LocalStack.open(asked).servers_up()


@pytest.mark.full
def test_a_second_home_gets_ports_of_its_own(running: LocalStack, tmp_path: Path) -> None:
    other = LocalStack.open({"ONCE_HOME": str(tmp_path / "other")})
    assert not set(other.ports().values()) & set(running.ports().values())


def test_destroying_leaves_an_empty_stack_that_starts_again(running: LocalStack) -> None:
    with psycopg.connect(running.superuser_url("postgres")) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS doomed ()")
    before = running.ports()
    running.destroy()
    running.servers_up()
    assert running.ports() == before
    with psycopg.connect(running.superuser_url("postgres")) as connection:
        assert connection.execute("SELECT to_regclass('doomed')").fetchone() == (None,)


def supervisor_of(stack: LocalStack) -> psutil.Process:
    return psutil.Process(int((stack.home.servers / "supervisord.pid").read_text()))


def kill_everything(stack: LocalStack) -> None:
    """Kill supervisor and servers with -9, the supervisor first, so that it restarts nothing."""
    victims = [supervisor_of(stack), *(psutil.Process(pid) for pid in pids(stack).values() if pid)]
    for process in victims:
        process.kill()
    psutil.wait_procs(victims, 10)
