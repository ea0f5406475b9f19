"""A real Celery worker on a real Redis, a real SMTP server, and a ledger in a real database."""

import signal
from uuid import uuid4

from sqlalchemy import Engine, text

from shared.failpoints import Failpoint
from tests.conftest import eventually
from tests.integration.notifications.conftest import StartWorker
from tests.integration.notifications.processes import OwnRedis, Queue, Sink
from tests.unit.notifications.commands import command


def ledger(engine: Engine) -> list[tuple[str, str, int]]:
    with engine.connect() as connection:
        rows = connection.execute(
            text("SELECT event_id::text, state, attempts FROM sent_email ORDER BY invoice_number")
        )
        return [(row[0], row[1], row[2]) for row in rows]


def test_one_mail_per_command_however_often_it_is_queued(
    engine: Engine, queue: Queue, sink: Sink, start_worker: StartWorker
) -> None:
    """Copies that come before, between and after the others are known by the event's id."""
    commands = {uuid4(): command(number=f"INV-2026-00000{n}") for n in range(4)}
    for _ in range(3):
        for event_id, wanted in commands.items():
            queue.put(event_id, wanted)
    worker = start_worker()
    eventually(lambda: len(ledger(engine)) == 4 and all(row[1] == "sent" for row in ledger(engine)), 30)
    for event_id, wanted in commands.items():
        queue.put(event_id, wanted)
    last = uuid4()
    queue.put(last, command(number="INV-2026-000009"))
    eventually(lambda: ledger(engine)[-1][:2] == (str(last), "sent"), 30)
    assert worker.end() == 0
    assert [mail["message_id"] for mail in sink.mails()] == [
        f"<{event_id}@effectively-once.invalid>" for event_id in (*commands, last)
    ]
    assert {row[1:] for row in ledger(engine)} == {("sent", 1)}


def test_a_mail_server_that_is_down_costs_time_and_no_mail(
    engine: Engine, queue: Queue, sink: Sink, start_worker: StartWorker
) -> None:
    """The command is tried again with back-off until the server is back, and then the mail leaves once."""
    sink.end()
    event_id = uuid4()
    queue.put(event_id, command())
    start_worker()
    eventually(lambda: ledger(engine)[0][2] >= 3, 30, describe="three attempts")
    assert ledger(engine)[0][1] == "sending"
    sink.start()
    eventually(lambda: ledger(engine)[0][1] == "sent", 30)
    assert len(sink.mails()) == 1


def test_a_worker_that_dies_before_recording_sends_the_same_mail_again(
    engine: Engine, queue: Queue, sink: Sink, start_worker: StartWorker
) -> None:
    """The window that no ledger closes: two copies, told as copies by Message-ID and bytes; nothing is lost."""
    event_id = uuid4()
    queue.put(event_id, command())
    armed = f"{Failpoint.EMAIL_AFTER_SEND_BEFORE_RECORD}=exit"
    doomed = start_worker(
        "chaos.armed", "services.notifications", "worker",
        FAILPOINTS=armed, FAULTS_JOURNAL=str(sink.journal.with_name("faults.jsonl")), INSTANCE="notifications-1",
    )  # fmt: skip
    eventually(lambda: doomed.exit_status() == -signal.SIGKILL, 30)
    assert ledger(engine) == [(str(event_id), "sending", 1)]
    start_worker()
    eventually(lambda: ledger(engine) == [(str(event_id), "sent", 2)], 40)
    first, second = sink.mails()
    assert (first["message_id"], first["sha256"]) == (second["message_id"], second["sha256"])


def test_a_mail_that_the_server_refuses_is_not_tried_for_ever(
    engine: Engine, queue: Queue, sink: Sink, start_worker: StartWorker
) -> None:
    """A mail over the server's limit: the ledger remembers the refusal, and the next mail leaves."""
    lines = [line for line in command().lines for _ in range(1500)]
    too_large, good = uuid4(), uuid4()
    queue.put(too_large, command(number="INV-2026-000001", lines=lines))
    queue.put(good, command(number="INV-2026-000002"))
    start_worker()
    eventually(
        lambda: ledger(engine) == [(str(too_large), "refused", 1), (str(good), "sent", 1)], 30, lambda: ledger(engine)
    )
    assert [mail["invoice_number"] for mail in sink.mails()] == ["INV-2026-000002"]


def test_a_worker_finds_its_way_back_to_a_queue_that_was_killed(
    engine: Engine, sink: Sink, start_worker: StartWorker, own_redis: OwnRedis
) -> None:
    """Killed in the middle of the work, once with the mail server down as well; nothing doubles.

    One command for each kill may be gone: the one that the queue handed over in its last moment.
    """
    queue = Queue(own_redis.url)
    worker = start_worker(REDIS_URL=own_redis.url)
    commands = [uuid4() for _ in range(45)]
    for kills, mail_server_is_up in enumerate((True, False, True), start=1):
        if not mail_server_is_up:
            sink.end()
        for number in range(15 * kills - 15, 15 * kills):
            queue.put(commands[number], command(number=f"INV-2026-{number:06d}"))
        eventually(lambda: len(ledger(engine)) > 15 * kills - 15 - kills, 30)  # noqa: B023
        own_redis.end(signal.SIGKILL)
        own_redis.start()
        if not mail_server_is_up:
            sink.start()
        eventually(lambda: _sent(engine) >= 15 * kills - kills, 40, worker.log.read_text)  # noqa: B023
    queue.close()
    assert len({mail["message_id"] for mail in sink.mails()}) == len(sink.mails()) == _sent(engine)


def test_a_broken_task_does_not_stop_the_worker(
    engine: Engine, queue: Queue, sink: Sink, start_worker: StartWorker
) -> None:
    """It is logged and dropped; the next one is sent."""
    queue.put_raw("not-an-event", {"order_id": 7})
    event_id = uuid4()
    queue.put(event_id, command())
    worker = start_worker()
    eventually(lambda: ledger(engine) == [(str(event_id), "sent", 1)], 30)
    assert "does not hold a SendInvoice command" in worker.log.read_text()


def test_a_database_that_cannot_be_asked_costs_time_and_no_mail(
    engine: Engine, queue: Queue, sink: Sink, start_worker: StartWorker
) -> None:
    """Every session of the worker is cut while it works; the mails leave all the same, once each."""
    worker = start_worker(INSTANCE="cut-off")
    for n in range(6):
        queue.put(uuid4(), command(number=f"INV-2026-00000{n}"))
        eventually(lambda n=n: len(ledger(engine)) > n, 30)  # type: ignore[misc]
        with engine.begin() as connection:
            connection.execute(
                text("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'cut-off'")
            )
    eventually(lambda: [row[1] for row in ledger(engine)] == ["sent"] * 6, 40, lambda: worker.log.read_text())
    assert len({mail["message_id"] for mail in sink.mails()}) == 6


def _sent(engine: Engine) -> int:
    return sum(state == "sent" for _, state, _ in ledger(engine))
