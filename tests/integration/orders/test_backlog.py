"""Orders knows how far its relay is behind, and stops taking orders when it is too far."""

from dataclasses import replace

from flask.testing import FlaskClient
from sqlalchemy import Engine, text

from services.orders.settings import ApiSettings
from services.orders.wiring import build_api
from shared import outbox
from shared.events import OrderConfirmed
from tests.conftest import eventually
from tests.integration.orders.examples import Place, order_body, order_headers

ADMIN = {"Authorization": "Bearer test-token"}


def settle_everything(engine: Engine) -> None:
    """Do what a relay does at the end of a pass."""
    with engine.begin() as connection:
        connection.execute(
            text("UPDATE relay_position SET done = pg_current_snapshot(), floor_id = (SELECT max(id) FROM outbox)")
        )


def pending(client: FlaskClient) -> int:
    answer = client.get("/admin/outbox", headers=ADMIN).json
    assert answer is not None
    assert [each["destination"] for each in answer["destinations"]] == ["command", "event"]
    return int(answer["destinations"][1]["pending"])


def test_pending_is_what_lies_beyond_the_relays_position(client: FlaskClient, engine: Engine, place: Place) -> None:
    """Rows are not marked, so the position alone says what is still to be published."""
    assert pending(client) == 0
    place()
    place()
    assert pending(client) == 2
    settle_everything(engine)
    assert pending(client) == 0


def test_a_commit_that_was_late_is_pending_below_the_floor(client: FlaskClient, engine: Engine, place: Place) -> None:
    """Its id is low, but its transaction was in progress when the relay looked."""
    with engine.connect() as late:
        outbox.add(
            late,
            outbox.new_event("order", "late", 1, OrderConfirmed(order_id="late", invoice_number=""), source="/orders"),
        )
        place()
        settle_everything(engine)
        late.commit()
    assert pending(client) == 1


def test_no_order_is_taken_while_the_oldest_event_is_too_old(
    settings: ApiSettings, engine: Engine, place: Place
) -> None:
    """503 with Retry-After, until the relay has caught up. A relay that is a moment behind bothers nobody."""
    place()
    client = build_api(replace(settings, backlog_limit_seconds=0.05), engine=engine).test_client()

    def status() -> int:
        return client.post("/orders", data=order_body(), headers=order_headers()).status_code

    refused = eventually(lambda: status() == 503, describe="orders are refused")
    assert refused
    response = client.post("/orders", data=order_body(), headers=order_headers())
    assert response.json["type"] == "urn:problem-type:backlog-too-old"  # type: ignore[index]
    assert int(response.headers["Retry-After"]) > 0
    settle_everything(engine)
    eventually(lambda: status() == 201, describe="orders are taken again")
