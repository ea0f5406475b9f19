"""One log line and one measurement per request, and the trace that a request belongs to.

The line has the *rule* of the path (``/orders/<order_id>``), never its text, its query or its body: those can carry an
e-mail address or a secret.
"""

import re
import secrets
from contextlib import ExitStack

from flask import Flask, Response, g, request
from opentelemetry.trace import SpanKind
from prometheus_client import Histogram

from shared import tracing
from shared.clock import monotonic
from shared.logs import get_logger

_SECONDS = Histogram("http_request_seconds", "Time to answer an HTTP request.", ["method", "route", "status"])
_TRACEPARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")
_QUIET = frozenset({"/healthz", "/readyz", "/metrics"})

_log = get_logger(__name__)


def traceparent(header: str | None) -> str:
    """Return the request's trace context, or a fresh one where it has none that is well-formed (W3C Trace Context)."""
    if header and _TRACEPARENT.fullmatch(header):
        return header
    return f"00-{secrets.token_hex(16)}-{secrets.token_hex(8)}-01"


def log_requests(app: Flask) -> None:
    @app.before_request
    def start() -> None:
        g.started_at = monotonic()
        if _route() in _QUIET:
            return
        g.tracing = ExitStack()
        parent = traceparent(request.headers.get("traceparent"))
        g.tracing.enter_context(tracing.span(f"{request.method} {_route()}", SpanKind.SERVER, parent))

    @app.teardown_request
    def end(_error: BaseException | None) -> None:
        if "tracing" in g:
            g.tracing.close()

    @app.after_request
    def finish(response: Response) -> Response:
        seconds = monotonic() - g.started_at
        route = _route()
        _SECONDS.labels(request.method if request.url_rule else "(any)", route, response.status_code).observe(seconds)
        log = _log.debug if route in _QUIET else _log.info
        log(
            "request",
            method=request.method,
            route=route,
            status=response.status_code,
            seconds=round(seconds, 4),
        )
        return response


def _route() -> str:
    return request.url_rule.rule if request.url_rule else "(none)"
