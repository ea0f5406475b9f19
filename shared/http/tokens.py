"""The bearer token that admin endpoints ask for (RFC 6750).

Not promised: users or rights. There is one secret per stack, in a file that only its owner reads; whoever has it is an
administrator.
"""

import hmac
from collections.abc import Callable

from flask import Response, request

from shared.errors import ConfigurationError
from shared.http.problems import problem
from shared.settings import read_secret


def require_token(path: str) -> Callable[[], Response | None]:
    """Return a ``before_request`` function that lets only the bearer of the file's token pass.

    Raises ConfigurationError when the file cannot be read or is empty: an empty token would let everybody in.
    """
    expected = read_secret(path).encode()
    if not expected:
        raise ConfigurationError(f"The token file {path} is empty. Write a long random token into it and start again.")

    def check() -> Response | None:
        scheme, _, given = request.headers.get("Authorization", "").partition(" ")
        # The time of the comparison does not depend on how much of the token is right.
        if scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), expected):
            return None
        return problem(
            401,
            "Token required",
            "Admin endpoints want the header 'Authorization: Bearer TOKEN' with the token from ADMIN_TOKEN_FILE.",
            headers={"WWW-Authenticate": 'Bearer realm="admin"'},
        )

    return check
