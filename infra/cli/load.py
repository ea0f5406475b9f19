"""``once load``: put load on a copy of the system, print latencies, and have what it did judged.

The copy has databases and topics of its own on the servers of this stack: so every order in it is one that the load
placed, and the judge can say of each whether it is right.
"""

import sys
from gettext import gettext as _

import click
from rich.text import Text

from chaos.latency import commit_to_invoice
from chaos.locust import LocustCustomers
from chaos.run import Finished
from chaos.scenario import Expectation, Scenario, Workload
from infra.cli.chaos import dice, judge_and_show, perform_and_tell
from infra.cli.console import out


@click.command()
@click.option("--rate", type=click.FloatRange(1, 2000), default=50.0, show_default=True, help="Orders per second.")
@click.option("--seconds", type=click.FloatRange(1, 3600), default=30.0, show_default=True, help="How long.")
@click.option("--seed", type=int, default=None, help="The same seed buys the same things. Default: a new one.")
def load(rate: float, seconds: float, seed: int | None) -> None:
    """Let Locust place orders, print commit → invoice times, and check what became of every order."""
    scenario = Scenario(
        name="load",
        title=_("Load"),
        teaches=_("How long it takes from an order's commit to its invoice, and that each of them is right."),
        guard="none",
        workload=Workload(seconds=seconds, rate_per_second=rate),
        expect=Expectation(),
    )
    finished = perform_and_tell(scenario, seed=dice() if seed is None else seed, load=LocustCustomers)
    _report(finished)
    verdict = judge_and_show(finished)
    _latency(finished, rate)
    sys.exit(verdict.exit_code)


def _report(finished: Finished) -> None:
    """Locust's own table: times of single requests."""
    out.print()
    out.print((finished.directory / "locust.txt").read_text(errors="replace"), markup=False, soft_wrap=True)


def _latency(finished: Finished, rate: float) -> None:
    measured = commit_to_invoice(finished.evidence)
    if measured is None:
        return
    text = Text(_("Commit → invoice at {rate:g} orders/s: ").format(rate=rate), "bold")
    text.append(f"p50 {measured.p50:.0f} ms · p99 {measured.p99:.0f} ms · max {measured.longest:.0f} ms", "bold cyan")
    text.append("\n" + _("{count} invoices, by the database's own clock.").format(count=measured.invoices), "dim")
    out.print()
    out.print(text)
