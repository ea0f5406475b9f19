import pytest

from tests.adopt.shop import Shop
from tests.conftest import DatabaseFactory


@pytest.fixture(scope="module")
def shop(postgres_url: DatabaseFactory) -> Shop:
    return Shop.open(postgres_url())
