"""``once chaos matrix``: take out one guard after the other and require the judge to say which promise broke."""

import sys
from collections.abc import Sequence
from gettext import gettext as _
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
from infra.cli.console import out

FAILED = 1


@click.command()
@click.option("--only", metavar="GUARD", multiple=True, help="This guard alone; may be repeated.")
@click.option("--short", is_flag=True, help="A few telling rows.")
@click.option("--seed", type=int, default=7, show_default=True, help="The same seed buys the same things.")
def matrix(only: tuple[str, ...], short: bool, seed: int) -> None:
    """Run each variant without a guard, and fail on anything that is not as it was foretold."""
    rows = []
    for number, variant in enumerate(variants := _chosen(only, short), start=1):
        out.print(Text(f"{number}/{len(variants)}  {variant.guard}: {variant.scenario}", "dim"))
        rows.append(_try(variant, seed))
        out.print(_outcome(rows[-1]))
    out.print(_table(rows))
    sys.exit(0 if all(row.found.as_foretold for row in rows) else FAILED)


def _chosen(only: Sequence[str], short: bool) -> list[Variant]:
    try:
        return [unsafe.load(name) for name in only or (matrix_.TELLING if short else unsafe.names())]
    except unsafe.UnknownVariantError as error:
        raise click.BadParameter(str(error), param_hint="--only") from None


def _try(variant: Variant, seed: int) -> Row:
    started = monotonic()
    finished = perform(scenarios.load(variant.scenario), watcher=Silent(), seed=seed, variant=variant)
    verdict = judge_and_write(finished.evidence, finished.directory)
    out.print(Text(f"    {monotonic() - started:.0f} s, {finished.evidence}", "dim"), soft_wrap=True)
    for problem in finished.problems:
        out.print(Text(f"    {problem}", "red"))
    return matrix_.row(variant, verdict)


def _outcome(row: Row) -> Text:
    if row.found.as_foretold:
        return Text("    " + _("as foretold: {broken}").format(broken=" ".join(row.verdict.broken)), "green")
    words = []
    if row.found.not_seen:
        words.append(_("not seen to break: {ids}").format(ids=" ".join(row.found.not_seen)))
    if row.found.unforeseen:
        words.append(_("broken or unknown beyond what was foretold: {ids}").format(ids=" ".join(row.found.unforeseen)))
    return Text("    " + "; ".join(words), "bold red")


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
