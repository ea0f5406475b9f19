"""Runs side by side, each on a stack of its own: a run waits more than it works, and one machine holds several.

Invariant: however this ends, every run that was begun has healed what it broke, and the further stacks are down again.
"""

import os
import signal
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from gettext import gettext as _
from itertools import islice
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, TypeVar

import click

from infra.cli import interruption
from infra.local.errors import StackError
from infra.stack import open_stack

Task = TypeVar("Task")
Result = TypeVar("Result")

on_stacks = click.option(
    "--stacks",
    type=click.IntRange(1, 8),
    help="How many copies of the servers to have, with a run on each. Default: 2, and 1 in containers.",
)


def each(work: Callable[[Task], Result], tasks: Iterable[Task], stacks: int | None) -> Iterator[Result]:
    """Do the work of every task, and return what comes of it as it comes.

    With more than one stack ``work``, the tasks and the results go from process to process, so they have to be
    picklable. What a task raises is raised here, once the runs that are under way have been called off.
    """
    interruption.on_sigterm()
    first = open_stack()
    if stacks is None:
        stacks = 2 if first.is_local else 1
    if stacks == 1:
        yield from map(work, tasks)
        return
    if not first.is_local:
        raise click.UsageError(_("In containers there is one stack. Say --stacks 1, or STACK=local."))
    further = [first.further(str(number)) for number in range(2, stacks + 1)]
    try:
        with ExitStack() as ending:
            homes = [stack.home.root for stack in (first, *further)]
            processes = [ending.enter_context(_process(work, home)) for home in homes]
            yield from _hand_out(iter(tasks), processes)
    finally:
        for stack in further:
            stack.servers_down()


def _hand_out(tasks: Iterator[Task], processes: Sequence[Connection]) -> Iterator[Any]:
    idle, busy = list(processes), list[Connection]()
    while True:
        for process, task in zip(idle, islice(tasks, len(idle)), strict=False):
            process.send(task)
            busy.append(process)
        if not busy:
            return
        idle = [process for process in wait(busy) if isinstance(process, Connection)]
        busy = [process for process in busy if process not in idle]
        yield from map(_answer, idle)


def _answer(process: Connection) -> Any:
    try:
        answer, error = process.recv()
    except EOFError:
        raise StackError(
            _("The process of a run ended without an answer; what it said of it stands above. Run it again.")
        ) from None
    if error is not None:
        raise error
    return answer


@contextmanager
def _process(work: Callable[[Any], object], home: Path) -> Iterator[Connection]:
    """Have a process that works on a home. On an error its run is called off; either way it has ended afterwards."""
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(work, home, theirs))
    process.start()
    theirs.close()
    try:
        yield ours
    except BaseException:
        process.terminate()
        raise
    finally:
        ours.close()
        process.join()


# In the other process


def _serve(work: Callable[[Any], object], home: Path, orders: Connection) -> None:
    os.environ["ONCE_HOME"] = str(home)
    interruption.on_sigterm()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        while True:
            orders.send(_tried(work, orders.recv()))
    except (EOFError, BrokenPipeError, KeyboardInterrupt):
        """There is nothing more to do, or nobody to do it for."""


def _tried(work: Callable[[Any], object], task: object) -> tuple[object, Exception | None]:
    try:
        return work(task), None
    except Exception as error:  # noqa: BLE001  # raised where the answer is read
        error.add_note(traceback.format_exc())
        return None, error


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)
