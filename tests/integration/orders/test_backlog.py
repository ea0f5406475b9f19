"""Orders knows how far its relay is behind, and stops taking orders when it is too far."""

import threading
import time
from dataclasses import replace
from itertools import count

from flask.testing import FlaskClient
from sqlalchemy import Engine, text

from services.orders.settings import ApiSettings
from services.orders.wiring import build_api
from shared import outbox
from shared.backlog import backlogs
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
    assert [each["destination"] for each in answer["destinations"]] == ["event"], "commands: nobody carries them here"
    return int(answer["destinations"][0]["pending"])


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


def test_no_order_is_taken_while_too_many_events_wait(settings: ApiSettings, engine: Engine, place: Place) -> None:
    """However young they are; /readyz says so too, with the reason, and both recover by themselves."""
    for _ in range(4):
        place()
    client = build_api(replace(settings, backlog_limit_events=3), engine=engine).test_client()
    assert client.post("/orders", data=order_body(), headers=order_headers()).status_code == 503
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert "More than 3 events" in answer.text
    assert int(answer.headers["Retry-After"]) > 0
    settle_everything(engine)
    eventually(lambda: client.get("/readyz").status_code == 200, describe="the API is ready again")
    assert client.post("/orders", data=order_body(), headers=order_headers()).status_code == 201


def test_around_the_switch_taken_means_written_and_refused_means_not(settings: ApiSettings, engine: Engine) -> None:
    """Many clients at once, while the gate closes and opens and closes."""
    app = build_api(replace(settings, backlog_limit_events=30), engine=engine)
    answers: list[tuple[int, str]] = []

    end = time.monotonic() + 30

    def seen_both_ways() -> bool:
        statuses = [status for status, _ in answers]
        return 503 in statuses and 201 in statuses[statuses.index(503) :]

    def client(number: int) -> None:
        asking = app.test_client()
        for n in count():
            if seen_both_ways() or time.monotonic() > end:
                return
            answer = asking.post("/orders", data=order_body(), headers=order_headers(f"key-{number}-{n}"))
            order_id = answer.json["order_id"] if answer.status_code == 201 else ""  # type: ignore[index]
            answers.append((answer.status_code, order_id))
            if len(answers) % 60 == 0:
                settle_everything(engine)
            time.sleep(0.02)

    threads = [threading.Thread(target=client, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen_both_ways()
    with engine.connect() as connection:
        written = set(connection.execute(text("SELECT order_id::text FROM orders")).scalars())
        told = set(connection.execute(text("SELECT aggregate_id FROM outbox")).scalars())
    assert written == told == {order_id for status, order_id in answers if status == 201}


def test_a_position_that_stands_far_behind_is_looked_at_cheaply(engine: Engine) -> None:
    """A lane that hardly anything belongs to does not make the question read the whole table."""
    with engine.begin() as connection:
        connection.execute(text("UPDATE relay_position SET epoch = 1"))  # nobody carries commands, and somebody did
        connection.execute(
            text(
                "INSERT INTO outbox (event_id, aggregate_type, aggregate_id, aggregate_version, destination, type,"
                " source, dataschema, payload) SELECT gen_random_uuid(), 'order', n::text, 1, 'event', 'OrderPlaced',"
                " '/orders', 'x', '' FROM generate_series(1, 5000) AS n"
            )
        )
    with engine.connect() as connection:
        found = backlogs(lambda query, values: connection.exec_driver_sql(query, values | {"stretch": 100}), at_most=50)
        plan = "\n".join(
            connection.exec_driver_sql(
                "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) SELECT * FROM (SELECT destination FROM outbox WHERE id > 0 "
                "ORDER BY id LIMIT 100) AS stretch WHERE destination = 'command'"
            ).scalars()
        )
    assert [(each.destination, each.pending) for each in found] == [("command", 0), ("event", 50)]
    assert "actual rows=100" in plan
