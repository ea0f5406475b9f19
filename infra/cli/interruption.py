"""A command that is told to end does so as by Ctrl-C: what it broke is healed, and what it started is stopped."""

import signal
from types import FrameType


def on_sigterm() -> None:
    signal.signal(signal.SIGTERM, _interrupt)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
