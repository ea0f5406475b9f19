"""``once bench``: measure rivals side by side in alternating rounds, and write table and plot to docs/benchmarks/."""

from collections.abc import Iterable, Sequence
from gettext import gettext as _
from pathlib import Path

import click
from rich.markdown import Markdown
from rich.text import Text

from chaos.bench import (
    backlog,
    consumers,
    debezium,
    history,
    idle,
    latency,
    members,
    memory,
    poison,
    relays,
    report,
    settle,
    writers,
)
from chaos.bench.place import prepared
from chaos.bench.report import Comparison
from chaos.bench.rounds import Rival, alternate
from infra.cli.console import out
from infra.local.home import PROJECT
from infra.stack import open_stack
from shared import logs

PAGES = PROJECT / "docs" / "benchmarks"
PER_SECOND = _("events/s")
IDLE_SECONDS = 30.0

rounds_option = click.option(
    "--rounds", type=click.IntRange(1, 100), default=5, show_default=True, help=_("How often.")
)
to_option = click.option(
    "--to", type=click.Path(file_okay=False, path_type=Path), default=PAGES, help=_("Folder of the page.")
)


@click.group()
def bench() -> None:
    """Measure relay, consumer and writers against their rivals, in one run on this machine."""


@bench.command()
@click.option(
    "--events", type=click.IntRange(1_000), default=100_000, show_default=True, help=_("Size of the backlog.")
)
@click.option("--only", multiple=True, help=_("Measure only rivals whose name contains this."))
@rounds_option
@to_option
def relay(events: int, only: Sequence[str], rounds: int, to: Path) -> None:
    """Our relay against Debezium, the textbook's and a bare producer, on one backlog and one broker."""
    with prepared(open_stack()) as place, debezium.worker(place) as connect:
        with place.connect("orders") as connection:
            backlog.fill(connection, events)
        compared = Comparison(
            title=_("Relays draining a backlog of {events:,}").format(events=events),
            what=_("Rates are read off the broker's own time stamps, over the middle 60 % of the events."),
            unit=PER_SECOND,
            rates=_measure(_chosen(relays.Relays(place, events, connect).rivals(), only), rounds),
            reference=relays.OURS,
        )
        notes = [_told(what, share) for what, share in idle.measure(place, IDLE_SECONDS).items()]
        _show(report.write(to, "relay", _("Relays compared"), [compared], notes))


@bench.command()
@click.option("--events", type=click.IntRange(1_000), default=30_000, show_default=True, help=_("Size of the log."))
@rounds_option
@to_option
def consumer(events: int, rounds: int, to: Path) -> None:
    """Billing with its full effect against other ways of consuming: fresh events, duplicates, poison."""
    with prepared(open_stack()) as place:
        bench = consumers.Consumers(place, events)
        log = bench.log()
        fresh = _measure(bench.fresh(log), rounds)
        bench.apply_all(log)
        duplicates = _measure(bench.duplicates(log), rounds)
        poison = _measure(bench.poisoned(log, bench.log(poison_every=100)), rounds)
        memory = ", ".join(f"{name} {size / 2**20:.0f} MB" for name, size in bench.memory_bytes.items())
        pages = [
            Comparison(
                _("Fresh events"),
                _("Each event is charged, invoiced and told of: billing's full effect."),
                PER_SECOND, fresh, "ours",
            ),
            Comparison(
                _("Nothing but duplicates"),
                _("The whole topic once more: the inbox knows every event."),
                PER_SECOND, duplicates, consumers.LIMIT_SHOWN,
            ),
            Comparison(
                _("One event in a hundred is poison"),
                _("Its payload cannot be read: it is parked, and its neighbours are applied."),
                PER_SECOND, poison, consumers.HEALTHY,
            ),
        ]  # fmt: skip
        _show(report.write(to, "consumer", _("Consumers compared"), pages, [_("Memory at most: ") + memory + "."]))


@bench.command(name="members")
@click.option("--events", type=click.IntRange(1_000), default=30_000, show_default=True, help=_("Size of the log."))
@rounds_option
@to_option
def members_(events: int, rounds: int, to: Path) -> None:
    """Billing with one, two and four members, and what more members do not get past."""
    with prepared(open_stack()) as place:
        compared = Comparison(
            _("Members of billing's group"),
            _("Each event is charged, invoiced and told of. A series each: numbers of invoices would have gaps."),
            PER_SECOND, _measure(members.Members(place, events).rivals(), rounds), members.ONE,
        )  # fmt: skip
        _show(report.write(to, "members", _("How far billing goes with more members"), [compared]))


@bench.command(name="writers")
@click.option("--seconds", type=click.FloatRange(1), default=5.0, show_default=True, help=_("Length of a round."))
@rounds_option
@to_option
def writers_(seconds: float, rounds: int, to: Path) -> None:
    """What the outbox costs those who place orders: transactions per second at 16 connections."""
    with prepared(open_stack()) as place:
        compared = Comparison(
            _("Placing orders at 16 connections"),
            _("The use case `place_order` without HTTP, in four processes of four threads."),
            _("transactions/s"), _measure(writers.Writers(place, seconds).rivals(), rounds), writers.WITHOUT,
        )  # fmt: skip
        _show(report.write(to, "writers", _("What the outbox costs the writer"), [compared]))


@bench.command(name="history")
@click.option(
    "--events", type=click.IntRange(1_000), default=100_000, show_default=True, help=_("Size of the backlog.")
)
@click.option("--rows", type=click.IntRange(1_000), default=1_000_000, show_default=True, help=_("Old rows behind it."))
@click.option(
    "--held", type=click.FloatRange(0), default=60.0, show_default=True, help=_("Seconds a transaction is open.")
)
@rounds_option
@to_option
def history_(events: int, rows: int, held: float, rounds: int, to: Path) -> None:
    """Whether old rows and a transaction held open slow the relay down."""
    with prepared(open_stack()) as place:
        compared = Comparison(
            _("{rows:,} old rows, a transaction held for {held:.0f} s").format(rows=rows, held=held),
            _("The relay drains {events:,} events.").format(events=events),
            PER_SECOND, _measure(history.History(place, events, rows, held).rivals(), rounds), history.EMPTY,
        )  # fmt: skip
        _show(report.write(to, "history", _("Does history slow the relay down?"), [compared]))


@bench.command(name="latency")
@click.option("--rate", type=click.FloatRange(1), default=100.0, show_default=True, help=_("Events per second."))
@click.option("--seconds", type=click.FloatRange(5), default=15.0, show_default=True, help=_("Length of a round."))
@rounds_option
@to_option
def latency_(rate: float, seconds: float, rounds: int, to: Path) -> None:
    """From commit to consumer at a steady trickle, through our relay and through Debezium."""
    with prepared(open_stack()) as place, debezium.worker(place) as connect:
        measured = latency.Latencies(place, connect, rate, seconds)
        p50 = _measure(measured.rivals(), rounds)
        what = _("Milliseconds from the commit to the consumer at {rate:g} events/s; less is better.").format(rate=rate)
        pages = [
            Comparison(_("Commit to consumer, median"), what, "ms", p50, latency.DEBEZIUM),
            Comparison(_("Commit to consumer, 99th percentile"), what, "ms", measured.p99, latency.DEBEZIUM),
        ]
        _show(report.write(to, "latency", _("From commit to consumer"), pages))


@bench.command(name="memory")
@click.option(
    "--deliveries", type=click.IntRange(10_000), default=1_000_000, show_default=True, help=_("Length of the log.")
)
@to_option
def memory_(deliveries: int, to: Path) -> None:
    """Whether billing's consumer grows with what it has been handed."""
    with prepared(open_stack()) as place:
        sizes = memory.Memory(place, deliveries).sizes()
    rows = {_("after {count:,} deliveries").format(count=count): [size] for count, size in sizes.items()}
    what = _("The process of one member. A fifth of the deliveries is news, with its full effect; the rest is known.")
    compared = Comparison(_("Memory of billing's consumer"), what, "MB", rows, next(iter(rows)))
    _show(report.write(to, "memory", _("Does a consumer grow?"), [compared]))


@bench.command(name="poison")
@click.option("--rate", type=click.FloatRange(1), default=200.0, show_default=True, help=_("Events per second."))
@click.option("--share", type=click.FloatRange(0, 0.5), default=0.01, show_default=True, help=_("Of them, poison."))
@click.option("--seconds", type=click.FloatRange(5), default=20.0, show_default=True, help=_("Length of a round."))
@rounds_option
@to_option
def poison_(rate: float, share: float, seconds: float, rounds: int, to: Path) -> None:
    """How long healthy events wait at a shop's pace while others can never be applied."""
    with prepared(open_stack()) as place:
        shop = poison.Shop(place, rate, seconds, share)
        p50 = _measure(shop.rivals(), rounds)
        what = _("Milliseconds from the log to the effect's commit at {rate:g} events/s; less is better.").format(
            rate=rate
        )
        pages = [
            Comparison(_("Healthy events, median wait"), what, "ms", p50, poison.ALONE),
            Comparison(_("Healthy events, 99th percentile"), what, "ms", shop.p99, poison.ALONE),
            Comparison(_("Healthy events, the longest wait"), what, "ms", shop.longest, poison.ALONE),
        ]
        words = _("Load average of the machine meanwhile: {least:.1f} to {most:.1f}.")
        notes = [words.format(least=min(shop.loads), most=max(shop.loads))]
        _show(report.write(to, "poison", _("Healthy events among poison"), pages, notes))


@bench.command(name="settle")
@click.option("--seconds", type=click.FloatRange(5), default=60.0, show_default=True, help=_("How long."))
def settle_(seconds: float) -> None:
    """What a settle costs at 100 events/s while a transaction is held open. It has to stay within 5 ms."""
    logs.configure("bench", "WARNING")
    with prepared(open_stack()) as place:
        parts = settle.measure(place, seconds)
    for number, part in enumerate(parts, start=1):
        words = _("part {number} of {parts}: {count} settles, median {p50:.2f} ms, 99th percentile {p99:.2f} ms")
        out.print(words.format(number=number, parts=len(parts), count=part.count, p50=part.p50, p99=part.p99))


@bench.command(name="idle")
@click.option("--seconds", type=click.FloatRange(5), default=60.0, show_default=True, help=_("How long."))
def idle_(seconds: float) -> None:
    """What a relay costs while nothing happens. It has to stay within a hundredth of a core."""
    with prepared(open_stack()) as place:
        for what, share in idle.measure(place, seconds).items():
            out.print(_told(what, share))


def _told(what: str, share: float) -> str:
    return _("An idle relay of {what} takes {share:.2%} of a core.").format(what=what, share=share)


def _measure(rivals: Iterable[Rival], rounds: int) -> dict[str, list[float]]:
    return alternate(list(rivals), rounds, lambda line: out.print(Text(line, "dim")))


def _chosen(rivals: Sequence[Rival], only: Sequence[str]) -> list[Rival]:
    """Return the rivals asked for; ours is always among them, since the others are compared with it."""
    return [each for each in rivals if not only or each.name == relays.OURS or any(part in each.name for part in only)]


def _show(page: Path) -> None:
    words = [line for line in page.read_text().splitlines() if not line.startswith("![")]
    out.print(Markdown("\n".join(words)))
    out.print(Text(_("Written to {page}.").format(page=page), "dim"), soft_wrap=True)
