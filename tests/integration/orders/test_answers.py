"""Good answers have the form that the OpenAPI document gives them."""

from uuid import uuid4

from flask.testing import FlaskClient

from services.orders.openapi import document
from tests.integration.orders.examples import order_body, order_headers


def test_good_answers_are_as_documented(client: FlaskClient) -> None:
    """Every member that is promised is there, and no other."""
    schemas = document()["components"]["schemas"]
    placed = client.post("/orders", data=order_body(), headers=order_headers(str(uuid4()))).json
    assert placed is not None
    shown = client.get(f"/orders/{placed['order_id']}").json
    cancelled = client.post(f"/orders/{placed['order_id']}/cancel").json
    assert shown is not None
    assert cancelled is not None
    assert placed.keys() == set(schemas["Receipt"]["required"])
    assert shown.keys() == cancelled.keys() == set(schemas["OrderView"]["required"])
    assert "email" not in shown
