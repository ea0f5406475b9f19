"""``once chaos``: run scenarios that break things on purpose, and judge what they leave behind."""

import random
import sys
from dataclasses import replace
from gettext import gettext as _
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryFile

import click
from rich import box
from rich.table import Table
from rich.text import Text

from chaos import catalogue, causes, report, scenarios, unsafe
from chaos.adopted import ORDERS
from chaos.checker.verdict import Verdict, judge_and_write
from chaos.run import Finished, LoadMaker, perform
from chaos.scenario import Scenario
from chaos.telling import verdict as verdict_shown
from chaos.telling.live import LiveTeller
from chaos.telling.plain import PlainTeller
from chaos.unsafe import Variant
from infra.cli import abreast, interruption, series
from infra.cli.console import out
from infra.cli.matrix import matrix
from infra.local.profile import Profile
from infra.stack import open_stack

INTERRUPTED = 130


@click.group()
def chaos() -> None:
    """Break the system on purpose and have the result judged."""


chaos.add_command(matrix)


@chaos.command(name="list")
@click.option("--markdown", is_flag=True, help="As the page docs/faults.md: every fault, scenario and guard.")
def list_(markdown: bool) -> None:
    """Say which scenarios there are, what is promised of each, and what each teaches."""
    if markdown:
        click.echo(catalogue.markdown(), nl=False)
        return
    table = Table(box=box.SIMPLE, show_header=True, header_style="dim")
    table.add_column(_("scenario"), style="cyan", no_wrap=True)
    table.add_column(_("what it teaches"))
    for name in scenarios.names():
        scenario = scenarios.load(name)
        promise = scenario.promise if not scenario.local_only else f"{scenario.promise}, local stack only"
        if scenario.profile is not Profile.SMALL:
            promise += f", profile {scenario.profile}"
        text = Text.assemble((scenario.title, "bold"), (f"  {promise}", "dim"), "\n", scenario.teaches)
        if red := [guard for guard, variant in unsafe.guards().items() if unsafe.load(variant).scenario == name]:
            text.append("\n" + _("and red: --without {guards}").format(guards=", ".join(red)), "red")
        table.add_row(name, text)
    out.print(table)


@chaos.command()
@click.argument("name", metavar="NAME|all")
@click.option("--seed", type=int, default=None, help="The same seed buys the same things. Default: a new one.")
@click.option("--seconds", type=click.FloatRange(1, 3600), default=None, help="Length of the load.")
@click.option("--rate", type=click.FloatRange(1, 1000), default=None, help="Orders per second.")
@click.option("--without", metavar="GUARD", help="Take a guard out; `once chaos list` names them.")
@click.option(
    "--orders", type=click.Choice(sorted(ORDERS)), help="Have orders taken by an example, not by our service."
)
@abreast.on_stacks
def run(
    name: str,
    seed: int | None,
    seconds: float | None,
    rate: float | None,
    without: str | None,
    orders: str | None,
    stacks: int | None,
) -> None:
    """Run one scenario on a copy of the system of its own. The exit code is the verdict.

    `all` runs every scenario, and its exit code says whether each ended as was foretold of it.
    """
    if name == "all":
        sys.exit(series.run(series.every_scenario(), seed=7 if seed is None else seed, stacks=stacks))
    if stacks is not None:
        raise click.UsageError(_("--stacks is for `all`: one run has one stack."))
    if orders and find_spec(orders) is None:
        raise click.UsageError(f"{orders} is not installed. Run `make examples`, and then this again.")
    try:
        scenario = resized(scenarios.load(name), seconds, rate)
        variant = unsafe.load(without) if without else ORDERS[orders] if orders else None
    except (scenarios.UnknownScenarioError, unsafe.UnknownVariantError) as error:
        raise click.BadParameter(str(error)) from None
    out.print(Text.assemble((scenario.title, "bold"), "\n", (scenario.teaches, "dim")))
    finished = perform_and_tell(scenario, seed=dice() if seed is None else seed, variant=variant)
    verdict = judge_and_show(finished)
    out.print(Text(_("Evidence: {folder}").format(folder=finished.evidence), "dim"), soft_wrap=True)
    sys.exit(verdict.exit_code)


@chaos.command()
@click.option("--minutes", type=click.FloatRange(0.1, 24 * 60), default=10.0, show_default=True)
@click.option("--seed", type=int, default=None, help="Of the first run; each has the next. Default: a new one.")
@abreast.on_stacks
def soak(minutes: float, seed: int | None, stacks: int | None) -> None:
    """Combine faults by dice, run after run, until the time is over. The exit code is 0 if all were green."""
    sys.exit(series.soak(dice() if seed is None else seed, minutes, stacks=stacks))


@chaos.command()
@click.argument("directory", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--into", type=click.Path(file_okay=False, path_type=Path), help="Where verdict and report go.")
def check(directory: Path, into: Path | None) -> None:
    """Judge the evidence in a directory again, also that of a run that was killed half-way.

    It may be a run's directory, its evidence, or what another system has written (docs/evidence-format.md). Nothing is
    written into the evidence: verdict and report go beside it.
    """
    directory = directory.resolve()
    evidence = directory if (directory / "run.json").exists() else directory / "evidence"
    if not evidence.is_dir():
        raise click.BadParameter(
            _("There is no evidence in {folder}. Runs that were kept are in {runs}.").format(
                folder=directory, runs=open_stack().home.runs
            )
        )
    sys.exit(_judge(evidence, None, _writable(into or _beside(evidence))).exit_code)


def _beside(evidence: Path) -> Path:
    """Return the run's directory; for evidence by another name a folder of that name, since several may lie there."""
    return evidence.parent if evidence.name == "evidence" else evidence.with_name(f"{evidence.name}-verdict")


def _writable(directory: Path) -> Path:
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=directory):
            return directory
    except OSError as error:
        raise click.UsageError(
            _("The verdict cannot be written to {folder} ({reason}). Say --into with a folder of yours.").format(
                folder=directory, reason=error.strerror
            )
        ) from None


# For the other verbs that run scenarios


def dice() -> int:
    """Make up a seed short enough to be typed again."""
    return random.SystemRandom().randrange(1, 10_000)


def resized(scenario: Scenario, seconds: float | None, rate: float | None) -> Scenario:
    """Return the scenario with another length or pace of its load."""
    workload = scenario.workload
    return replace(
        scenario,
        workload=replace(
            workload, seconds=seconds or workload.seconds, rate_per_second=rate or workload.rate_per_second
        ),
    )


def perform_and_tell(
    scenario: Scenario, *, seed: int, variant: Variant | None = None, load: LoadMaker | None = None
) -> Finished:
    """Run a scenario while telling what happens, in the way that suits the output."""
    interruption.on_sigterm()
    teller = LiveTeller(out) if out.is_terminal and not out.is_dumb_terminal else PlainTeller(out)
    try:
        with teller:
            return perform(scenario, watcher=teller, seed=seed, variant=variant, load=load)
    except KeyboardInterrupt:
        out.print(
            _("Interrupted. What was broken is repaired and this run's processes have ended; the servers stay up.")
        )
        sys.exit(INTERRUPTED)


def judge_and_show(finished: Finished) -> Verdict:
    for problem in finished.problems:
        out.print(Text(_("Trouble with a fault: {problem}").format(problem=problem), "bold red"))
    return _judge(finished.evidence, finished, finished.directory)


def _judge(evidence: Path, finished: Finished | None, directory: Path) -> Verdict:
    verdict = judge_and_write(evidence, directory)
    _report(verdict, evidence, directory)
    try:
        by_cause = causes.count(evidence)
    except (OSError, ValueError):
        by_cause = {}
    verdict_shown.show(out, verdict, pulse=finished.pulse if finished else None, causes=by_cause)
    return verdict


def _report(verdict: Verdict, evidence: Path, directory: Path) -> None:
    """Write the page to look at. The verdict stands without it, so trouble with the page must not cost the verdict."""
    try:
        path = report.write(verdict, evidence, directory)
    except Exception as error:  # noqa: BLE001 - whatever the evidence is like, its verdict comes first
        out.print(
            Text(_("The report could not be made ({error!r}); the verdict stands.").format(error=error), "yellow")
        )
    else:
        out.print(Text(_("Report: {file}").format(file=path), "dim"), soft_wrap=True)
