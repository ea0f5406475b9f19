"""The scenarios, one file each, data only: ``SCENARIO`` in ``chaos/scenarios/<name>.py``."""

import importlib
import pkgutil

from chaos.scenario import Scenario


class UnknownScenarioError(LookupError):
    """Nobody wrote a scenario of this name."""


def names() -> list[str]:
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def _by_dice(seed: int) -> Scenario:
    from chaos import soak  # which chooses among the scenarios here

    return soak.compose(seed)


def load(name: str) -> Scenario:
    """Return one scenario by its name. Raises UnknownScenarioError naming those that exist."""
    wanted = name.replace("-", "_")
    if (seed := wanted.removeprefix("soak_")).isdecimal():
        return _by_dice(int(seed))
    if wanted not in names():
        raise UnknownScenarioError(f"No scenario is called {name!r}. There are: {', '.join(names())}.")
    found = importlib.import_module(f"{__name__}.{wanted}").SCENARIO
    assert isinstance(found, Scenario)
    return found
