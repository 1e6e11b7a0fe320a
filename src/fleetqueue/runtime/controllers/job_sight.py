"""A Job and its pods as one sync sees them: who is active, who ended, which indexes are done."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.resources import Object
from fleetqueue.runtime import pod_facts
from fleetqueue.runtime.controllers import job_failure_policy
from fleetqueue.runtime.controllers.job_backoff import finished_at
from fleetqueue.runtime.controllers.job_failure_policy import Verdict
from fleetqueue.runtime.controllers.job_indexes import Indexes

FINALIZER = "batch.kubernetes.io/job-tracking"
INDEX = "batch.kubernetes.io/job-completion-index"
FAILURE_COUNT = "batch.kubernetes.io/job-index-failure-count"
IGNORED_FAILURE_COUNT = "batch.kubernetes.io/job-index-ignored-failure-count"


@dataclass
class Sight:
    """Read once; nothing here changes an object."""

    job: Object
    pods: Sequence[Object]
    now: datetime
    spec: Object = field(init=False)
    status: Object = field(init=False)

    def __post_init__(self) -> None:
        self.spec = self.job["spec"]
        self.status = self.job.get("status") or {}

    @property
    def is_indexed(self) -> bool:
        return bool(self.spec.get("completionMode") == "Indexed")

    @property
    def is_suspended(self) -> bool:
        return bool(self.spec.get("suspend"))

    @property
    def completions(self) -> int | None:
        found: int | None = self.spec.get("completions")
        return found

    @property
    def limit_per_index(self) -> int | None:
        found: int | None = self.spec.get("backoffLimitPerIndex")
        return found

    @property
    def replaces_failed_only(self) -> bool:
        """Whether a pod that is on its way out still holds its place."""
        by_policy = self.spec.get("podReplacementPolicy") == "Failed"
        return by_policy or self.spec.get("podFailurePolicy") is not None

    # Pods

    @cached_property
    def active(self) -> list[Object]:
        return [pod for pod in self.pods if pod_facts.is_active(pod)]

    @cached_property
    def terminating(self) -> list[Object]:
        return [pod for pod in self.pods if pod_facts.is_terminating(pod)]

    def is_failed(self, pod: Object) -> bool:
        """A deleted pod counts too, unless only what has ended is replaced."""
        if pod_facts.phase(pod) == "Failed":
            return True
        if self.replaces_failed_only:
            return False
        return is_deleting(pod) and pod_facts.phase(pod) != "Succeeded"

    def judge(self, pod: Object) -> Verdict:
        return job_failure_policy.judge(self.spec.get("podFailurePolicy"), pod)

    def has_place(self, pod: Object) -> bool:
        """Whether its index, where it needs one, is one of the Job's."""
        return not self.is_indexed or 0 <= index_of(pod) < (self.completions or 0)

    # Counting

    @cached_property
    def uncounted(self) -> tuple[set[str], set[str]]:
        """The uids in the status of pods that succeeded, and of those that failed."""
        found = self.status.get("uncountedTerminatedPods") or {}
        return set(found.get("succeeded") or ()), set(found.get("failed") or ())

    @cached_property
    def new_succeeded(self) -> list[Object]:
        return [
            pod
            for pod in self._uncounted_pods(self.uncounted[0])
            if pod_facts.phase(pod) == "Succeeded"
        ]

    @cached_property
    def new_failed(self) -> list[Object]:
        return [pod for pod in self._uncounted_pods(self.uncounted[1]) if self.is_failed(pod)]

    def _uncounted_pods(self, listed: set[str]) -> Iterable[Object]:
        for pod in self.pods:
            if is_tracked(pod) and pod["metadata"]["uid"] not in listed and self.has_place(pod):
                yield pod

    @property
    def succeeded(self) -> int:
        if self.is_indexed:
            return len(self.succeeded_indexes)
        counted = (self.status.get("succeeded") or 0) + len(self.uncounted[0])
        return counted + len(self.new_succeeded)

    @property
    def failed(self) -> int:
        counted = (self.status.get("failed") or 0) + len(self.uncounted[1])
        return counted + sum(self.judge(pod).counts for pod in self.new_failed)

    # Indexes

    @cached_property
    def succeeded_indexes_before(self) -> Indexes:
        return Indexes.parse(self.status.get("completedIndexes"), self.completions or 0)

    @cached_property
    def succeeded_indexes(self) -> Indexes:
        return self.succeeded_indexes_before | Indexes(
            index_of(pod)
            for pod in self.pods
            if pod_facts.phase(pod) == "Succeeded" and self.has_place(pod) and is_tracked(pod)
        )

    @cached_property
    def failed_indexes(self) -> Indexes | None:
        """None where indexes do not fail one by one."""
        if not self.is_indexed or self.limit_per_index is None:
            return None
        return Indexes.parse(self.status.get("failedIndexes"), self.completions or 0) | Indexes(
            index_of(pod)
            for pod in self.pods
            if self.has_place(pod) and is_tracked(pod) and self._fails_its_index(pod)
        )

    def _fails_its_index(self, pod: Object) -> bool:
        if not self.is_failed(pod):
            return False
        verdict = self.judge(pod)
        if verdict.action == job_failure_policy.FAIL_INDEX:
            return True
        return verdict.counts and failure_count(pod) >= (self.limit_per_index or 0)

    @cached_property
    def awaiting_replacement(self) -> dict[int, Object]:
        """The last failed pod of each open index: the next pod takes over its failure count."""
        found: dict[int, Object] = {}
        if self.failed_indexes is None:
            return found
        closed = self.succeeded_indexes | self.failed_indexes | Indexes(map(index_of, self.active))
        for pod in self.pods:
            index = index_of(pod)
            if not (is_tracked(pod) and self.has_place(pod) and self.is_failed(pod)):
                continue
            if index not in closed and (index not in found or _is_later(pod, found[index])):
                found[index] = pod
        return found


def is_tracked(pod: Object) -> bool:
    return FINALIZER in (pod["metadata"].get("finalizers") or ())


def index_of(pod: Object) -> int:
    """Its completion index; -1 where it has none."""
    return _number((pod["metadata"].get("annotations") or {}).get(INDEX), -1)


def failure_count(pod: Object) -> int:
    return _number((pod["metadata"].get("annotations") or {}).get(FAILURE_COUNT), 0)


def ignored_failure_count(pod: Object) -> int:
    return _number((pod["metadata"].get("annotations") or {}).get(IGNORED_FAILURE_COUNT), 0)


def all_failure_count(pod: Object) -> int:
    return failure_count(pod) + ignored_failure_count(pod)


def _is_later(pod: Object, other: Object) -> bool:
    more = all_failure_count(pod) >= all_failure_count(other)
    return more and finished_at(pod) >= finished_at(other)


def _number(text: Any, otherwise: int) -> int:
    try:
        number = int(text)
    except (TypeError, ValueError):
        return otherwise
    return number if number >= 0 else otherwise
