"""Billing's read-only HTTP API over a real database."""

from typing import Any
from uuid import uuid4

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine

from services.billing.api import create_app
from tests.integration.billing.orders import bill, cancelled, deliver, placed


@pytest.fixture
def client(engine: Engine) -> FlaskClient:
    return create_app(engine).test_client()


def read(client: FlaskClient, path: str) -> Any:
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    return answer.json


def test_an_orders_invoice_and_credit_note_can_be_read(client: FlaskClient, engine: Engine) -> None:
    """By order and by number, with the bill's state, amounts in minor units and times in UTC."""
    order = placed(amount_minor=1234)
    bill(engine, deliver(order, cancelled(order)))
    [invoice] = read(client, f"/invoices?order_id={order.order_id}")["invoices"]
    [note] = read(client, f"/credit-notes?order_id={order.order_id}")["credit_notes"]
    assert (invoice["order_id"], invoice["amount_minor"], invoice["state"]) == (order.order_id, 1234, "credited")
    assert invoice["issued_at"].endswith("+00:00")
    assert (note["invoice_number"], note["amount_minor"]) == (invoice["number"], 1234)
    assert read(client, f"/invoices/{invoice['number']}") == invoice


def test_an_order_without_invoice_has_an_empty_list(client: FlaskClient) -> None:
    """It may be on its way, so it is no error."""
    assert read(client, f"/invoices?order_id={uuid4()}") == {"invoices": []}
    assert read(client, f"/credit-notes?order_id={uuid4()}") == {"credit_notes": []}


@pytest.mark.parametrize("path", ["/invoices", "/invoices?order_id=7", "/credit-notes?order_id="])
def test_a_query_without_an_order_is_a_problem(client: FlaskClient, path: str) -> None:
    """The document says what to add."""
    answer = client.get(path)
    assert (answer.status_code, answer.content_type) == (400, "application/problem+json")
    assert b"?order_id=" in answer.data


@pytest.mark.parametrize("number", ["INV-1999-000001", "%00", "INV-1999-00000%00", "%ED%A0%80", "x" * 3000])
def test_an_unknown_number_is_a_problem(client: FlaskClient, number: str) -> None:
    """Also one that no invoice could have, and that the database would refuse to look for."""
    answer = client.get(f"/invoices/{number}")
    assert answer.status_code == 404
    assert b"urn:problem-type:unknown-invoice" in answer.data


def test_nothing_can_be_written(client: FlaskClient) -> None:
    assert client.post("/invoices").status_code == 405


def test_the_summary_adds_up_by_currency(client: FlaskClient, engine: Engine) -> None:
    """What was invoiced, credited and declined, and how far each series has come."""
    order = placed(amount_minor=700)
    bill(engine, deliver(order, placed(), placed(currency="JPY"), placed(amount_minor=2_000_000), cancelled(order)))
    summary = read(client, "/summary")
    assert summary["invoiced"] == [
        {"currency": "EUR", "count": 2, "amount_minor": 1200},
        {"currency": "JPY", "count": 1, "amount_minor": 500},
    ]
    assert summary["credited"] == [{"currency": "EUR", "count": 1, "amount_minor": 700}]
    assert summary["declined"] == [{"currency": "EUR", "count": 1, "amount_minor": 2_000_000}]
    assert [(s["series"], s["numbers"]) for s in summary["series"]] == [("CRN", 1), ("INV", 3)]


def test_it_is_ready_when_its_database_answers(client: FlaskClient) -> None:
    assert client.get("/readyz").status_code == 200
