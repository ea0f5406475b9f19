"""Take what a consumer has, without waiting for more than there is.

The client's own ``consume(n, timeout)`` waits for n messages *or* the whole time: at the end of a log, always for the
time. Here the time is waited for the first message alone.
"""

from confluent_kafka import Consumer, Message


def take(consumer: Consumer, most: int, wait_seconds: float) -> list[Message]:
    """Return messages that have arrived, events of the client among them; none after so many seconds of silence."""
    first = consumer.poll(wait_seconds)
    return [] if first is None else [first, *consumer.consume(most - 1, 0)]
