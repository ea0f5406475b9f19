"""The ledger between two deliveries of one command."""

import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import psycopg
import pytest
from sqlalchemy import Engine, text

from infra.local.stack import LocalStack
from infra.postgres.roles import all_roles, ensure_roles, grant, ungranted
from services.notifications import ledger
from services.notifications.errors import MailInHand, MailNotAccepted
from services.notifications.mailer import Mailer
from services.notifications.send_invoice import InvoiceSender
from shared.database import transaction
from tests.conftest import eventually
from tests.unit.notifications.commands import command

SENDER = "invoices@effectively-once.invalid"


@pytest.fixture
def silent_server() -> Iterator[int]:
    """Return the port of a server that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_two_deliveries_at_once_do_not_send_twice(engine: Engine, silent_server: int) -> None:
    """The second finds the mail in the first's hand and is told to come back; a failed send gives it back at once."""
    sender = InvoiceSender(engine, Mailer("127.0.0.1", silent_server, 2.0), SENDER, lease_seconds=60)
    event_id = uuid4()
    failed: list[BaseException] = []

    def first() -> None:
        with pytest.raises(MailNotAccepted) as caught:
            sender.send(event_id, command())
        failed.append(caught.value)

    thread = threading.Thread(target=first)
    thread.start()
    eventually(lambda: _attempts(engine) == 1)
    with pytest.raises(MailInHand):
        sender.send(event_id, command())
    thread.join(10)
    assert failed
    with pytest.raises(MailNotAccepted):
        sender.send(event_id, command())
    assert _attempts(engine) == 2


def test_of_many_claims_at_once_one_wins(engine: Engine) -> None:
    """The key decides, in one statement."""
    event_id = uuid4()

    def claim(_: int) -> ledger.Claim | None:
        with transaction(engine) as connection:
            return ledger.claim(connection, event_id, command(), 60)

    with ThreadPoolExecutor(5) as workers:
        claims = [won for won in workers.map(claim, range(20)) if won]
    assert [won.attempt for won in claims] == [1]


def test_a_claim_whose_lease_has_run_out_is_taken_over(engine: Engine) -> None:
    """And what the first claimant says later about a failure changes nothing; that it was sent, counts."""
    event_id = uuid4()
    with transaction(engine) as connection:
        first = ledger.claim(connection, event_id, command(), 0)
    with transaction(engine) as connection:
        second = ledger.claim(connection, event_id, command(), 60)
        assert first is not None
        assert second is not None
        ledger.record_refused(connection, first, "too late")
        assert ledger.state_of(connection, event_id) == "sending"
        ledger.record_sent(connection, first)
        assert ledger.state_of(connection, event_id) == "sent"
        ledger.give_back(connection, second, "too late as well")
        assert ledger.claim(connection, event_id, command(), 60) is None


def test_the_workers_role_may_do_all_this(engine: Engine, stack: LocalStack) -> None:
    """The process runs with the rights of its role, and no table is forgotten in the list of rights."""
    with engine.begin() as connection:
        session = connection.connection.driver_connection
        assert isinstance(session, psycopg.Connection)
        ensure_roles(session, {role: stack.home.secret(role) for role in all_roles()})
        grant(session, "notifications")
        assert ungranted(session, "notifications") == []
    with transaction(engine) as connection:
        connection.execute(text("SET LOCAL ROLE notifications_worker"))
        claim = ledger.claim(connection, uuid4(), command(), 60)
        assert claim is not None
        ledger.record_sent(connection, claim)


def _attempts(engine: Engine) -> int:
    with engine.connect() as connection:
        return int(connection.execute(text("SELECT coalesce(max(attempts), 0) FROM sent_email")).scalar_one())
