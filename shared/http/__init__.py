"""What every HTTP API of the system does alike: problem documents, health, metrics, bearer tokens, one server.

    problems    RFC 9457 documents, also for the errors that no view foresaw
    endpoints   /healthz, /readyz, /metrics
    access      one log line and one measurement per request; the trace context of a request
    tokens      the bearer token of admin endpoints
    server      gunicorn, everything built after the fork

An API's own paths and words stay in its service.
"""

from flask import Flask

from shared.http.access import log_requests, traceparent
from shared.http.endpoints import Ready, add_endpoints
from shared.http.problems import answer_with_problems, problem
from shared.http.server import serve
from shared.http.tokens import require_token

__all__ = ["install", "problem", "require_token", "serve", "traceparent"]


def install(app: Flask, ready: Ready) -> None:
    """Give an application what all of them have. ``ready`` raises or returns False while requests cannot be served."""
    answer_with_problems(app)
    add_endpoints(app, ready)
    log_requests(app)
