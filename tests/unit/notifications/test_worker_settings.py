from uuid import UUID

import msgspec
import pytest

from services.notifications.errors import MailRefused
from services.notifications.settings import Settings
from services.notifications.wiring import TASK, build_app, read_command
from shared.errors import ConfigurationError
from shared.settings import read
from tests.unit.notifications.commands import command

ENVIRON = {"DATABASE_URL": "postgresql://role@127.0.0.1/notifications"}


def test_a_visibility_timeout_below_the_longest_wait_stops_the_start() -> None:
    """The queue would deliver again what merely waits; the message names the variables."""
    with pytest.raises(ConfigurationError, match=r"VISIBILITY_TIMEOUT_SECONDS=30 .*RETRY_CEILING_SECONDS"):
        read(Settings, {**ENVIRON, "VISIBILITY_TIMEOUT_SECONDS": "30"})


def test_the_worker_reads_json_and_acknowledges_late() -> None:
    """A pickle would let a queue run code; an early acknowledgement would lose what a dying worker had in hand."""
    app = build_app(read(Settings, ENVIRON), lambda _event_id, _command: None)
    assert app.conf.accept_content == ["json"]
    assert app.conf.task_acks_late
    assert app.conf.task_reject_on_worker_lost
    assert TASK in app.tasks


def test_a_commands_arguments_are_read_back() -> None:
    """What the relay puts into the queue is the payload as JSON and the event's id."""
    wanted = command()
    event_id = UUID(int=7)
    assert read_command(str(event_id), msgspec.json.decode(msgspec.json.encode(wanted))) == (event_id, wanted)


@pytest.mark.parametrize(("event_id", "fields"), [("7", {}), (str(UUID(int=7)), {"order_id": "o"})])
def test_arguments_that_are_no_command_are_refused_for_good(event_id: str, fields: dict[str, str]) -> None:
    with pytest.raises(MailRefused, match="does not hold a SendInvoice"):
        read_command(event_id, fields)
