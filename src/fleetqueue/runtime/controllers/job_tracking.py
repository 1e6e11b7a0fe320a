"""Counts each pod of a Job once: its uid goes into the status, then its finalizer goes away, then
it moves from the list into the counter. A crash between two of these loses and doubles nothing."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from fleetqueue.kube.calls import PatchType
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.plan import Patch
from fleetqueue.kube.resources import Object
from fleetqueue.runtime import pod_facts
from fleetqueue.runtime.controllers.job_indexes import Indexes
from fleetqueue.runtime.controllers.job_outcome import Outcome
from fleetqueue.runtime.controllers.job_sight import FINALIZER, Sight, index_of, is_tracked

UNCOUNTED_MAX = 500
"""So many uids at most are in a status at once."""


@dataclass(slots=True)
class Tally:
    """The numbers of a status on the way from one write to the next."""

    succeeded: int
    failed: int
    uncounted_succeeded: list[str]
    uncounted_failed: list[str]
    succeeded_indexes: Indexes | None = None
    failed_indexes: Indexes | None = None
    released: list[Object] = field(default_factory=list)
    """Pods that lose their finalizer now."""
    is_full: bool = False
    """Whether pods are left for the next time."""

    def fields(self) -> Object:
        uncounted = {
            "succeeded": list(self.uncounted_succeeded),
            "failed": list(self.uncounted_failed),
        }
        made: Object = {
            "succeeded": self.succeeded,
            "failed": self.failed,
            "uncountedTerminatedPods": {name: uids for name, uids in uncounted.items() if uids},
        }
        if self.succeeded_indexes is not None:
            made["completedIndexes"] = str(self.succeeded_indexes)
            if self.failed_indexes is not None:
                made["failedIndexes"] = str(self.failed_indexes)
        return made

    def settle(self, tracked: Iterable[str]) -> None:
        """Moves the uids of pods that have no finalizer any more into the counters."""
        kept = set(tracked)
        succeeded = [uid for uid in self.uncounted_succeeded if uid in kept]
        failed = [uid for uid in self.uncounted_failed if uid in kept]
        self.succeeded += len(self.uncounted_succeeded) - len(succeeded)
        self.failed += len(self.uncounted_failed) - len(failed)
        self.uncounted_succeeded, self.uncounted_failed = succeeded, failed


def tally(sight: Sight, outcome: Outcome | None) -> Tally:
    """What the status says before the finalizers go, and which go."""
    listed = sight.status.get("uncountedTerminatedPods") or {}
    made = Tally(
        succeeded=sight.status.get("succeeded") or 0,
        failed=sight.status.get("failed") or 0,
        uncounted_succeeded=list(listed.get("succeeded") or ()),
        uncounted_failed=list(listed.get("failed") or ()),
    )
    made.settle(pod["metadata"]["uid"] for pod in sight.pods if is_tracked(pod))
    pods = sorted(sight.pods, key=index_of) if sight.is_indexed else sight.pods
    for pod in pods:
        if not is_tracked(pod) or not _may_go(sight, outcome, pod):
            continue
        made.released.append(pod)
        _count(sight, outcome, pod, made)
        if len(made.uncounted_succeeded) + len(made.uncounted_failed) >= UNCOUNTED_MAX:
            made.is_full = True
            break
    if sight.is_indexed:
        made.succeeded_indexes = sight.succeeded_indexes
        made.failed_indexes = sight.failed_indexes
        made.succeeded = len(sight.succeeded_indexes)
    return made


def release(pod: Object) -> Patch:
    """Takes the finalizer away, whatever others have put beside it meanwhile."""
    patch = {"metadata": {"$deleteFromPrimitiveList/finalizers": [FINALIZER]}}
    return Patch(pod, patch, type=PatchType.STRATEGIC)


def _may_go(sight: Sight, outcome: Outcome | None, pod: Object) -> bool:
    if is_deleting(sight.job) or outcome is not None or pod_facts.phase(pod) == "Succeeded":
        return True
    if not sight.is_failed(pod):
        return False
    # The last failed pod of an index stays until the next one has taken over its failure count.
    return sight.awaiting_replacement.get(index_of(pod)) is not pod


def _count(sight: Sight, outcome: Outcome | None, pod: Object, made: Tally) -> None:
    uid = pod["metadata"]["uid"]
    succeeded, failed = sight.uncounted
    if pod_facts.phase(pod) == "Succeeded" and uid not in failed:
        # In an Indexed Job the index itself keeps a pod from being counted twice.
        if not sight.is_indexed and uid not in succeeded:
            made.uncounted_succeeded.append(uid)
        return
    # When a Job fails, the pods that were still at work fail with it.
    fails = sight.is_failed(pod) or (outcome is not None and not outcome.is_success)
    if fails and uid not in failed and sight.has_place(pod) and sight.judge(pod).counts:
        made.uncounted_failed.append(uid)
