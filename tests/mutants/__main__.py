"""Print the score of each module, and the survivors; 1 when there is one without a reason."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.mutants import equivalent
from tests.mutants.cases import Case, cases
from tests.mutants.mutant import MODULES, Mutant, Mutated, too_long

SEED = 5


_at_work: Mutated
"""What a process was forked to look at; rules made at run time cannot be sent to it."""


def survivors(name: str, asked: Sequence[Case]) -> tuple[int, list[Mutant]]:
    """Return how many mutants of a module there are, and those that nobody notices."""
    mutated = Mutated(name, asked)
    gc.freeze()
    with multiprocessing.get_context("fork").Pool(os.cpu_count(), _begin, (mutated,)) as pool:
        alive = pool.map(_survives, mutated.names, chunksize=8)
    return len(alive), [mutant for mutant, is_alive in zip(mutated.mutants(), alive, strict=True) if is_alive]


def _begin(mutated: Mutated) -> None:
    global _at_work
    _at_work = mutated
    signal.signal(signal.SIGALRM, too_long)


def _survives(name: str) -> bool:
    return _at_work.survives(name)


def main(names: Sequence[str]) -> int:
    killed = made = same = 0
    unexplained: list[Mutant] = []
    reasons = equivalent.known()
    stale = {mutant for mutant in reasons if mutant.where.partition(".")[0] in names}
    with TemporaryDirectory() as directory:
        asked = [*cases(Path(directory), SEED)]
    for name in names:
        count, alive = survivors(name, asked)
        new = [mutant for mutant in alive if mutant not in reasons]
        stale -= {*alive}
        made, killed, same = made + count, killed + count - len(alive), same + len(alive) - len(new)
        unexplained += new
        sys.stdout.write(f"{name}: {count - len(alive)} of {count} killed, {len(alive) - len(new)} equivalent\n")
        sys.stdout.writelines(f"  survived: {mutant}\n" for mutant in new)
        sys.stdout.flush()
    sys.stdout.write(f"mutants of the rules killed: {killed} of {made - same}, {same} more change nothing\n")
    sys.stdout.writelines(f"listed as equivalent, and is noticed or gone: {mutant}\n" for mutant in stale)
    return 1 if unexplained or stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or MODULES))
