"""``python -m examples.orders_in_fastapi``: serve it with uvicorn."""

import os
from typing import Any

import uvicorn

from examples.orders_in_fastapi.app import build


def serve(app: Any) -> None:
    uvicorn.run(
        app, host=os.environ.get("HTTP_HOST", "127.0.0.1"), port=int(os.environ["HTTP_PORT"]), log_level="warning"
    )


def build_from_environment() -> Any:
    return build(
        os.environ["DATABASE_URL"],
        os.environ.get("DATABASE_PASSWORD_FILE"),
        os.environ.get("INSTANCE", "orders-api"),
    )


if __name__ == "__main__":
    serve(build_from_environment())
