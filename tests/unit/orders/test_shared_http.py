"""What all HTTP APIs share: tokens, the trace context, unforeseen errors, the access log."""

import json
import re
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient
from structlog.testing import capture_logs

from shared.errors import ConfigurationError
from shared.http import install, require_token, traceparent

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.mark.parametrize(
    "header", ["", "Bearer", "Bearer ", "Basic TOKEN", "Bearer wrong", "Bearer TOKENx", "TOKEN", "Bearer \u00e9"]
)
def test_admin_without_the_token_is_a_401(client: FlaskClient, token: str, header: str) -> None:
    """No token, no answer, and the client learns which scheme is wanted."""
    given = header.replace("TOKEN", token)
    response = client.get("/admin/outbox", headers={"Authorization": given} if given else {})
    assert response.status_code == 401
    assert response.headers["WWW-Authenticate"].startswith("Bearer")
    assert token not in response.text


def test_admin_with_the_token_passes_the_door(client: FlaskClient, token: str) -> None:
    """Behind the door is the database, which is not there."""
    assert client.get("/admin/outbox", headers={"Authorization": f"Bearer {token}"}).status_code == 503


def test_an_empty_token_file_stops_the_start(tmp_path: Path) -> None:
    """An empty secret would be everybody's."""
    (tmp_path / "token").write_text("\n")
    with pytest.raises(ConfigurationError, match="empty"):
        require_token(str(tmp_path / "token"))


def test_a_trace_goes_on_and_a_broken_one_begins_anew() -> None:
    """Only a well-formed trace context is passed on."""
    assert traceparent(TRACE) == TRACE
    for broken in (
        None,
        "",
        "x",
        TRACE.upper(),
        TRACE + "0",
        "ff" + TRACE[2:],
        TRACE.replace("0af7651916cd43dd8448eb211c80319c", "0" * 32),
    ):
        assert re.fullmatch(r"00-[0-9a-f]{32}-[0-9a-f]{16}-01", traceparent(broken))
        assert traceparent(broken) != traceparent(broken)


def test_an_unforeseen_error_is_a_problem_without_its_reason() -> None:
    """The reason is for the log, not for the client."""
    app = Flask("test")
    install(app, lambda: None)

    @app.get("/fails")
    def fails() -> str:
        raise RuntimeError("the password is swordfish")

    response = app.test_client().get("/fails")
    assert response.status_code == 500
    assert json.loads(response.data)["type"] == "urn:problem-type:internal-error"
    assert "swordfish" not in response.text


def test_the_access_log_names_the_route_and_nothing_of_the_customer(client: FlaskClient) -> None:
    """A path, a query or a body can hold an e-mail address or a secret; the rule of the path cannot."""
    with capture_logs() as lines:
        client.get("/orders/ada@example.org?token=swordfish", headers={"Authorization": "Bearer swordfish"})
    assert [(line["event"], line["route"], line["status"]) for line in lines] == [
        ("request", "/orders/<order_id>", 404)
    ]
    assert "ada" not in str(lines)
    assert "swordfish" not in str(lines)
