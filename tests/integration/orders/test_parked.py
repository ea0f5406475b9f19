"""The parking lots of orders over HTTP."""

from pathlib import Path

from flask.testing import FlaskClient
from sqlalchemy import Engine, text

from services.orders.settings import ApiSettings
from tests.integration.orders.examples import order_body, order_headers

PARK = text(
    "INSERT INTO outbox_parked (outbox_id, state, attempts, last_error, destination, lane, aggregate_type,"
    " aggregate_id) SELECT id, 'parked', 3, 'too large', destination, lane, aggregate_type, aggregate_id FROM outbox"
    " ORDER BY id RETURNING outbox_id"
)


def test_a_parked_row_is_listed_shown_redriven_and_discarded(
    client: FlaskClient, engine: Engine, settings: ApiSettings
) -> None:
    """Each verb answers with the entry as it is then; a reason is asked for, and nobody gets in without the token."""
    client.post("/orders", data=order_body(), headers=order_headers("k-1"))
    client.post("/orders", data=order_body(), headers=order_headers("k-2"))
    with engine.begin() as connection:
        number, other = connection.execute(PARK).scalars()
    token = {"Authorization": f"Bearer {Path(settings.admin_token_file).read_text()}"}
    entry = f"/admin/parked/outbox/{number}"

    assert client.get("/admin/parked").status_code == 401
    listed, _ = client.get("/admin/parked?lot=outbox", headers=token).json["entries"]  # type: ignore[index]
    assert (listed["id"], listed["state"], listed["error"]) == (str(number), "parked", "too large")
    assert "order_id" in client.get(entry, headers=token).json["payload"]  # type: ignore[index]
    redriven = client.post(f"/admin/parked/outbox/{other}/redrive", headers=token)
    assert (redriven.status_code, redriven.json["state"]) == (202, "redriving")  # type: ignore[index]
    assert client.post(f"{entry}/discard", headers=token, data=b"{}").status_code == 400
    discarded = client.post(f"{entry}/discard", headers=token, json={"reason": "a test"}).json
    assert (discarded["state"], discarded["discarded_reason"]) == ("discarded", "a test")  # type: ignore[index]
    assert client.get("/admin/parked/outbox/999999", headers=token).status_code == 404


PUT = text(
    'INSERT INTO inbox_parked (consumer, topic, partition, "offset", key, headers, payload, state, attempts, error)'
    " VALUES ('orders', 'billing.events', 3, 17, 'k', :headers, '\\x00ff', 'parked', 1, 'no value') RETURNING id"
)


def test_a_delivery_that_cannot_be_read_is_shown_by_its_place(
    client: FlaskClient, engine: Engine, settings: ApiSettings
) -> None:
    """With its bytes in base64, and the headers that it has; both lots are listed by one question."""
    with engine.begin() as connection:
        number = connection.execute(PUT, {"headers": '[["ce_id", "AP8="], ["none", null]]'}).scalar_one()
    token = {"Authorization": f"Bearer {Path(settings.admin_token_file).read_text()}"}
    (listed,) = client.get("/admin/parked", headers=token).json["entries"]  # type: ignore[index]
    assert (listed["lot"], listed["topic"], listed["partition"], listed["offset"]) == ("inbox", "billing.events", 3, 17)
    shown = client.get(f"/admin/parked/inbox/{number}", headers=token).json
    assert (shown["payload_base64"], shown["event_id"]) == ("AP8=", None)  # type: ignore[index]
    assert shown["headers"] == [["ce_id", "\x00\\xff"], ["none", None]]  # type: ignore[index]
    redriven = client.post(f"/admin/parked/inbox/{number}/redrive", headers=token)
    assert (redriven.status_code, redriven.json["state"]) == (202, "redriving")  # type: ignore[index]
    assert client.post(f"/admin/parked/inbox/{number}/discard", headers=token, json={"reason": "x"}).status_code == 409
