"""Keeps what LocalQueues used in the past, where their workloads are ordered by that."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from fleetqueue.api.meta import Key
from fleetqueue.api.times import format_time, parse_time
from fleetqueue.queueing.amounts import Requests
from fleetqueue.queueing.settings import UsageSharing
from fleetqueue.queueing.usage_history import (
    QueueHistory,
    entry_penalty,
    print_consumed,
    read_consumed,
)
from fleetqueue.queueing.workload import Workload

Json = dict[str, Any]


class UsageKeeper:
    """One for all LocalQueues. `used` says what a queue's admitted workloads use now; `changed` is
    called with a queue whose past weighs differently from now on.
    """

    def __init__(
        self,
        settings: UsageSharing,
        now: Callable[[], datetime],
        used: Callable[[Key], Requests],
        changed: Callable[[Key, float], None],
    ) -> None:
        self.settings = settings
        self._now = now
        self._used = used
        self._changed = changed
        self._histories: dict[Key, QueueHistory] = {}
        self._weights: dict[Key, float] = {}
        self._homes: dict[Key, Key] = {}

    def put_queue(self, queue: Key, weight: float) -> None:
        if self._weights.get(queue) != weight:
            self._weights[queue] = weight
            self._tell(queue)

    def learn(self, queue: Key, known: Json | None) -> None:
        """`known` is the `fairSharing` of the LocalQueue's status: who kept it before us may know
        more of the past.
        """
        told, history = _read(known), self._histories.get(queue)
        if told.updated_at is None:
            return
        if history is None:
            history = self._histories[queue] = QueueHistory()
        if history.updated_at is None or history.updated_at < told.updated_at:
            history.consumed, history.updated_at = told.consumed, told.updated_at
            if queue in self._weights:
                self._tell(queue)

    def remove_queue(self, queue: Key) -> None:
        self._histories.pop(queue, None)
        self._weights.pop(queue, None)
        for workload in [each for each, home in self._homes.items() if home == queue]:
            del self._homes[workload]

    def reserve(self, workload: Workload, covered: frozenset[str] | None) -> None:
        """What got quota weighs at once, before its pods use anything."""
        queue = Key(workload.key.namespace, workload.local_queue)
        if queue not in self._weights:
            return  # It went while the workload was being tried.
        requests: Requests = {}
        for each in workload.assignments:
            for resource, amount in each.usage.items():
                requests[resource] = requests.get(resource, 0) + amount
        penalty = entry_penalty(requests, self.settings, covered)
        self._history(queue).reserve(workload.key, penalty)
        self._homes[workload.key] = queue
        self._tell(queue)

    def admit(self, workload: Workload) -> None:
        queue = self._homes.pop(workload.key, None)
        if queue is None:
            return
        history = self._history(queue)
        if history.admit(workload.key, self._used(queue), self._now(), self.settings):
            self._tell(queue)

    def drop(self, workload: Key) -> None:
        queue = self._homes.pop(workload, None)
        if queue is not None and self._history(queue).drop(workload):
            self._tell(queue)

    def sample(self, queue: Key, known: Json | None) -> Json:
        """The `fairSharing` of a LocalQueue's status, brought up to now where it is time; `known`
        is what the status says.
        """
        self.learn(queue, known)
        history = self._history(queue)
        if history.is_due(self._now(), self.settings):
            history.sample(self._used(queue), self._now(), self.settings)
            self._tell(queue)
        assert history.updated_at is not None
        past = {
            "consumedResources": print_consumed(history.consumed),
            "lastUpdate": format_time(history.updated_at),
        }
        return {"weightedShare": 0, "admissionFairSharingStatus": past}

    def usage(self, queue: Key) -> float:
        history = self._histories.get(queue) or QueueHistory()
        return history.usage(self.settings, self._weights.get(queue, 1.0))

    def _history(self, queue: Key) -> QueueHistory:
        return self._histories.setdefault(queue, QueueHistory())

    def _tell(self, queue: Key) -> None:
        self._changed(queue, self.usage(queue))


def _read(known: Json | None) -> QueueHistory:
    past = (known or {}).get("admissionFairSharingStatus") or {}
    if not past.get("lastUpdate"):
        return QueueHistory()
    consumed = read_consumed(past.get("consumedResources") or {})
    return QueueHistory(consumed, parse_time(past["lastUpdate"]))
