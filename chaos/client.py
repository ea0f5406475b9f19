"""A customer's HTTP client that knows three results: done, definitely not done, and anything may have happened.

A time-out, a lost connection and every 5xx are *info*: the request may have had its effect. Taking one of them for a
failure would let the judge look for orders that must not exist and do.
"""

import contextlib
import http.client
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from chaos.history import Result

IN_FLIGHT = 409
TOO_MANY = 429


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    result: Result
    status: int | None = None
    replayed: bool = False
    body: Mapping[str, Any] = field(default_factory=dict)


class Client:
    """One connection, kept open. For one thread."""

    def __init__(self, base_url: str, timeout_seconds: float = 5.0) -> None:
        parts = urlsplit(base_url)
        self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=timeout_seconds)

    def place(self, body: Mapping[str, Any], key: str) -> Answer:
        answer = self._post("/orders", json.dumps(body), {"Idempotency-Key": key})
        if answer.status == IN_FLIGHT:
            # The first request with this key is still being worked on.
            return Answer(result=Result.INFO, status=IN_FLIGHT)
        return answer

    def cancel(self, order_id: str) -> Answer:
        return self._post(f"/orders/{order_id}/cancel", "{}", {})

    def close(self) -> None:
        self._connection.close()

    def _post(self, path: str, body: str, headers: Mapping[str, str]) -> Answer:
        try:
            self._connection.request("POST", path, body, {"Content-Type": "application/json", **headers})
            response = self._connection.getresponse()
            text = response.read()
        except (OSError, http.client.HTTPException):
            self._connection.close()
            return Answer(result=Result.INFO)
        document: dict[str, Any] = {}
        with contextlib.suppress(ValueError):
            document = json.loads(text)
        return Answer(
            result=_result(response.status),
            status=response.status,
            replayed=response.headers.get("Idempotency-Replayed") == "true",
            body=document,
        )


def _result(status: int) -> Result:
    if 200 <= status < 300:
        return Result.OK
    if status >= 500 or status == TOO_MANY:
        return Result.INFO
    return Result.FAIL
