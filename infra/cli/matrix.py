"""``once chaos matrix``: take out one guard after the other and require the judge to say which promise broke."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from gettext import gettext as _
from pathlib import Path
from time import monotonic

import click
from rich import box
from rich.table import Table
from rich.text import Text

from chaos import matrix as matrix_
from chaos import scenarios, unsafe
from chaos.checker.verdict import judge_and_write
from chaos.matrix import Row
from chaos.run import perform
from chaos.unsafe import Variant
from chaos.watcher import Silent
from infra.cli import abreast
from infra.cli.console import out
from infra.cli.series import total


@dataclass(frozen=True, slots=True)
class _Tried:
    row: Row
    seconds: float
    problems: tuple[str, ...]
    evidence: Path


@click.command()
@click.option("--only", metavar="GUARD", multiple=True, help="This guard alone; may be repeated.")
@click.option("--short", is_flag=True, help="A few telling rows.")
@click.option("--seed", type=int, default=7, show_default=True, help="The same seed buys the same things.")
@abreast.on_stacks
def matrix(only: tuple[str, ...], short: bool, seed: int, stacks: int | None) -> None:
    """Run each variant without a guard, and fail on anything that is not as it was foretold."""
    started, rows = monotonic(), list[Row]()
    names = [variant.name for variant in _chosen(only, short)]
    for tried in abreast.each(partial(_try, seed=seed), names, stacks):
        rows.append(tried.row)
        out.print(_line(len(rows), len(names), tried), soft_wrap=True)
    out.print(_table(rows))
    sys.exit(total([row.found.as_foretold for row in rows], monotonic() - started))


def _chosen(only: Sequence[str], short: bool) -> list[Variant]:
    try:
        return [unsafe.load(name) for name in only or (matrix_.TELLING if short else unsafe.names())]
    except unsafe.UnknownVariantError as error:
        raise click.BadParameter(str(error), param_hint="--only") from None


def _try(name: str, seed: int) -> _Tried:
    started = monotonic()
    variant = unsafe.load(name)
    finished = perform(scenarios.load(variant.scenario), watcher=Silent(), seed=seed, variant=variant)
    verdict = judge_and_write(finished.evidence, finished.directory)
    return _Tried(matrix_.row(variant, verdict), monotonic() - started, finished.problems, finished.evidence)


def _line(number: int, of: int, tried: _Tried) -> Text:
    variant = tried.row.variant
    text = Text(f"{number}/{of}  {variant.guard}: {variant.scenario}, {tried.seconds:.0f} s, {tried.evidence}\n", "dim")
    for problem in tried.problems:
        text.append(f"    {problem}\n", "red")
    return text.append_text(_outcome(tried.row))


def _outcome(row: Row) -> Text:
    if row.found.as_foretold:
        return Text("    " + _("as foretold: {broken}").format(broken=" ".join(row.verdict.broken)), "green")
    return Text("    " + "; ".join(row.found.words()), "bold red")


def _table(rows: Sequence[Row]) -> Table:
    table = Table(box=box.SIMPLE, header_style="dim")
    for title in (_("guard taken out"), _("scenario"), _("must break"), _("broke besides"), _("as foretold")):
        table.add_column(title)
    for row in rows:
        besides = [each for each in row.verdict.broken if each not in row.variant.must_fail]
        table.add_row(
            row.variant.guard,
            row.variant.scenario,
            " ".join(sorted(row.variant.must_fail)),
            " ".join(besides),
            Text(_("yes"), "green") if row.found.as_foretold else Text(_("no"), "bold red"),
        )
    return table
