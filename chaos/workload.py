"""Customers: place the planned orders at their pace and keep a journal of every attempt, before and after.

Invariant: an attempt is in the journal, as *info*, before its first byte leaves; the answer replaces it under the same
number. So a run that is killed in between leaves an open question and never a wrong statement. What may have happened
is asked again with the same Idempotency-Key, until there is an answer or the customer's patience is over.

The pace is open-loop: an order that is late does not delay the next. No promise about which thread sends what.
"""

import heapq
import itertools
import queue
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from chaos import intents, plan
from chaos.client import Answer, Client
from chaos.history import Intent, Result
from chaos.journal import Journal
from chaos.load import Tally
from chaos.plan import PlannedOrder, Shape
from chaos.scenario import Workload

PATIENCE_SECONDS = 60.0
LATER_SECONDS = 2.0
LONGEST_LOAD = 6
"""The load may become so many times larger than planned while an act is still going on."""
TRICKLE = 4.0
"""How much slower orders come once the planned ones are in: enough to have work in flight."""


class Customers:
    """The load of one run. ``run`` blocks until every order and everything that follows it has its answer."""

    def __init__(self, workload: Workload, seed: int, base_url: str, journal: Path) -> None:
        self.tally = Tally(workload.orders)
        self._workload = workload
        self._orders = plan.orders(workload, seed)
        self._base_url = base_url
        self._journal = Journal[Intent](journal)
        self._numbers = itertools.count(1)
        self._writing = threading.Lock()
        self._due: list[tuple[float, int, Callable[[Client], None]]] = []
        self._due_order = itertools.count()
        self._scheduling = threading.Condition()
        self._work: queue.Queue[Callable[[Client], None] | None] = queue.Queue()
        self._abandoned = threading.Event()
        self._failures: list[BaseException] = []

    def run(self, still_needed: Callable[[], bool]) -> None:
        """Place the planned orders, and go on at a slower pace for as long as more are needed."""
        workers = [
            threading.Thread(target=self._serve, name=f"customer-{n}", daemon=True)
            for n in range(self._workload.threads)
        ]
        for worker in workers:
            worker.start()
        try:
            self._pace(still_needed)
            self._flush_later()
            self._work.join()
        finally:
            for _worker in workers:
                self._work.put(None)
            for worker in workers:
                worker.join(timeout=10.0)
            self._journal.close()
        if self._failures:
            raise self._failures[0]

    def abandon(self) -> None:
        """Stop at once: nothing new is sent, nothing is asked again."""
        self._abandoned.set()

    # Pace

    def _pace(self, still_needed: Callable[[], bool]) -> None:
        moment, beat = time.monotonic(), 1 / self._workload.rate_per_second
        planned = self.tally.planned
        for number, order in enumerate(self._orders):
            if number >= planned * LONGEST_LOAD or (number >= planned and not still_needed()):
                return
            self._wait_until(moment)
            if self._abandoned.is_set():
                return
            self._begin(order)
            moment += beat if number < planned else beat * TRICKLE

    def _wait_until(self, moment: float) -> None:
        """Hand out what falls due in the meantime."""
        while not self._abandoned.is_set():
            with self._scheduling:
                while self._due and self._due[0][0] <= time.monotonic():
                    self._work.put(heapq.heappop(self._due)[2])
                next_due = min(moment, self._due[0][0] if self._due else moment)
            remaining = next_due - time.monotonic()
            if moment <= time.monotonic():
                return
            self._abandoned.wait(max(0.0, min(remaining, 0.05)))

    def _flush_later(self) -> None:
        """What was put off falls due now; it may put off nothing more."""
        self._work.join()
        with self._scheduling:
            while self._due:
                self._work.put(heapq.heappop(self._due)[2])

    def _later(self, seconds: float, task: Callable[[Client], None]) -> None:
        with self._scheduling:
            heapq.heappush(self._due, (time.monotonic() + seconds, next(self._due_order), task))

    def _begin(self, order: PlannedOrder) -> None:
        copies = 3 if order.shape is Shape.SAME_KEY_AT_ONCE else 1
        for copy in range(copies):
            self._work.put(partial(self._place, order=order, first=copy == 0))

    def _serve(self) -> None:
        client = Client(self._base_url)
        while (task := self._work.get()) is not None:
            try:
                if not self._abandoned.is_set():
                    task(client)
            except Exception as error:  # noqa: BLE001 - kept for the thread that waits for all of them
                self._failures.append(error)
                self._abandoned.set()
            finally:
                self._work.task_done()
        client.close()

    # What a customer does

    def _place(self, client: Client, order: PlannedOrder, first: bool) -> None:
        answer = self._insist(client, order, None)
        if answer.result is not Result.OK or not first:
            return
        order_id = str(answer.body["order_id"])
        with self.tally.lock:
            self.tally.placed += 1
            if order.shape is Shape.OVERSIZED:
                self.tally.poisoned.append(order_id)
            if order.shape is Shape.PLAIN and self.tally.first_order_id is None:
                self.tally.first_order_id = order_id
        if order.shape is Shape.CANCELLED_AT_ONCE:
            self._cancel(client, order, order_id)
        elif order.shape is Shape.CANCELLED_LATER:
            self._later(LATER_SECONDS, partial(self._cancel, order=order, order_id=order_id))
        elif order.shape is Shape.SAME_KEY_OTHER_BODY:
            self._insist(client, plan.with_another_body(order), None)
        elif order.shape is Shape.SAME_KEY_LATER:
            self._later(LATER_SECONDS, partial(self._place, order=order, first=False))

    def _cancel(self, client: Client, order: PlannedOrder, order_id: str) -> None:
        if self._insist(client, order, order_id).result is Result.OK:
            with self.tally.lock:
                self.tally.cancelled += 1

    def _insist(self, client: Client, order: PlannedOrder, order_id: str | None) -> Answer:
        """Ask until there is a definite answer. The same key makes asking again harmless."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        pause = 0.1
        while True:
            answer = self._attempt(client, order, order_id)
            if answer.result is not Result.INFO or time.monotonic() > deadline or self._abandoned.is_set():
                return answer
            with self.tally.lock:
                self.tally.asked_again += 1
            self._abandoned.wait(pause)
            pause = min(pause * 2, 1.0)

    def _attempt(self, client: Client, order: PlannedOrder, order_id: str | None) -> Answer:
        intent = intents.attempt(next(self._numbers), order, order_id)
        self._write(intent)
        answer = client.place(order.body, order.key) if order_id is None else client.cancel(order_id)
        self._write(intents.answered(intent, answer))
        if answer.replayed:
            with self.tally.lock:
                self.tally.replayed += 1
        return answer

    def _write(self, intent: Intent) -> None:
        with self._writing:
            self._journal.append(intent)
