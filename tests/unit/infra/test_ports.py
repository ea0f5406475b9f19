"""Ports: blocks, overrides, notes, and naming who is in the way."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from infra.local import ports
from infra.local.claims import claim
from infra.local.errors import PortTakenError, StackError
from infra.local.stack import LocalStack


def test_a_port_somebody_listens_on_is_not_free() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert not ports.is_free(port)
    assert ports.is_free(port)


def test_a_port_somebody_has_bound_without_listening_is_not_free() -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        assert not ports.is_free(bound.getsockname()[1])


def test_the_holder_of_a_port_is_named_with_its_process_id() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert f"pid {os.getpid()}" in ports.holder(server.getsockname()[1])


def test_a_block_with_one_taken_port_is_passed_over_whole() -> None:
    """Blocks are dealt whole; which of the later ones are free is up to the machine."""
    within = ports.Range(16000, 10, 16200)
    with socket.create_server(("127.0.0.1", 16001)):
        dealt = ports.free_block(["a", "b", "c"], within)
    first = dealt["a"]
    assert dealt == {"a": first, "b": first + 1, "c": first + 2}
    assert first >= 16010
    assert first % 10 == 0


def test_no_free_block_is_an_error_that_says_what_to_do() -> None:
    with socket.create_server(("127.0.0.1", 16201)), pytest.raises(PortTakenError, match="once doctor"):
        ports.free_block(["a", "b"], ports.Range(16200, 10, 16210))


def test_a_block_that_another_process_has_just_claimed_is_not_dealt_out(tmp_path: Path) -> None:
    """Two stacks that start in the same moment both find a port free; red when nobody asks whose it is."""
    claiming = "import sys; from pathlib import Path; from infra.local.claims import claim\n"
    claiming += "print(claim(16300, Path(sys.argv[1])), flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", claiming, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "True\n"
        assert not claim(16300, tmp_path)
        assert claim(16310, tmp_path)
        other.communicate("")
    assert claim(16300, tmp_path)  # its owner is gone
    assert claim(16300, tmp_path)  # and one's own claim is no hindrance


def test_a_variable_overrides_a_port() -> None:
    assert ports.overrides(["orders-api", "redis"], {"ONCE_PORT_ORDERS_API": "8081"}) == {"orders-api": 8081}


@pytest.mark.parametrize("text", ["", "http", "-1", "0", "65536", "80.5"])
def test_what_is_not_a_port_is_refused_with_the_name_of_its_variable(text: str) -> None:
    with pytest.raises(StackError, match="ONCE_PORT_REDIS"):
        ports.overrides(["redis"], {"ONCE_PORT_REDIS": text})


def test_a_note_is_read_back_and_a_broken_one_counts_as_none(tmp_path: Path) -> None:
    note = tmp_path / "below" / "ports.json"
    assert ports.read_note(note) == {}
    ports.write_note(note, {"redis": 27404})
    assert ports.read_note(note) == {"redis": 27404}
    note.write_text("{")
    assert ports.read_note(note) == {}


@pytest.mark.parametrize("text", ["{broken", "[1]", '{"postgres": null}', ""])
def test_a_damaged_note_is_as_good_as_none(tmp_path: Path, text: str) -> None:
    """Ports are dealt out again."""
    note = tmp_path / "ports.json"
    note.write_text(text)
    assert ports.read_note(note) == {}


def test_a_home_that_lacks_a_port_keeps_the_others(tmp_path: Path) -> None:
    """A home made before a port had its name goes on with what it has; the new name gets the next of its block."""
    note = {"supervisor": 30000, "postgres": 30001, "kafka": 30002, "kafka-controller": 30003, "redis": 30004}
    ports.write_note(tmp_path / "ports.json", note)
    found = LocalStack.open({"ONCE_HOME": str(tmp_path)}).ports()
    assert {name: found[name] for name in note} == note
    assert sorted(found.values()) == list(range(30000, 30000 + len(found)))
