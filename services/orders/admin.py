"""The admin endpoints of orders, for those who bear the token: what its outbox holds back."""

from dataclasses import asdict
from typing import Any

from flask import Blueprint
from sqlalchemy import Engine

from shared.backlog import backlogs
from shared.database import transaction
from shared.http import require_token

COUNT_AT_MOST = 100_000


def admin_blueprint(engine: Engine, token_file: str) -> Blueprint:
    """Make the endpoints under /admin. Raises ConfigurationError when the token's file is not usable."""
    admin = Blueprint("admin", __name__, url_prefix="/admin")
    admin.before_request(require_token(token_file))

    @admin.get("/outbox")
    def outbox() -> dict[str, Any]:
        with transaction(engine) as connection:
            return {
                "destinations": [asdict(backlog) for backlog in backlogs(connection.exec_driver_sql, COUNT_AT_MOST)]
            }

    return admin
