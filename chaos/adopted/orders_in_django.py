"""``examples.orders_in_django``, killed where scenarios kill: after the commit, before the answer."""

import os
from collections.abc import Callable, Iterable
from typing import Any

from examples.orders_in_django.__main__ import build
from shared import logs
from shared.failpoints import Failpoint, reach
from shared.http.server import serve

Wsgi = Callable[..., Iterable[bytes]]


def reaching(app: Wsgi) -> Wsgi:
    """Lay the failpoint around an application whose answer to a placed order is ready and not yet sent."""

    def serve_request(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        answer = app(environ, start_response)
        if environ["REQUEST_METHOD"] == "POST" and environ["PATH_INFO"] == "/orders":
            reach(Failpoint.ORDERS_AFTER_COMMIT_BEFORE_RESPONSE)
        return answer

    return serve_request


def main() -> None:
    logs.configure(os.environ["INSTANCE"], "INFO")
    serve(lambda: reaching(build()), os.environ["HTTP_HOST"], int(os.environ["HTTP_PORT"]), workers=1)


if __name__ == "__main__":
    main()
