"""``python -m tests.hammer``: bouts for as long as one likes, with the relay as it is or with a wrong one."""

import importlib
import inspect
import sys
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from infra.local.stack import LocalStack
from services.relay.relay import Relay
from shared import logs
from tests.hammer.bout import Outcome, Plan, play
from tests.hammer.ground import CrashingServer, crashing_server, database

WRONG = (
    "relay_reads_by_id",
    "relay_reads_floor_with_snapshot",
    "_relay_takes_fresh_target",
    "_relay_sets_own_floor",
    "_relay_orders_by_xid",
    "_relay_settles_without_epoch",
    "_relay_keeps_positions",
)
"""Files of ``chaos/unsafe`` that replace the relay's own class."""


def wrong_relay(name: str) -> type[Relay]:
    """Return the class that a variant puts in the relay's place."""
    module = importlib.import_module(f"chaos.unsafe.{name}")
    (found,) = (
        each
        for _, each in inspect.getmembers(module, inspect.isclass)
        if issubclass(each, Relay) and each.__module__ == module.__name__
    )
    return found


@click.command()
@click.option("--seed", type=int, default=1)
@click.option("--seconds", type=float, default=60.0, help="Length of a bout, without the drain.")
@click.option("--bouts", type=int, default=1, help="How many, each with the next seed.")
@click.option("--wrong", type=click.Choice(WRONG), help="A relay with a guard taken out.")
@click.option("--crashes", is_flag=True, help="Commit asynchronously, on a server of its own that crashes.")
@click.option("--relays", type=int, default=3)
@click.option("--writers", type=int, default=16)
def main(seed: int, seconds: float, bouts: int, wrong: str | None, crashes: bool, relays: int, writers: int) -> None:
    """Hammer; say what was found. Exit 1 when something was."""
    logs.configure("hammer", "CRITICAL")
    relay = wrong_relay(wrong) if wrong else Relay
    bad = False
    with ExitStack() as cleanup:
        server: CrashingServer | None = None
        if crashes:
            folder = Path(cleanup.enter_context(TemporaryDirectory(prefix="hammer")))
            server = cleanup.enter_context(crashing_server(folder))
        superuser_url = server.url if server else LocalStack.open().superuser_url("postgres")
        for number in range(seed, seed + bouts):
            crash = server.crash if server else None
            plan = Plan(seed=number, seconds=seconds, relay=relay, relays=relays, writers=writers, crash=crash)
            with database(superuser_url) as url:
                outcome = play(url, plan)
            bad |= bool(outcome.found)
            tell(number, outcome)
    sys.exit(1 if bad else 0)


def tell(seed: int, outcome: Outcome) -> None:
    verdict = "nothing found" if outcome.at_seconds is None else f"found after {outcome.at_seconds:.1f} s"
    click.echo(f"seed {seed}: {verdict}; {outcome.events} events, {outcome.copies} copies")
    for sentence in outcome.found[:5]:
        click.echo(f"  {sentence}")
    click.echo("  " + ", ".join(f"{what}: {count}" for what, count in sorted(outcome.tally.items())))


if __name__ == "__main__":
    main()
