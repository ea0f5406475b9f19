"""Evidence of another system, written by hand after docs/evidence-format.md and nothing else, is judged by the command.

No helper of ours writes these files: what the page says has to be enough for whoever writes the next implementation.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from infra.cli import COULD_NOT_RUN

PROJECT = Path(__file__).parents[3]
ORDER, EVENT, ISSUED, CONFIRMED, COMMAND = (f"0000000{n}-0000-4000-8000-000000000000" for n in range(1, 6))
PLACED_SAYS = json.dumps({
    "currency": "EUR", "amount_minor": 1200, "placed_at": "2026-05-01T10:00:01.000000+00:00",
    "lines": [{"sku": "tea", "quantity": 3, "unit_price_minor": 400}],
})  # fmt: skip
ISSUED_SAYS = '{"currency":"EUR","amount_minor":1200,"issued_at":"2026-05-01T10:00:02.000000+00:00"}'
CONFIRMED_SAYS, COMMAND_SAYS = "{}", '{"to":"a@example.com"}'


def at(second: int) -> str:
    return f"2026-05-01 10:00:{second:02d}.000000+00:00"


def outbox(xid: int, row: int, event: str, kind: str, version: int, of: str, payload: str, second: int,
           destination: str = "event") -> dict[str, object]:  # fmt: skip
    return {
        "xid": xid, "id": row, "event_id": event, "aggregate_type": of, "aggregate_id": ORDER,
        "aggregate_version": version, "lane": 0, "destination": destination, "type": kind, "payload": payload,
        "occurred_at": at(second),
    }  # fmt: skip


def message(topic: str, offset: int, event: str, kind: str, version: int, of: str, payload: str) -> dict[str, object]:
    return {
        "topic": topic, "partition": 0, "offset": offset, "key": ORDER, "event_id": event, "type": kind,
        "aggregate_type": of, "aggregate_id": ORDER, "aggregate_version": version, "payload": payload,
        "sha256": sha256(payload.encode()).hexdigest(), "timestamp": at(5), "archived_at": at(5), "headers": {},
        "a_field_of_their_own": 7,
    }  # fmt: skip


def taken(group: str, topic: str, offset: int, event: str, version: int) -> dict[str, object]:
    return {
        "consumer": group, "event_id": event, "topic": topic, "partition": 0, "offset": offset, "member": "m-1",
        "generation": 1, "aggregate_id": ORDER, "aggregate_version": version, "applied_at": at(6 + offset),
    }  # fmt: skip


def position(number: int, destination: str) -> tuple[dict[str, object], dict[str, object]]:
    lane = {"destination": destination, "lane": 0, "position_id": number}
    return lane, {"position_id": number, "done": "100:100:", "target": None, "after_id": None}


def lines(path: Path, *rows: dict[str, object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(json.dumps(row).encode() + b"\n" for row in rows))


def evidence(directory: Path) -> Path:
    """Write one invoiced order of one customer, read by one group of each kind, without a fault."""
    orders, billing, analytics = (directory / "db" / name for name in ("orders", "billing", "analytics"))
    directory.mkdir()
    both = ["orders.events", "billing.events"]
    run = {
        "run": "theirs-1", "scenario": "one order", "seed": None, "started_at": at(0), "ended_at": at(30),
        "groups": {"billing": ["orders.events"], "orders": ["billing.events"], "analytics": both},
        "canaries": False, "expect": {},
    }  # fmt: skip
    (directory / "run.json").write_text(json.dumps(run))
    intent = {
        "n": 1, "op": "place", "key": "k-1", "customer_id": "c-1", "order_ref": "first", "currency": "EUR",
        "amount_minor": 1200, "expect": "invoiced", "started_at": at(0), "result": "info",
    }  # fmt: skip
    lines(directory / "intents.jsonl", intent, {**intent, "order_id": ORDER, "status": 201, "result": "ok"})
    order = {"order_id": ORDER, "customer_id": "c-1", "currency": "EUR", "amount_minor": 1200, "state": "confirmed"}
    lines(orders / "orders.jsonl", {**order, "version": 2, "invoice_number": "INV-2026-000001"})
    lines(orders / "idempotency_key.jsonl", {"customer_id": "c-1", "key": "k-1", "order_id": ORDER})
    lines(
        orders / "outbox.jsonl",
        outbox(10, 1, EVENT, "OrderPlaced", 1, "order", PLACED_SAYS, 1),
        outbox(11, 2, CONFIRMED, "OrderConfirmed", 2, "order", CONFIRMED_SAYS, 4),
    )
    lines(
        billing / "outbox.jsonl",
        outbox(20, 1, ISSUED, "InvoiceIssued", 1, "bill", ISSUED_SAYS, 2),
        outbox(20, 2, COMMAND, "SendInvoice", 1, "email", COMMAND_SAYS, 2, "command"),
    )
    for database in (orders, billing):
        lanes, positions = zip(position(1, "event"), position(2, "command"), strict=True)
        lines(database / "relay_lane.jsonl", *lanes)
        lines(database / "relay_position.jsonl", *positions)
        lines(database / "outbox_parked.jsonl")
    lines(
        directory / "log.jsonl",
        message("orders.events", 0, EVENT, "OrderPlaced", 1, "order", PLACED_SAYS),
        message("billing.events", 0, ISSUED, "InvoiceIssued", 1, "bill", ISSUED_SAYS),
        message("orders.events", 1, CONFIRMED, "OrderConfirmed", 2, "order", CONFIRMED_SAYS),
        message("orders.events", 2, EVENT, "OrderPlaced", 1, "order", PLACED_SAYS),
    )
    of_orders = (("orders.events", 0, EVENT, 1), ("orders.events", 1, CONFIRMED, 2))
    lines(billing / "inbox.jsonl", *(taken("billing", *one) for one in of_orders))
    of_both = (*of_orders, ("billing.events", 0, ISSUED, 1))
    lines(analytics / "inbox.jsonl", *(taken("analytics", *one) for one in of_both))
    day = {"day": "2026-05-01", "currency": "EUR"}
    lines(analytics / "revenue.jsonl", {**day, "invoices": 1, "amount_minor": 1200, "credited_minor": 0})
    lines(analytics / "orders_by_state.jsonl", {"state": "confirmed", "orders": 1})
    lines(analytics / "orders_by_day.jsonl", {**day, "state": "confirmed", "orders": 1})
    tea = {"currency": "EUR", "sku": "tea", "orders": 1, "quantity": 3, "amount_minor": 1200}
    lines(analytics / "ordered_skus.jsonl", tea)
    lines(orders / "inbox.jsonl", taken("orders", "billing.events", 0, ISSUED, 1))
    paper = {"order_id": ORDER, "currency": "EUR", "amount_minor": 1200}
    lines(billing / "bill.jsonl", {**paper, "state": "invoiced"})
    lines(billing / "payment.jsonl", {**paper, "payment_id": "p-1", "status": "authorised", "created_at": at(2)})
    invoice = {"number": "INV-2026-000001", "series": "INV", "year": 2026, "sequence": 1, "event_id": EVENT}
    lines(billing / "invoice.jsonl", {**paper, **invoice, "issued_at": at(2), "applied_at": at(2)})
    lines(billing / "credit_note.jsonl")
    lines(billing / "number_series.jsonl", {"series": "INV", "year": 2026, "next_sequence": 2})
    mail = {"at": at(9), "message_id": f"<{COMMAND}@example.com>", "recipient": "a@example.com", "order_id": ORDER}
    lines(directory / "mail.jsonl", mail, mail)
    sent = {"event_id": COMMAND, "order_id": ORDER, "state": "sent"}
    lines(directory / "db" / "notifications" / "sent_email.jsonl", sent)
    ranged = {"topic": "orders.events", "partition": 0, "offset": 0, "last_offset": 1, "instance": "b-1"}
    delivered = {**ranged, "group": "billing", "member": "m-1", "generation": 1, "at": at(7), "duplicate": False}
    lines(directory / "deliveries.jsonl", delivered, {**delivered, "offset": 2, "last_offset": 2, "duplicate": True})
    for name in ("faults", "processes"):
        lines(directory / f"{name}.jsonl")
    orders_read, billing_read = ({"0": {"committed": end, "low": 0, "end": end}} for end in (3, 1))
    offsets = {
        "billing": {"orders.events": orders_read},
        "analytics": {"orders.events": orders_read, "billing.events": billing_read},
        "orders": {"billing.events": billing_read},
    }
    (directory / "offsets.json").write_text(json.dumps(offsets))
    return directory


def check(directory: Path | str, *more: str, cwd: Path = PROJECT) -> tuple[int, str]:
    """Return exit code and words of ``once chaos check DIRECTORY``."""
    done = subprocess.run(
        [sys.executable, "-m", "infra.cli", "chaos", "check", directory, *more],
        cwd=cwd, env={**os.environ, "PYTHONPATH": str(PROJECT)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def change(file: Path, **changed: object) -> None:
    """Change some fields of the last line of a file."""
    *others, last = file.read_text().splitlines()
    lines(file, *map(json.loads, others), {**json.loads(last), **changed})


def test_good_evidence_of_another_system_passes(tmp_path: Path) -> None:
    """What was written after the page alone is a PASS, in which every rule was asked that can be."""
    directory = evidence(tmp_path / "evidence")

    code, words = check(directory)

    assert code == 0, words
    answers = {
        r["invariant"]: r["answer"] for r in json.loads((directory.parent / "verdict.json").read_text())["results"]
    }
    assert {answer for name, answer in answers.items() if name.startswith("S")} == {"holds"}


@pytest.mark.parametrize(
    ("rule", "file", "changed"),
    [
        ("S14", "db/billing/payment.jsonl", {"amount_minor": 1201}),
        ("S18", "mail.jsonl", {"message_id": "another-key@example.com"}),
        ("S07", "log.jsonl", {"payload": "{}", "sha256": sha256(b"{}").hexdigest()}),
    ],
)
def test_bad_evidence_of_another_system_fails(tmp_path: Path, rule: str, file: str, changed: dict[str, object]) -> None:
    """A violation in it is a FAIL of the rule that it breaks, and of that rule alone."""
    directory = evidence(tmp_path / "evidence")
    change(directory / file, **changed)

    code, words = check(directory)

    assert code == 1, words
    results = json.loads((directory.parent / "verdict.json").read_text())["results"]
    assert [r["invariant"] for r in results if r["answer"] == "broken"] == [rule]


def test_evidence_that_another_system_did_not_write_is_no_pass(tmp_path: Path) -> None:
    """A file left out makes the verdict UNKNOWN."""
    directory = evidence(tmp_path / "evidence")
    (directory / "mail.jsonl").unlink()

    code, words = check(directory)

    assert code == 2, words


def test_nothing_is_written_into_evidence_and_two_verdicts_do_not_meet(tmp_path: Path) -> None:
    """Evidence by a name of its own gets a folder of that name beside it, also when it is called `.` from within.

    Seen red: with the verdict in the evidence's parent, whatever the evidence is called.
    """
    directory = evidence(tmp_path / "theirs")
    before = sorted(directory.rglob("*"))

    code, words = check(".", cwd=directory)

    assert code == 0, words
    assert sorted(directory.rglob("*")) == before
    assert {path.name for path in (tmp_path / "theirs-verdict").iterdir()} >= {"verdict.json", "verdict.txt"}
    assert not (tmp_path / "verdict.json").exists()


def test_a_place_that_cannot_be_written_to_is_named_with_the_cure(tmp_path: Path) -> None:
    """Where the verdict has no place, the words say which, and that --into takes another."""
    directory = evidence(tmp_path / "theirs")
    (tmp_path / "theirs-verdict").write_text("a file is in the way")

    code, words = check(directory)
    there, _words = check(directory, "--into", str(tmp_path / "mine"))

    assert code == COULD_NOT_RUN
    assert "--into" in words
    assert there == 0
    assert (tmp_path / "mine" / "verdict.json").exists()
