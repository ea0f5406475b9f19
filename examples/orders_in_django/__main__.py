"""``python -m examples.orders_in_django``: serve it with gunicorn."""

import os
from typing import Any

from shared.http.server import serve


def build() -> Any:
    """Make the application. To be called in the process that serves it, after any fork."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "examples.orders_in_django.settings")
    from django.core.wsgi import get_wsgi_application

    return get_wsgi_application()


if __name__ == "__main__":
    serve(build, os.environ.get("HTTP_HOST", "127.0.0.1"), int(os.environ["HTTP_PORT"]), workers=1)
