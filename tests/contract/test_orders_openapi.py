"""The OpenAPI document says what the API of orders does."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from services.orders.settings import ApiSettings
from services.orders.wiring import build_api

UNDOCUMENTED = {
    "/healthz",
    "/readyz",
    "/metrics",
    "/openapi.json",
    "/admin/outbox",
    "/admin/parked",
    "/admin/parked/{lot}/{entry_id}",
    "/admin/parked/{lot}/{entry_id}/redrive",
    "/admin/parked/{lot}/{entry_id}/discard",
    "/static/{filename}",
}
"""For those who run the service, not for its clients."""

ID = "0190a5c2-0000-7000-8000-000000000000"
BAD_CALLS = [
    ("post", "/orders", {"data": b"{}", "content_type": "text/plain"}),
    ("post", "/orders", {"data": b"{", "content_type": "application/json", "headers": {"Idempotency-Key": "k"}}),
    ("post", "/orders", {"data": b"{}", "content_type": "application/json", "headers": {"Idempotency-Key": "k"}}),
    ("post", "/orders", {"data": b"{}", "content_type": "application/json"}),
    (
        "post",
        "/orders",
        {"data": b" " * 70_000, "content_type": "application/json", "headers": {"Idempotency-Key": "k"}},
    ),
    ("get", "/orders/none", {}),
    ("get", f"/orders/{ID}", {}),
    ("post", "/orders/none/cancel", {}),
]


@pytest.fixture
def app(tmp_path: Path) -> Flask:
    (tmp_path / "token").write_text("test-token")
    return build_api(
        ApiSettings(
            database_url="postgresql://nobody@127.0.0.1:1/nowhere",
            http_port=1,
            admin_token_file=str(tmp_path / "token"),
        )
    )


@pytest.fixture
def document(app: Flask) -> dict[str, Any]:
    served: dict[str, Any] = json.loads(app.test_client().get("/openapi.json").data)
    return served


def test_every_route_is_documented_and_every_documented_operation_exists(app: Flask, document: dict[str, Any]) -> None:
    """Neither list can grow without the other."""
    routes = {
        (re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", rule.rule), method.lower())
        for rule in app.url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
    }
    documented = {(path, method) for path, operations in document["paths"].items() for method in operations}
    assert documented == {route for route in routes if route[0] not in UNDOCUMENTED}


def test_every_reference_leads_somewhere(document: dict[str, Any]) -> None:
    """The schemas that are named are there."""
    named = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(document)))
    assert named <= document["components"]["schemas"].keys()
    assert {"OrderRequest", "Receipt", "OrderView", "Problem", "Line", "OrderLine"} <= named


@pytest.mark.parametrize(("method", "path", "call"), BAD_CALLS)
def test_a_refusal_is_as_documented(
    app: Flask, document: dict[str, Any], method: str, path: str, call: dict[str, Any]
) -> None:
    """Status, media type, members and problem type of each are in the document."""
    response: TestResponse = app.test_client().open(path, method=method, **call)
    operation = document["paths"][re.sub(r"/orders/[^/]+", "/orders/{order_id}", path)][method]
    described = operation["responses"][str(response.status_code)]
    answer = json.loads(response.data)
    assert list(described["content"]) == [response.content_type]
    assert answer.keys() == set(document["components"]["schemas"]["Problem"]["required"])
    if response.status_code not in (413, 415):
        assert answer["type"] in described["description"]
