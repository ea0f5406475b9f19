"""Named points between two durable actions, where a crash is worth rehearsing.

``reach(point)`` does nothing until a hook is armed, and services never arm one: only the composition root of the chaos
package does. So no environment variable can break a plain deployment. The cost when unarmed is one comparison.

The idea of named points with actions chosen from outside: FreeBSD fail(9).
"""

from collections.abc import Callable
from enum import StrEnum


class Failpoint(StrEnum):
    """Where a process may be made to die, hang or wait."""

    ORDERS_AFTER_COMMIT_BEFORE_RESPONSE = "orders.after_commit_before_response"
    """The order is durable, its client has heard nothing."""
    RELAY_AFTER_READ_BEFORE_PUBLISH = "relay.after_read_before_publish"
    """A chunk is in memory, nothing of it is in the log."""
    RELAY_AFTER_PUBLISH_BEFORE_SETTLE = "relay.after_publish_before_settle"
    """A chunk is in the log, the position does not know it: it will be published again."""
    CONSUMER_AFTER_POLL_BEFORE_TRANSACTION = "consumer.after_poll_before_transaction"
    """A batch is in memory, nothing of it is applied."""
    CONSUMER_AFTER_EFFECT_BEFORE_COMMIT = "consumer.after_effect_before_commit"
    """Inbox and effect are written and not yet committed."""
    CONSUMER_AFTER_COMMIT_BEFORE_OFFSET = "consumer.after_commit_before_offset"
    """The effect is durable, the offset is not: the batch will be delivered again."""
    EMAIL_AFTER_SEND_BEFORE_RECORD = "email.after_send_before_record"
    """The mail server has the message, the ledger does not know it."""


Hook = Callable[[Failpoint], None]

_hook: Hook | None = None


def reach(point: Failpoint) -> None:
    if _hook is not None:
        _hook(point)


def arm(hook: Hook) -> None:
    """Have ``hook`` called at every point from now on. For the chaos package and tests only."""
    global _hook
    _hook = hook


def disarm() -> None:
    global _hook
    _hook = None
