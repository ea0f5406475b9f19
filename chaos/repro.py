"""The command that does a run again: ``repro.sh`` beside its evidence.

The seed fixes who orders what, the amounts and the order of the faults; failpoints count, so they bite at the same
point of the program. What is not fixed is the interleaving of processes. The schedule that came about is in
``evidence/faults.jsonl``.
"""

import shlex
from pathlib import Path

from chaos.scenario import Scenario
from chaos.unsafe import Variant


def command(scenario: Scenario, seed: int, variant: Variant | None) -> list[str]:
    workload = scenario.workload
    words = ["once", "chaos", "run", scenario.name, "--seed", str(seed)]
    words += ["--seconds", f"{workload.seconds:g}", "--rate", f"{workload.rate_per_second:g}"]
    return [*words, *variant.option] if variant else words


def write(path: Path, scenario: Scenario, seed: int, variant: Variant | None) -> None:
    path.write_text(
        "#!/bin/sh\n"
        "# Does this run again: same customers, same amounts, same faults in the same order.\n"
        "# The interleaving of processes is not fixed; evidence/faults.jsonl has the schedule that came about.\n"
        f"exec {shlex.join(command(scenario, seed, variant))}\n"
    )
    path.chmod(0o755)
