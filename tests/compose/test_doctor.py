"""What the doctor says of an engine, from plain values."""

import pytest

from infra.doctor import Finding, Level
from infra.doctor.engine import (
    Answer,
    judge_absence,
    judge_architecture,
    judge_data,
    judge_memory,
    judge_port,
    judge_proxy,
    judge_version,
)


def test_a_missing_docker_and_a_sleeping_engine_are_told_apart() -> None:
    """One is installed, the other is started."""
    (missing,) = judge_absence(Answer(None, ""))
    (asleep,) = judge_absence(Answer(1, "Cannot connect to the Docker daemon"))
    assert "Install" in missing.cure
    assert "Start" in asleep.cure
    assert "Cannot connect" in asleep.found


@pytest.mark.parametrize("found", ["", "25.0.4", "v1.29.2"])
def test_an_old_version_is_a_fault_that_names_the_wanted_one(found: str) -> None:
    """Compose v1 and old engines fail later, and strangely."""
    (finding,) = judge_version("Docker Engine", found, (26, 0))
    assert finding.level is Level.FAULT


@pytest.mark.parametrize("found", ["26.0.0", "26.1.5+dfsg1", "v27.3", "29.0.1"])
def test_a_current_version_is_well(found: str) -> None:
    """Suffixes of distributions do not matter."""
    (finding,) = judge_version("Docker Engine", found, (26, 0))
    assert finding.level is Level.OK


def test_little_memory_is_said_before_something_is_killed_for_it() -> None:
    """Exit code 137 explains nothing to a newcomer."""
    assert level(judge_memory(2_000_000_000)) is Level.WARNING
    assert level(judge_memory(4_000_000_000)) is Level.OK


def test_an_architecture_without_images_is_a_fault() -> None:
    """Both common ones are well."""
    assert level(judge_architecture("riscv64")) is Level.FAULT
    assert level(judge_architecture("aarch64")) is Level.OK


def test_a_proxy_that_the_engine_does_not_know_is_named() -> None:
    """The shell reaches the network and pulls hang."""
    assert level(judge_proxy({}, {"HTTPS_PROXY": "http://proxy:3128"})) is Level.WARNING
    assert not list(judge_proxy({"HttpsProxy": "http://proxy:3128"}, {"HTTPS_PROXY": "http://proxy:3128"}))
    assert not list(judge_proxy({}, {}))


def test_a_taken_port_names_its_holder_and_the_variable() -> None:
    """The cure can be typed."""
    finding = judge_port("orders-api", 17081, "python (pid 4)")
    assert "python (pid 4)" in finding.found
    assert "ORDERS_PORT" in finding.cure


def test_data_of_another_major_version_are_a_fault() -> None:
    """PostgreSQL 18 would start empty beside the folder of 17."""
    assert level(judge_data(["17"], "18")) is Level.FAULT
    assert not list(judge_data(["18"], "18"))
    assert not list(judge_data([], "18"))


def level(findings: "object") -> Level:
    (finding,) = list(findings)  # type: ignore[call-overload]
    assert isinstance(finding, Finding)
    return finding.level
