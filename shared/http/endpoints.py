"""Health, readiness and metrics.

``/healthz`` says that the process answers, ``/readyz`` that it can do its work now: a supervisor restarts on the first
and a load balancer looks at the second. A database that is away makes a service unready, never unhealthy.
"""

import os
from collections.abc import Callable

from flask import Flask, Response
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from shared.errors import OnceError
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
        why_not = _why_not_ready(ready)
        return {"status": "ready"} if why_not is None else unavailable(why_not)

    @app.get("/metrics")
    def metrics() -> Response:
        return Response(generate_latest(_registry()), content_type=CONTENT_TYPE_LATEST)


def _why_not_ready(ready: Ready) -> str | None:
    try:
        return None if ready() is not False else _NO_DATABASE
    except OnceError as error:  # it has words of its own
        _log.warning("not ready", reason=type(error).__name__)
        return str(error)
    except Exception as error:  # noqa: BLE001  # whatever it is, the answer is "not ready"
        _log.warning("not ready", reason=type(error).__name__)
        return _NO_DATABASE


_NO_DATABASE = "The service is up but cannot do its work yet, because its database does not answer. Wait."


def _registry() -> CollectorRegistry:
    if MULTIPROCESS_VARIABLE not in os.environ:
        return REGISTRY
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return registry
