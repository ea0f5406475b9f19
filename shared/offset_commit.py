"""Commit a consumer's offsets, and wait for the answer, but not for ever.

A member that the broker puts out of its group while a commit is on its way may never get an answer: the client waits
for the group to take it in again, for which somebody has to poll, and whoever would poll waits for the commit. So the
call is made in a thread of its own, and the consumer goes on when its time is up.

Invariant: at most one commit is waited for, so an older one never overtakes a newer one. Not promised: that the offsets
are committed. They may stay behind, and what is delivered again for it the inbox knows.
"""

import threading
from collections.abc import Sequence
from typing import Final

from confluent_kafka import Consumer, KafkaException, TopicPartition

from shared.clock import monotonic

ANSWER_SECONDS: Final = 5.0
GIVEN_UP_SECONDS: Final = 30.0
"""After which an unanswered commit is no longer waited for, and another may be sent."""


class CommitUnansweredError(Exception):
    """The broker has said neither yes nor no."""


class OffsetCommit:
    """For one consumer, called by its one thread."""

    def __init__(self, kafka: Consumer, answer_seconds: float = ANSWER_SECONDS) -> None:
        self._kafka = kafka
        self._answer_seconds = answer_seconds
        self._pending: _Attempt | None = None

    def __call__(self, offsets: Sequence[TopicPartition]) -> None:
        """Commit. Raises KafkaException when refused, CommitUnansweredError when nothing is known within the time."""
        if self._pending is not None and self._pending.may_still_answer():
            raise CommitUnansweredError("an earlier commit has not been answered yet")
        self._pending = _Attempt(self._kafka, list(offsets))
        if not self._pending.answered(self._answer_seconds):
            raise CommitUnansweredError(f"no answer within {self._answer_seconds:g} s")
        error, self._pending = self._pending.error, None
        if error is not None:
            raise error

    def settle(self) -> None:
        """Let what is on its way come to an end before the consumer is closed under it."""
        if self._pending is not None:
            self._pending.answered(self._answer_seconds)


class _Attempt:
    def __init__(self, kafka: Consumer, offsets: list[TopicPartition]) -> None:
        self.error: Exception | None = None
        self._kafka = kafka
        self._offsets = offsets
        self._begun = monotonic()
        self._thread = threading.Thread(target=self._run, name="offset-commit", daemon=True)
        self._thread.start()

    def answered(self, seconds: float) -> bool:
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def may_still_answer(self) -> bool:
        return self._thread.is_alive() and monotonic() - self._begun < GIVEN_UP_SECONDS

    def _run(self) -> None:
        try:
            self._kafka.commit(offsets=self._offsets, asynchronous=False)
        except (KafkaException, RuntimeError) as error:  # RuntimeError: closed meanwhile
            self.error = error
