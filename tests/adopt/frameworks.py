"""Django and FastAPI, which only the examples need: ``make examples`` installs them, as ``make test`` does."""

import os
from functools import cache
from importlib.util import find_spec
from threading import Lock
from typing import Any

import pytest
from sqlalchemy import make_url

from tests.adopt import pages
from tests.adopt.shop import Shop

_ONE_AT_A_TIME = Lock()


def needs(package: str) -> pytest.MarkDecorator:
    """Leave a test out where the package is not, but for continuous integration: there it fails."""
    absent = find_spec(package) is None and not os.environ.get("CI")
    return pytest.mark.skipif(absent, reason=f"{package} is not installed: `make examples` does it")


def django_page(shop: Shop) -> dict[str, Any]:
    """Set Django up on a shop, once for this process, and return what its page defines."""
    with _ONE_AT_A_TIME:  # a test's threads may all be the first
        return _django_page(shop)


@cache
def _django_page(shop: Shop) -> dict[str, Any]:
    import django
    from django.conf import settings

    url = make_url(shop.url)
    settings.configure(
        DATABASES={
            "default": {
                "ENGINE": "django.db.backends.postgresql",
                "NAME": url.database,
                "USER": url.username,
                "PASSWORD": url.password,
                "HOST": url.host,
                "PORT": url.port,
            }
        }
    )
    django.setup()
    return pages.python("django.md")
