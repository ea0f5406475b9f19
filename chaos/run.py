"""Run a scenario: see that nobody else is at it, have the servers up, perform, and clear away what was before."""

from gettext import gettext as _

from chaos import housekeeping
from chaos.performance import Finished, LoadMaker, Performance
from chaos.scenario import Scenario
from chaos.unsafe import Variant
from chaos.watcher import Phase, Watcher
from chaos.workload import Customers
from infra.local.stack import LocalStack
from infra.stack import open_stack
from shared.errors import OnceError

__all__ = ["Finished", "LoadMaker", "perform"]


def perform(
    scenario: Scenario,
    *,
    watcher: Watcher,
    seed: int,
    variant: Variant | None = None,
    stack: LocalStack | None = None,
    load: LoadMaker | None = None,
) -> Finished:
    """Run a scenario and leave its evidence. Raises OnceError when it cannot be run at all."""
    stack = stack or open_stack()
    if scenario.local_only and not stack.is_local:
        raise OnceError(
            _("{name} needs the local stack: {faults} cannot be had between containers. Say STACK=local.").format(
                name=scenario.name, faults=", ".join(fault.name for fault in scenario.faults if fault.local_only)
            )
        )
    if not scenario.runs_on(stack.profile):
        raise OnceError(
            _(
                "{name} needs the profile {profile}, and {home} has the profile {present}: set ONCE_HOME to another "
                "folder and say `once up --profile {profile}`, or say `once reset --profile {profile}`."
            ).format(name=scenario.name, profile=scenario.profile, home=stack.home.root, present=stack.profile)
        )
    with housekeeping.only_run(stack.home.runs):
        watcher.phase(Phase.PREPARE)
        stack.servers_up(watcher.say)
        housekeeping.stop_leftovers(stack)
        performance = Performance(scenario, seed, variant, stack, watcher, load or Customers)
        finished = performance.perform()
        housekeeping.destroy_leftovers(stack, but=finished.run)
        return finished
