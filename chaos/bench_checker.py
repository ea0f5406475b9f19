"""``python -m chaos.bench_checker``: how long the checker takes, and how much memory, for so many orders.

Evidence is made once and judged in processes of their own, in alternating rounds when a second checkout is named, so
that both meet the same moods of the machine. Processor time is the figure to compare; the wall clock is what one waits.
With ``--page`` the figures of all sizes are written down together with the machine that they come from.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import psutil

from chaos.specimens.large import write_large

_JUDGE = """
import sys
from pathlib import Path
from chaos.checker.verdict import judge
print(judge(Path(sys.argv[1])).status)
"""
LOOK_EVERY_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Round:
    wall_seconds: float
    processor_seconds: float
    memory_mb: float
    """The most that all its processes held at once."""


def judge_once(checkout: Path, evidence: Path) -> Round:
    """Judge in a process of its own. Raises RuntimeError when the verdict is not PASS: then a figure says nothing."""
    begun, before = time.perf_counter(), os.times()
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    process = subprocess.Popen(
        [sys.executable, "-c", _JUDGE, str(evidence.absolute())],
        cwd=checkout,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    highest = 0.0
    while process.poll() is None:
        highest = max(highest, _resident(process.pid))
        time.sleep(LOOK_EVERY_SECONDS)
    verdict = process.communicate()[0].strip()
    after = os.times()
    if verdict != "PASS":
        raise RuntimeError(f"{checkout} judges the evidence {verdict!r}, and it is good")
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return Round(time.perf_counter() - begun, spent, highest / 1e6)


def _resident(pid: int) -> float:
    try:
        process = psutil.Process(pid)
        return float(sum(one.memory_info().rss for one in (process, *process.children(recursive=True))))
    except psutil.NoSuchProcess:
        return 0.0


def summary(rounds: list[Round]) -> str:
    wall, processor = spread(rounds, lambda r: r.wall_seconds), spread(rounds, lambda r: r.processor_seconds)
    return f"wall {wall} s, processor {processor} s, memory {spread(rounds, lambda r: r.memory_mb)} MB"


def spread(rounds: list[Round], value: Callable[[Round], float]) -> str:
    """Return the median with the least and the most."""
    values = sorted(map(value, rounds))
    return f"{statistics.median(values):.1f} ({values[0]:.1f}-{values[-1]:.1f})"


PAGE = """# How long the checker takes

Measured {day} by `python -m chaos.bench_checker --page FILE` on: {machine}.

| orders | evidence | rounds | wall clock | processor | memory, all processes |
|---:|---:|---:|---:|---:|---:|
{rows}

Median, and the least and the most of the rounds. Meanwhile {load:.1f} processes wanted a processor, averaged over five
minutes; a checker that has the machine to itself makes it one or two. Aims: 100,000 orders in 10 s and 1,000 MB, a
million in 120 s.
"""
ROW = "| {orders:,} | {megabytes:,.0f} MB | {rounds} | {wall} s | {processor} s | {memory} MB |"


@dataclass(frozen=True, slots=True)
class Size:
    """Evidence of so many orders, and how this checkout judged it."""

    orders: int
    megabytes: float
    rounds: list[Round]

    def row(self) -> str:
        """Return its line of the page."""
        return ROW.format(
            orders=self.orders, megabytes=self.megabytes, rounds=len(self.rounds),
            wall=spread(self.rounds, lambda r: r.wall_seconds), memory=spread(self.rounds, lambda r: r.memory_mb),
            processor=spread(self.rounds, lambda r: r.processor_seconds),
        )  # fmt: skip


def write_page(page: Path, sizes: list[Size]) -> None:
    memory_gb = psutil.virtual_memory().total / 2**30
    page.write_text(
        PAGE.format(
            day=f"{datetime.now(UTC):%Y-%m-%d}", rows="\n".join(size.row() for size in sizes), load=os.getloadavg()[1],
            machine=f"{os.cpu_count()} cores, {memory_gb:.0f} GB memory, {platform.system()} {platform.machine()}, "
            f"Python {platform.python_version()}, msgspec {version('msgspec')}",
        ),
        encoding="utf-8",
    )  # fmt: skip


def measure(orders: int, rounds: int, evidence: Path, checkouts: list[Path]) -> Size:
    """Judge the evidence of so many orders with each checkout in turn, and print what that took."""
    if not (evidence / "run.json").exists():
        write_large(evidence, orders)
    found: dict[Path, list[Round]] = {checkout: [] for checkout in checkouts}
    for _round in range(rounds):
        for checkout in checkouts:
            found[checkout].append(judge_once(checkout, evidence))
    for checkout, taken in found.items():
        sys.stdout.write(f"{checkout}: {orders} orders, {rounds} rounds: {summary(taken)}\n")
        sys.stdout.flush()
    size = sum(file.stat().st_size for file in evidence.rglob("*") if file.is_file())
    return Size(orders, size / 1e6, found[checkouts[-1]])


def main() -> None:
    options = argparse.ArgumentParser(description=str(__doc__).partition(":")[2])
    options.add_argument("--orders", type=int, nargs="+", default=[100_000], help="one size, or several")
    options.add_argument("--rounds", type=int, nargs="+", default=[3], help="as many for each size, or one for all")
    options.add_argument("--against", type=Path, help="another checkout of this project, to compare with")
    options.add_argument(
        "--evidence", type=Path, help="where the evidence is, or is to be kept: a folder for each size"
    )
    options.add_argument("--page", type=Path, help="write the figures of this checkout there")
    chosen = options.parse_args()
    checkouts = [path for path in (chosen.against, Path(__file__).parents[1]) if path]
    rounds = chosen.rounds if len(chosen.rounds) > 1 else chosen.rounds * len(chosen.orders)
    with tempfile.TemporaryDirectory() as temporary:
        kept = chosen.evidence or Path(temporary)
        sizes = [
            measure(orders, count, kept / str(orders), checkouts)
            for orders, count in zip(chosen.orders, rounds, strict=True)
        ]
    if chosen.page:
        write_page(chosen.page, sizes)


if __name__ == "__main__":
    main()
