"""A migrated orders database for each test, and the API over it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.config import Config
from flask.testing import FlaskClient
from sqlalchemy import Engine, text

from services.orders.settings import ApiSettings
from services.orders.wiring import build_api
from shared import logs
from shared.database import create_engine
from tests.integration.orders.examples import Place, Rows, order_body, order_headers

INI = Path(__file__).parents[3] / "infra" / "alembic.ini"


@pytest.fixture(scope="session", autouse=True)
def logs_as_in_production() -> None:
    """Keep structlog's development mode away, which prints the local variables of every frame."""
    logs.configure("test")


@pytest.fixture
def database_url(postgres_url: Callable[[], str]) -> str:
    return postgres_url()


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    engine = create_engine(database_url, None, "test", pool_size=20)
    with engine.connect() as connection:
        config = Config(INI, ini_section="orders")
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
        connection.commit()
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
