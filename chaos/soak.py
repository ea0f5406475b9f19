"""A scenario put together by dice: several faults that have to be survived, combined as nobody would have thought of.

A pure function of the seed and of the catalogue: ``once chaos run soak_4711`` does the same again.
"""

import random
from gettext import gettext as _

from chaos import catalogue
from chaos.faults import Fault
from chaos.scenario import Act, Expectation, Scenario, Workload

PREFIX = "soak_"
ACTS = 3


def compose(seed: int) -> Scenario:
    """Return the scenario of a seed: three acts, each with one or two faults, none of them twice."""
    dice = random.Random(seed)  # noqa: S311 - a plan, not a secret
    chosen = _choose(dice)
    return Scenario(
        name=f"{PREFIX}{seed}",
        title=_("By dice: {faults}").format(faults=", ".join(fault.name for fault in chosen)),
        teaches=_("Faults that are survived one by one have to be survived together."),
        guard="all of them",
        workload=Workload(seconds=12.0, rate_per_second=25.0),
        acts=tuple(
            Act(at=0.2 + 0.25 * number, title=fault.name, story=fault.name, faults=(fault,))
            for number, fault in enumerate(chosen)
        ),
        expect=Expectation(flags={"overlap": True}),
    )


def _is_tuned(scenario: Scenario) -> bool:
    return bool(scenario.environment) or scenario.engine != "polling"


def _choose(dice: random.Random) -> list[Fault]:
    """Different kinds of faults rather than the same kind thrice, and not such as need a system tuned for them."""
    entries = [entry for entry in catalogue.survived() if not _is_tuned(entry.scenario) and entry.fault.available]
    kinds = sorted({type(entry.fault).__name__ for entry in entries})
    return [
        dice.choice([entry.fault for entry in entries if type(entry.fault).__name__ == kind])
        for kind in dice.sample(kinds, ACTS)
    ]
