"""Problem documents: every error of an HTTP API says what happened, why, and what to do next (RFC 9457).

Invariant: no answer carries a stack trace, a statement or a host name, whatever went wrong; those go to the log.
"""

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import msgspec
from flask import Flask, Response
from gunicorn.http.errors import ParseException  # type: ignore[import-untyped]
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from werkzeug.exceptions import HTTPException

from shared.database import is_away
from shared.logs import get_logger

MEDIA_TYPE = "application/problem+json"
RETRY_AFTER_SECONDS = 1

_log = get_logger(__name__)


def problem(
    status: int, title: str, detail: str, *, headers: Mapping[str, str] | None = None, **extra: Any
) -> Response:
    """Make a problem document.

    ``title`` is the same for every occurrence and gives the type
    (``Unknown order``: ``urn:problem-type:unknown-order``);
    ``detail`` is about this occurrence. ``extra`` become members of their own.
    """
    document = {"type": type_of(title), "title": title, "status": status, "detail": detail, **extra}
    return Response(msgspec.json.encode(document), status, headers, content_type=MEDIA_TYPE)


def type_of(title: str) -> str:
    """Return the problem type, a URI that programs compare, of a title that people read."""
    return "urn:problem-type:" + re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def unavailable(detail: str) -> Response:
    """Say that the same request may succeed soon."""
    return problem(503, "Service unavailable", detail, headers={"Retry-After": str(RETRY_AFTER_SECONDS)})


def answer_with_problems(app: Flask) -> None:
    """Turn whatever a view lets out into a problem document."""
    app.register_error_handler(HTTPException, _refused)
    app.register_error_handler(ParseException, _malformed)
    app.register_error_handler(SQLAlchemyError, _database_failed)
    app.register_error_handler(Exception, _failed)


def _refused(error: HTTPException) -> Response:
    status = error.code or 500
    kept = {
        name: value for name, value in error.get_headers() if name.lower() not in ("content-type", "content-length")
    }
    detail = error.description or HTTPStatus(status).phrase
    return problem(status, HTTPStatus(status).phrase, detail, headers=kept)


def _malformed(_error: ParseException) -> Response:
    # The server reads a body while the application asks for it, so a broken chunk turns up here.
    return problem(400, "Malformed body", "The body breaks the rules of HTTP's chunked coding. Send it whole.")


def _database_failed(error: SQLAlchemyError) -> Response:
    if not (is_away(error) or isinstance(error, PoolTimeoutError)):
        return _failed(error)
    # The reason alone: the full text would name the address, and the statement's parameters are a customer's.
    _log.warning("database away", reason=type(getattr(error, "orig", None) or error).__name__)
    return unavailable(
        "The database did not answer, so it is not known whether this request took effect. "
        "Send it again, unchanged and with the same Idempotency-Key if it had one."
    )


def _failed(error: Exception) -> Response:
    _log.error("request failed", exc_info=error)
    return problem(
        500,
        "Internal error",
        "The service failed in a way that it did not foresee; the log has the particulars. Nothing is wrong with the "
        "request: send it again, unchanged, and report this if it comes back.",
    )
