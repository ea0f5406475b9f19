"""``once demo``: place orders, break things in three acts, and have the result judged.

The exit code is the verdict: 0 PASS, 1 FAIL, 2 UNKNOWN, 3 VACUOUS, 4 CHECKER_DEAD.
"""

import sys
import time
from gettext import gettext as _

import click
import psutil
from rich.padding import Padding
from rich.panel import Panel
from rich.text import Text

from chaos import scenarios, unsafe
from chaos.checker.verdict import Verdict
from chaos.run import Finished
from chaos.scenario import Scenario
from chaos.unsafe import Variant
from infra.cli.chaos import dice, judge_and_show, perform_and_tell, resized
from infra.cli.console import command, out


@click.command()
@click.option("--without", metavar="GUARD", help="Take a guard out and see what breaks: inbox, offset-after-effect.")
@click.option("--seconds", type=click.FloatRange(5, 600), default=20.0, show_default=True, help="Length of the load.")
@click.option("--rate", type=click.FloatRange(1, 500), default=None, help="Orders per second.")
@click.option("--seed", type=int, default=None, help="The same seed buys the same things. Default: a new one.")
def demo(without: str | None, seconds: float, rate: float | None, seed: int | None) -> None:
    """Place orders, break things in three acts, and prove that each order was invoiced once."""
    variant = _variant(without)
    scenario = resized(scenarios.load(variant.scenario if variant else "three_acts"), seconds, rate)
    _prologue(scenario, variant)
    finished = perform_and_tell(scenario, seed=dice() if seed is None else seed, variant=variant)
    verdict = judge_and_show(finished)
    _times(finished)
    _epilogue(finished, verdict, variant)
    sys.exit(verdict.exit_code)


def _variant(without: str | None) -> Variant | None:
    if without is None:
        return None
    try:
        return unsafe.load(without)
    except unsafe.UnknownVariantError as error:
        raise click.BadParameter(str(error), param_hint="--without") from None


def _prologue(scenario: Scenario, variant: Variant | None) -> None:
    text = Text()
    text.append(_("A shop takes orders. For each order the customer must get exactly one invoice, by e-mail.") + "\n")
    text.append(
        _("Several programs pass the work on to each other. Each can die at any moment, and we will see to that.")
    )
    text.append("\n\n")
    text.append(_("order → note in the same database → relay → Kafka → billing → invoice → e-mail"), "cyan")
    text.append("\n\n")
    text.append(
        _("A messenger who dies before ticking a message off leaves it to be carried again, so messages come twice.")
    )
    text.append("\n")
    text.append(_("The receiver keeps a book of what has been done, the inbox, and does nothing a second time."))
    if variant is not None:
        text.append("\n\n")
        text.append(_("Today without: {guard}.").format(guard=variant.guard), "bold red")
        text.append(" " + _("Watch what becomes of the same orders under the same faults."), "red")
    title = Text(scenario.title, "bold")
    out.print(Padding(Panel(text, title=title, title_align="left", border_style="dim", padding=(1, 2)), (1, 0)))


def _times(finished: Finished) -> None:
    """Say how long it took, counted from the moment at which the command was started."""
    begun = psutil.Process().create_time()
    parts = [_("whole run {seconds:.0f} s").format(seconds=time.time() - begun)]
    if finished.first_invoice_at is not None:
        parts.insert(0, _("first invoice after {seconds:.1f} s").format(seconds=finished.first_invoice_at - begun))
    parts.append(_("seed {seed}").format(seed=finished.seed))
    out.print(Text(" · ".join(parts), "dim"))


def _epilogue(finished: Finished, verdict: Verdict, variant: Variant | None) -> None:
    lines = Text()
    lines.append(_("Try next") + "\n", "bold underline")
    order = next((story.order_id for story in verdict.stories if story.order_id), None) or finished.order_id
    suggestions = []
    if variant is None:
        suggestions.append((command("demo --without inbox"), _("the same three acts with the guard taken out")))
    else:
        suggestions.append((command("demo"), _("the same acts with the guard back in")))
    if order:
        suggestions.append((command(f"trace {order}"), _("the whole way of one of these orders")))
    suggestions.append((command("chaos list"), _("everything else that can be broken")))
    suggestions.append((f"ls {finished.evidence}", _("the evidence that was judged")))
    width = max(len(words) for words, _why in suggestions)
    for words, why in suggestions:
        lines.append(f"  {words:<{width}}", "cyan")
        lines.append(f"  {why}\n", "dim")
    out.print()
    out.print(lines, soft_wrap=True)
