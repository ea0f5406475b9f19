"""Which programs a run's copy of the system consists of: the default table, with what the scenario needs changed.

Only the processes that a failpoint is aimed at start through ``chaos.armed``, and those that begin as the release
before through ``chaos.earlier``; all others run exactly as in production.
"""

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from chaos.scenario import Scenario
from chaos.unsafe import Variant
from infra.local.services import Program

MAILS_IN_A_HURRY: Mapping[str, str] = {
    "MAIL_OVERDUE_SECONDS": "8",
    "MAIL_OVERDUE_CEILING_SECONDS": "16",
    "MAIL_CHECK_SECONDS": "2",
}
"""A silent mail is commanded again long before the queue takes a dead worker for dead; the ledger sorts out both."""


def cast(
    table: Mapping[str, Program], scenario: Scenario, variant: Variant | None, failpoints: Path, faults: Path
) -> dict[str, Program]:
    """Return the table for one run: spare members added, a guard taken out, failpoints armed."""
    table = {name: _in_a_hurry(program) for name, program in table.items()}
    everybody = {**table, **{name: _spare(table, name) for name in sorted(scenario.spares)}}
    if variant is not None:
        everybody = {name: _without_guard(program, variant) for name, program in everybody.items()}
    unknown = (scenario.armed | scenario.linked | scenario.earlier) - everybody.keys()
    if unknown:
        raise ValueError(f"scenario {scenario.name!r} aims at processes that do not exist: {sorted(unknown)}")
    dressed = {name: _dressed(program, scenario) for name, program in everybody.items()}
    dressed |= {name: _through("chaos.earlier", dressed[name]) for name in scenario.earlier}
    return {
        name: _armed(program, failpoints, faults) if name in scenario.armed else program
        for name, program in dressed.items()
    }


def _in_a_hurry(program: Program) -> Program:
    """Let what takes minutes in production take seconds: a run waits for its end."""
    if program.name.startswith("billing-housekeeper"):
        return replace(program, environment={**program.environment, **MAILS_IN_A_HURRY})
    return program


def _spare(table: Mapping[str, Program], name: str) -> Program:
    """A process like its first sibling, which starts only when it is told to."""
    sibling = f"{name.rpartition('-')[0]}-1"
    if name in table or sibling not in table:
        raise ValueError(f"{name!r} cannot stand by: there has to be a {sibling!r} and no {name!r}")
    return replace(table[sibling], name=name, autostart=False)


def _without_guard(program: Program, variant: Variant) -> Program:
    if program.argv[-len(variant.replaces) :] != variant.replaces:
        return program
    return replace(
        program,
        argv=(sys.executable, "-m", variant.module),
        environment={**program.environment, **variant.environment},
    )


def _dressed(program: Program, scenario: Scenario) -> Program:
    """What the scenario and its faults want in the process's environment."""
    wanted = {variable: value for each in scenario.settings(program.name) for variable, value in each.items()}
    return replace(program, environment={**program.environment, **wanted}) if wanted else program


def linked(
    table: Mapping[str, Program], scenario: Scenario, through: Mapping[str, Mapping[str, str]]
) -> dict[str, Program]:
    """Return the table with the ways that lead through a proxy; ``through``: server → its address → the proxy's."""

    def ways(name: str) -> dict[str, str]:
        servers = [server for server, processes in scenario.links.items() if name in processes]
        return {address: proxy for server in servers for address, proxy in through[server].items()}

    return {name: replace(program, through=ways(name)) for name, program in table.items()}


def _armed(program: Program, failpoints: Path, faults: Path) -> Program:
    armed = _through("chaos.armed", program)
    environment = {"FAILPOINTS_DIR": str(failpoints), "FAULTS_JOURNAL": str(faults)}
    return replace(armed, environment={**program.environment, **environment})


def _through(entry: str, program: Program) -> Program:
    """Start a program through another entry point."""
    interpreter, option, *rest = program.argv
    assert option == "-m", program.argv
    return replace(program, argv=(interpreter, "-m", entry, *rest))
