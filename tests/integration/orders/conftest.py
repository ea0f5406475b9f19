"""An orders database, empty for each test, and the API over it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine, text

from services.orders.settings import ApiSettings
from services.orders.wiring import build_api
from shared import logs
from shared.database import create_engine
from shared.outbox_tables import FIRST_POSITIONS
from tests.conftest import DatabaseFactory
from tests.integration.orders.examples import Place, Rows, order_body, order_headers

INI = Path(__file__).parents[3] / "infra" / "alembic.ini"


@pytest.fixture(scope="session", autouse=True)
def logs_as_in_production() -> None:
    """Keep structlog's development mode away, which prints the local variables of every frame."""
    logs.configure("test")


@pytest.fixture(scope="module")
def database_url(postgres_url: DatabaseFactory) -> str:
    """Return a database for the tests of one file."""
    return postgres_url(of="orders")


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    """Empty the database as the migrations left it."""
    engine = create_engine(database_url, None, "test", pool_size=20)
    with engine.begin() as connection:
        connection.execute(text("TRUNCATE orders, idempotency_key, outbox, outbox_parked, inbox RESTART IDENTITY"))
        connection.execute(text("TRUNCATE relay_position, relay_lane"))
        connection.execute(text(FIRST_POSITIONS))
    yield engine
    engine.dispose()


@pytest.fixture
def settings(database_url: str, tmp_path: Path) -> ApiSettings:
    token_file = tmp_path / "token"
    token_file.write_text("test-token")
    return ApiSettings(database_url=database_url, http_port=1, admin_token_file=str(token_file), wait_seconds=0.3)


@pytest.fixture
def client(settings: ApiSettings, engine: Engine) -> FlaskClient:
    return build_api(settings, engine=engine).test_client()


@pytest.fixture
def rows(engine: Engine) -> Rows:
    def ask(query: str) -> list[dict[str, Any]]:
        with engine.connect() as connection:
            return [dict(row) for row in connection.execute(text(query)).mappings()]

    return ask


@pytest.fixture
def place(client: FlaskClient) -> Place:
    def place(key: str | None = None, **members: Any) -> str:
        """Place an order and return its id."""
        response = client.post("/orders", data=order_body(**members), headers=order_headers(key))
        assert response.status_code == 201, response.text
        return str(response.json["order_id"])  # type: ignore[index]

    return place
