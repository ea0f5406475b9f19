"""Health, readiness and metrics.

``/healthz`` says that the process answers, ``/readyz`` that it can do its work now: a supervisor restarts on the first
and a load balancer looks at the second. A database that is away makes a service unready, never unhealthy.
"""

import os
from collections.abc import Callable

from flask import Flask, Response
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from shared.http.problems import unavailable
from shared.logs import get_logger

Ready = Callable[[], object]

MULTIPROCESS_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""The client library's own variable: a folder in which the workers of one server add up their metrics."""

_log = get_logger(__name__)


def add_endpoints(app: Flask, ready: Ready) -> None:
    @app.get("/healthz")
    def healthz() -> dict[str, str]:
        return {"status": "ok"}

    @app.get("/readyz")
    def readyz() -> Response | dict[str, str]:
        if _is_ready(ready):
            return {"status": "ready"}
        return unavailable("The service is up but cannot do its work yet, because its database does not answer. Wait.")

    @app.get("/metrics")
    def metrics() -> Response:
        return Response(generate_latest(_registry()), content_type=CONTENT_TYPE_LATEST)


def _is_ready(ready: Ready) -> bool:
    try:
        return ready() is not False
    except Exception as error:  # noqa: BLE001  # whatever it is, the answer is "not ready"
        _log.warning("not ready", reason=type(error).__name__)
        return False


def _registry() -> CollectorRegistry:
    if MULTIPROCESS_VARIABLE not in os.environ:
        return REGISTRY
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return registry
