"""Close a client of Kafka, and do not wait for ever until it has.

The client's own ``close`` leaves the group and waits for the broker's answers. It has no time limit, and no signal
reaches a thread that is inside of it. A classic group keeps it waiting while its join is under way, which is answered
when every other member has come again: a busy one may take ``max.poll.interval.ms``. In rare cases it does not come
back at all. So it runs in a thread of its own, which ends with the process at the latest.

Not promised: that the group was told. Who did not leave is put out when its session ends, and others have its
partitions then.
"""

import threading
from typing import Final

from confluent_kafka import Consumer

from shared.logs import get_logger

LEAVE_SECONDS: Final = 4.0
"""With the time for its last offsets before it, less than any supervisor here waits until it kills."""

log = get_logger(__name__)


def leave(consumer: Consumer, seconds: float = LEAVE_SECONDS) -> bool:
    """Close a consumer; its rebalance callbacks may run in another thread meanwhile. Raises what closing raises.

    Returns whether it was closed in time. One that was not must not be used any more.
    """
    raised: list[BaseException] = []

    def close() -> None:
        try:
            # By its own name: a member of ours has this function as its close.
            Consumer.close(consumer)
        except BaseException as error:  # noqa: BLE001  # raised below, where somebody waits for it
            raised.append(error)

    closing = threading.Thread(target=close, name="leave", daemon=True)
    closing.start()
    closing.join(seconds)
    if closing.is_alive():
        log.error(
            "the client of Kafka does not close, and is left as it is",
            after_seconds=seconds,
            detail="The group gives its partitions to others when its session ends. Nothing is lost: offsets are "
            "committed after their effects, and what comes again the inbox knows.",
        )
        return False
    if raised:
        raise raised[0]
    return True
