"""Celery's Redis transport, with one repair that a Redis restart needs.

An acknowledgement (or rejection) that fails because Redis is away keeps its place in the prefetch window for ever. The
window here is one message, so the worker would never ask for another, would never notice that the connection is gone,
and would look alive until somebody restarts it. With the place given back it asks again, meets the dead connection, and
reconnects.

Nothing is lost by it: Redis still holds the message as unacknowledged and delivers it again after the visibility
timeout, and the ledger knows that its mail has been sent.
"""

from kombu.transport import redis, virtual


class QoS(redis.QoS):
    """The window of messages that are delivered and not acknowledged."""

    def ack(self, delivery_tag: str) -> None:
        try:
            super().ack(delivery_tag)  # type: ignore[no-untyped-call]  # kombu ships no types
        except Exception:
            self._give_back_place(delivery_tag)
            raise

    def reject(self, delivery_tag: str, requeue: bool = False) -> None:
        try:
            super().reject(delivery_tag, requeue)  # type: ignore[no-untyped-call]  # kombu ships no types
        except Exception:
            self._give_back_place(delivery_tag)
            raise

    def _give_back_place(self, delivery_tag: str) -> None:
        virtual.QoS.ack(self, delivery_tag)  # type: ignore[no-untyped-call]  # kombu ships no types


class Channel(redis.Channel):
    QoS = QoS


class Transport(redis.Transport):
    Channel = Channel
