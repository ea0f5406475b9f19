"""The catalogue of faults and scenarios: complete, current, and varied enough to mean something."""

import pytest

from chaos import catalogue, scenarios, soak
from chaos.scenario import Promise
from infra.local.home import PROJECT

ALL = [scenarios.load(name) for name in scenarios.names()]


def test_the_page_is_what_the_code_says() -> None:
    """Whoever adds a fault, a scenario or a variant writes the page again: once chaos list --markdown."""
    assert (PROJECT / "docs" / "faults.md").read_text() == catalogue.markdown()


def test_there_are_thirty_faults_and_twenty_five_scenarios_at_least() -> None:
    """Counted by name, and by what they do: numbers alone make no other fault."""
    assert len({entry.fault.name for entry in catalogue.entries()}) >= 30
    assert len({entry.what for entry in catalogue.entries()}) >= 20
    assert len(ALL) >= 25


def test_every_fault_says_what_it_does() -> None:
    """The first sentence of its class stands in the page."""
    assert all(len(entry.what) > 20 for entry in catalogue.entries())


def test_no_two_scenarios_have_a_fault_in_common_by_name() -> None:
    """A name stands for one rehearsal of one fault, but for the demo, which puts others' faults together."""
    names = [entry.fault.name for entry in catalogue.entries() if entry.scenario.name != "three_acts"]
    assert len(names) - len(set(names)) <= 2, sorted(name for name in names if names.count(name) > 1)


def test_what_is_beyond_the_promise_names_what_turns_red() -> None:
    """Red on purpose means: by these rules, and by no others."""
    for scenario in ALL:
        assert (scenario.promise is Promise.BEYOND) <= bool(scenario.expect.red.must_fail), scenario.name


@pytest.mark.parametrize("seed", range(40))
def test_dice_put_together_what_can_be_run(seed: int) -> None:
    """The same seed gives the same acts, in order, with faults of different kinds that have to be survived."""
    scenario = soak.compose(seed)
    assert scenario == soak.compose(seed) == scenarios.load(f"soak_{seed}")
    assert len({type(fault) for fault in scenario.faults}) == soak.ACTS
    survived = {entry.fault.name for entry in catalogue.survived()}
    assert {fault.name for fault in scenario.faults} <= survived
