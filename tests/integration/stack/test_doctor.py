"""The doctor looks at a real home: taken ports, stale data, what is missing. No server is started."""

import os
import socket
from pathlib import Path

import pytest

from infra.doctor import Level, examine
from infra.doctor.data import check_data
from infra.doctor.ports import check_ports
from infra.doctor.tools import judge_jars
from infra.local import kafka
from infra.local.stack import LocalStack


@pytest.fixture
def idle(tmp_path: Path) -> LocalStack:
    return LocalStack.open({"ONCE_HOME": str(tmp_path / "home")})


def test_a_healthy_machine_has_no_fault(idle: LocalStack) -> None:
    assert [finding for finding in examine(idle) if finding.level is Level.FAULT] == []


def test_a_taken_port_is_named_with_its_holder(idle: LocalStack) -> None:
    with socket.create_server(("127.0.0.1", idle.ports()["redis"])):
        (finding,) = check_ports(idle)
    assert finding.level is Level.WARNING
    assert "for redis" in finding.found
    assert f"pid {os.getpid()}" in finding.found


def test_a_taken_port_that_was_asked_for_is_a_fault_with_its_variable(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        stack = LocalStack.open({"ONCE_HOME": str(tmp_path), "ONCE_PORT_POSTGRES": port})
        (finding,) = check_ports(stack)
    assert finding.level is Level.FAULT
    assert "ONCE_PORT_POSTGRES" in finding.cure


def test_data_of_another_postgresql_are_a_fault_that_names_both_versions(idle: LocalStack) -> None:
    data = idle.postgres().data
    data.mkdir(parents=True)
    (data / "PG_VERSION").write_text("17\n")
    (finding,) = check_data(idle)
    assert finding.level is Level.FAULT
    assert "PostgreSQL 17" in finding.found
    assert "once reset" in finding.cure


def test_data_of_another_kafka_are_a_fault(idle: LocalStack) -> None:
    place = idle.kafka().data.parent
    place.mkdir(parents=True)
    (place / "written-by").write_text("4.2.0")
    (finding,) = check_data(idle)
    assert "Kafka 4.2.0" in finding.found
    assert kafka.version() in finding.found


def test_missing_jars_are_a_fault_with_their_number(tmp_path: Path) -> None:
    finding = judge_jars(tmp_path)
    assert finding.level is Level.FAULT
    assert "46 of its 46 jars" in finding.found
    assert "make setup" in finding.cure
