"""Start, run and stop a process.

Contract: SIGTERM and SIGINT set one event. A loop looks at it between two units of work, so a unit that has begun is
finished, and the process then ends with exit status 0. Only the supervisor's SIGKILL hurries it.
"""

import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType

from shared.errors import ConfigurationError, PermanentError, RefusedError


def stop_on_signals() -> threading.Event:
    """Return the event that SIGTERM and SIGINT set. To be called from the main thread."""
    stop = threading.Event()

    def request_stop(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, request_stop)
    return stop


def stop_at_end_of_input(stop: threading.Event) -> None:
    """Set the event when standard input ends, so that a process does not outlive the one that started it."""

    def wait() -> None:
        sys.stdin.read()
        stop.set()

    threading.Thread(target=wait, name="end-of-input", daemon=True).start()


def run_loop(step: Callable[[], float], stop: threading.Event) -> None:
    """Call ``step`` until stopped; each call does one unit of work and returns how many seconds to wait after it."""
    while not stop.is_set():
        delay = step()
        if delay > 0:
            stop.wait(delay)


def run_together(loops: dict[str, Callable[[], None]], stop: threading.Event) -> None:
    """Run several loops in threads of their own until stopped.

    The first loop that raises stops the others, and its error is raised here: half a process is worse than none, since
    nobody restarts it.
    """
    failures: list[BaseException] = []

    def guarded(loop: Callable[[], None]) -> None:
        try:
            loop()
        except BaseException as error:  # noqa: BLE001  # handed to the main thread, which raises it
            failures.append(error)
        finally:
            stop.set()

    threads = [threading.Thread(target=guarded, args=(loop,), name=name) for name, loop in loops.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def run_main(main: Callable[[], None]) -> int:
    """Run a process's main function and return its exit status; what a person must mend is told in one sentence."""
    try:
        main()
    except (ConfigurationError, PermanentError, RefusedError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)  # noqa: T201  # logging may not be set up yet
        return 78  # EX_CONFIG of sysexits.h
    return 0
