"""The OpenAPI document says what the API of analytics does."""

import json
import re
from typing import Any

import pytest
from flask import Flask

from services.analytics.settings import Settings
from services.analytics.wiring import build_api

UNDOCUMENTED = {"/healthz", "/readyz", "/metrics", "/openapi.json", "/static/{filename}"}
"""For those who run the service, not for its clients; with a token there is /admin besides."""

BAD_CALLS = [
    "/revenue?day=tomorrow",
    "/orders-by-day?day=2026-02-30",
    "/top-skus",
    "/top-skus?currency=EUR&by=weight",
    "/top-skus?currency=EUR&limit=101",
    "/revenue",
    "/orders-by-state",
    "/top-skus?currency=EUR",
]
"""The first few are wrong; the others find no database."""


@pytest.fixture
def app() -> Flask:
    return build_api(Settings(database_url="postgresql+psycopg://nobody@127.0.0.1:1/nowhere"))


@pytest.fixture
def document(app: Flask) -> dict[str, Any]:
    served: dict[str, Any] = json.loads(app.test_client().get("/openapi.json").data)
    return served


def test_every_route_is_documented_and_every_documented_operation_exists(app: Flask, document: dict[str, Any]) -> None:
    """Neither list can grow without the other."""
    routes = {re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", rule.rule) for rule in app.url_map.iter_rules()}
    assert document["paths"].keys() == routes - UNDOCUMENTED
    assert {method for operations in document["paths"].values() for method in operations} == {"get"}


@pytest.mark.parametrize("call", BAD_CALLS)
def test_a_refusal_is_as_documented(app: Flask, document: dict[str, Any], call: str) -> None:
    """Status, media type, members and problem type of each are in the document."""
    response = app.test_client().get(call)
    described = document["paths"][call.partition("?")[0]]["get"]["responses"][str(response.status_code)]
    answer = json.loads(response.data)
    assert list(described["content"]) == [response.content_type]
    assert answer.keys() == set(document["components"]["schemas"]["Problem"]["required"])
    assert answer["type"] == described["description"]
