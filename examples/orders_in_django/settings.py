"""Django's settings, from the variables that the order service has."""

import os
from pathlib import Path
from urllib.parse import urlsplit

_url = urlsplit(os.environ["DATABASE_URL"])
_password_file = os.environ.get("DATABASE_PASSWORD_FILE")

DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": _url.path.removeprefix("/"),
        "USER": _url.username,
        "PASSWORD": Path(_password_file).read_text().strip() if _password_file else _url.password or "",
        "HOST": _url.hostname,
        "PORT": _url.port,
        "CONN_MAX_AGE": None,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {
            "application_name": os.environ.get("INSTANCE", "orders-api"),
            "connect_timeout": 5,
            # A request that waits for another gives up, and a process that hangs in a transaction lets go of its locks.
            "options": "-c lock_timeout=2s -c idle_in_transaction_session_timeout=10s",
        },
    }
}
INSTALLED_APPS = ["examples.orders_in_django"]
ROOT_URLCONF = "examples.orders_in_django.urls"
ALLOWED_HOSTS = ["*"]
USE_TZ = True
DATA_UPLOAD_MAX_MEMORY_SIZE = 65_536
SECRET_KEY = "nothing here is signed"  # noqa: S105  # no sessions, no forms
LOGGING_CONFIG = None
