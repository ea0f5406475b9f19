"""The API of orders in front of a database that is not there.

Whatever reached for the database would be answered with 503, so any other answer was given before anything was written.
"""

from pathlib import Path

import pytest
from flask.testing import FlaskClient

from services.orders.settings import ApiSettings
from services.orders.wiring import build_api


@pytest.fixture
def token() -> str:
    return "a-token-of-these-tests"


@pytest.fixture
def client(tmp_path: Path, token: str) -> FlaskClient:
    token_file = tmp_path / "token"
    token_file.write_text(token + "\n")
    settings = ApiSettings(
        database_url="postgresql://nobody@127.0.0.1:1/nowhere", http_port=1, admin_token_file=str(token_file)
    )
    return build_api(settings).test_client()
