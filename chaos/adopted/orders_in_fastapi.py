"""``examples.orders_in_fastapi``, killed where scenarios kill: after the commit, before the answer."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from examples.orders_in_fastapi.__main__ import build_from_environment, serve
from shared.failpoints import Failpoint, reach

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]
Asgi = Callable[[Message, Callable[[], Awaitable[Message]], Send], Awaitable[None]]


def reaching(app: Asgi) -> Asgi:
    """Lay the failpoint around an application whose answer to a placed order is ready and not yet sent."""

    async def serve_request(scope: Message, receive: Callable[[], Awaitable[Message]], send: Send) -> None:
        async def send_later(message: Message) -> None:
            if message["type"] == "http.response.start":
                reach(Failpoint.ORDERS_AFTER_COMMIT_BEFORE_RESPONSE)
            await send(message)

        placing = scope.get("method") == "POST" and scope.get("path") == "/orders"
        await app(scope, receive, send_later if placing else send)

    return serve_request


if __name__ == "__main__":
    serve(reaching(build_from_environment()))
