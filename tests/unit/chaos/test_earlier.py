"""The release before: what it writes, what it refuses, and how a process becomes today's."""

import subprocess
import sys
from pathlib import Path

from chaos import scenarios
from chaos.casting import cast
from chaos.faults.upgrade import of_today
from infra.local.services import programs

PROJECT = Path(__file__).parents[3]
ASKED = """
from chaos import earlier
earlier.take_back()
from shared import events
from shared.errors import PermanentError

fact = events.PaymentDeclined(order_id="o", code="too_much", detail="...", currency="EUR", amount_minor=1)
print(events.dataschema(type(fact).__name__), events.encode(fact).decode())
print(events.decode("PaymentDeclined", events.encode(fact), events.dataschema("PaymentDeclined")).reason)
try:
    events.decode("PaymentDeclined", b"{}", events.dataschema("PaymentDeclined", 2))
except PermanentError as error:
    print(error)
"""


def test_the_release_before_writes_the_first_shape_and_refuses_the_second() -> None:
    """In a process of its own, since there is no way back."""
    done = subprocess.run([sys.executable, "-c", ASKED], cwd=PROJECT, capture_output=True, text=True, check=True)
    written, read, refused = done.stdout.splitlines()
    assert written.startswith("urn:effectively-once:PaymentDeclined:1 {")
    assert '"reason":"too_much"' in written
    assert "detail" not in written
    assert read == "too_much"
    assert refused.endswith("reads up to 1. Deploy a consumer that knows it, then redrive.")


def test_its_processes_start_as_such_and_become_todays(tmp_path: Path) -> None:
    """Only those that the scenario names, and nothing else of them is different."""
    scenario = scenarios.load("old_producer_new_consumer")
    table = cast(programs("run-1"), scenario, None, tmp_path, tmp_path / "faults.jsonl")
    old = {name for name, program in table.items() if "chaos.earlier" in program.argv}
    assert old == {"billing-1", "billing-2"}
    assert {name: of_today(table[name]).argv for name in old} == {name: programs("run-1")[name].argv for name in old}
