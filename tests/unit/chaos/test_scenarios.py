"""Scenarios are data that cannot be written down wrong, and a run's cast follows from them."""

from pathlib import Path

import pytest

from chaos import scenarios, unsafe
from chaos.casting import cast
from chaos.faults.process import Kill
from chaos.latency import quantile
from chaos.repro import command
from chaos.scenario import Act, Scenario
from infra.local.services import programs
from shared.failpoints import Failpoint

ALL = scenarios.names()


@pytest.mark.parametrize("name", ALL)
def test_every_scenario_can_be_cast(name: str, tmp_path: Path) -> None:
    """Its file, its name and its targets agree: every process that a fault aims at exists."""
    scenario = scenarios.load(name)
    assert scenario.name == name
    table = cast(programs("run-1"), scenario, None, tmp_path, tmp_path / "faults.jsonl")
    assert scenario.armed | scenario.spares <= table.keys()
    assert all(not table[spare].autostart for spare in scenario.spares)


def test_only_the_targets_of_failpoints_are_armed(tmp_path: Path) -> None:
    """All other processes run exactly as in production."""
    scenario = scenarios.load("three_acts")
    table = cast(programs("run-1"), scenario, None, tmp_path, tmp_path / "faults.jsonl")
    armed = {name for name, program in table.items() if "chaos.armed" in program.argv}
    assert armed == scenario.armed
    assert armed < table.keys()


@pytest.mark.parametrize("name", unsafe.names())
def test_a_variant_replaces_every_member_that_it_names(name: str, tmp_path: Path) -> None:
    """Standing members and spares alike run without the guard; nobody else does."""
    variant = unsafe.load(name)
    scenario = scenarios.load(variant.scenario)
    safe = cast(programs("run-1"), scenario, None, tmp_path, tmp_path / "faults.jsonl")
    table = cast(programs("run-1"), scenario, variant, tmp_path, tmp_path / "faults.jsonl")
    without = {each for each, program in table.items() if f"chaos.unsafe.{variant.name}" in program.argv}
    assert without == {each for each in safe if safe[each].argv[-len(variant.replaces) :] == variant.replaces}
    assert without, "it replaces nobody"


def test_a_twin_names_a_variant_that_exists() -> None:
    """Where a guard is at stake, there is a way to see the same schedule go red."""
    for name in ALL:
        if (twin := scenarios.load(name).twin) is not None:
            assert unsafe.load(twin.variant).name == twin.variant


def test_a_fault_cannot_strike_before_there_is_something_to_lose() -> None:
    """An act before a fifth of the load is refused where it is written."""
    with pytest.raises(ValueError, match="begins at"):
        Act(at=0.1, title="Too early", story="", faults=())


def test_two_faults_of_a_scenario_have_two_names() -> None:
    """Evidence is found by the fault's name, so a name stands for one fault."""
    kill = Kill(name="same", targets=("billing-1",))
    with pytest.raises(ValueError, match="share a name"):
        Scenario(
            name="twice",
            title="",
            teaches="",
            guard="",
            acts=(Act(at=0.5, title="", story="", faults=(kill, kill)),),
        )


def test_an_unknown_scenario_is_answered_with_those_that_exist() -> None:
    """Whoever misspells a name is told the names."""
    with pytest.raises(scenarios.UnknownScenarioError, match="three_acts"):
        scenarios.load("four_acts")


def test_repro_names_everything_that_was_chosen() -> None:
    """The command has the seed, the length, the pace and the guard that was out."""
    scenario = scenarios.load("smoke")
    words = command(scenario, 42, unsafe.load("inbox"))
    assert words[:6] == ["once", "chaos", "run", "smoke", "--seed", "42"]
    assert words[-2:] == ["--without", "inbox"]


def test_quantiles_are_values_that_were_measured() -> None:
    """Nearest rank: never a mean of two, never beyond the ends."""
    values = [float(n) for n in range(1, 101)]
    assert (quantile(values, 0.5), quantile(values, 0.99), quantile(values, 1.0)) == (50.0, 99.0, 100.0)
    assert quantile([7.0], 0.99) == 7.0


def test_every_failpoint_is_used_by_a_scenario() -> None:
    """A point that nobody rehearses is a point that nobody knows."""
    points = {fault.point for name in ALL for fault in scenarios.load(name).faults if hasattr(fault, "point")}
    assert points == set(Failpoint)
