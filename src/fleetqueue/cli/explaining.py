"""What `explain` says of a workload: whether it runs, and if it does not, who has to do what first;
in sentences, with the numbers of the last verdict.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fleetqueue.api.kueue import admission_status as status
from fleetqueue.cli.kueuectl.tables import render

Object = dict[str, Any]
INDENT = "  "
HEADER = ("POD SET", "FLAVOR", "RESOURCE", "NEEDED", "FREE", "BORROWABLE", "WHY NOT")
FITS = "Fit"
FAILED = "Failed"
REFUSED = ("Rejected", "Retry")


@dataclass(frozen=True, slots=True)
class Place:
    """Of one that waits, in its LocalQueue and in all of its ClusterQueue; the first is 1."""

    number: int
    waiting: int
    in_cluster_queue: int


@dataclass(frozen=True, slots=True)
class Known:
    """All that one cluster says of a workload."""

    workload: Object
    verdict: Object = field(default_factory=dict)
    """The WorkloadExplanation, where there is one."""
    place: Place | None = None
    pods: Sequence[str] = ()
    """Why its pods are not ready, or failed."""
    are_pods_ready: bool | None = None
    """As the pods themselves say, where they were looked at."""


Asked = Known | str
"""What a worker says of its copy; or why nobody could ask it."""


def explain(
    title: str,
    known: Known,
    workers: Mapping[str, Asked],
    missing: Mapping[str, Sequence[str]] = {},
) -> list[str]:
    """`workers`: those that were offered the workload; `missing`: what keeps it from running on
    these, and on others that it may go to.
    """
    lines = [f"{title} {_state(known.workload)}", *_details(known, _knows_pods(known, workers))]
    for name in sorted({*workers, *(name for name, texts in missing.items() if texts)}):
        lines += _there(name, workers.get(name, "it cannot run there"))
        lines += [f"{INDENT}{text}" for text in missing.get(name, ())]
    return lines


def _knows_pods(known: Known, workers: Mapping[str, Asked]) -> bool:
    """Whether the worker that has it says how its pods are: those that wait here in its place, as
    of a StatefulSet, never get ready.
    """
    there = workers.get(str((known.workload.get("status") or {}).get("clusterName") or ""))
    if not isinstance(there, Known):
        return False
    is_told = status.find_condition(there.workload, status.PODS_READY) is not None
    return is_told or there.are_pods_ready is True


def _there(name: str, asked: Asked) -> Iterator[str]:
    if isinstance(asked, str):
        yield f"on {name}: {asked}"
        return
    yield f"on {name} it {_state(asked.workload)}"
    yield from _details(asked)


def has_failed(workload: Object) -> bool:
    finished = status.find_condition(workload, status.FINISHED) or {}
    return status.is_finished(workload) and finished.get("reason") == FAILED


def _state(workload: Object) -> str:
    """In a few words."""
    told = workload.get("status") or {}
    if status.is_finished(workload):
        finished = status.find_condition(workload, status.FINISHED) or {}
        word = "has failed" if has_failed(workload) else "has finished"
        word += f" on {told['clusterName']}" if told.get("clusterName") else ""
        message = finished.get("message")
        return f"{word}: {message}" if message else word
    if not status.is_active(workload):
        return "is switched off: spec.active of its Workload is false"
    if status.is_admitted(workload):
        worker = told.get("clusterName")
        return f"is admitted on {worker}" if worker else f"is admitted{_by(workload)}"
    if status.has_quota(workload):
        offered = told.get("nominatedClusterNames")
        sent = f", and is offered to {', '.join(offered)}" if offered else ""
        return f"has quota{_by(workload)}, waits for its admission checks{sent}"
    return f"waits in the queue {workload['spec'].get('queueName') or '(none)'}"


def _by(workload: Object) -> str:
    queue = ((workload.get("status") or {}).get("admission") or {}).get("clusterQueue")
    return f" in {queue}" if queue else ""


def _details(known: Known, knows_pods_elsewhere: bool = False) -> Iterator[str]:
    workload = known.workload
    if status.is_finished(workload):
        yield from (f"{INDENT}{line}" for line in known.pods)
        return
    if not status.is_active(workload) or not status.has_quota(workload):
        yield from _eviction(workload)
        yield from _checks(workload, REFUSED)
    if not status.is_active(workload):
        return
    if status.is_admitted(workload):
        if not knows_pods_elsewhere:
            yield from _unready(workload)
        yield from (f"{INDENT}{line}" for line in known.pods)
    elif status.has_quota(workload):
        yield from _checks(workload)
    else:
        yield from _waiting(known)


def _eviction(workload: Object) -> Iterator[str]:
    """It ran before, or could have."""
    evicted = status.find_condition(workload, status.EVICTED)
    if evicted is not None and evicted["status"] == "True":
        yield f"{INDENT}it was put out ({evicted['reason']}): {evicted.get('message', '')}"
    requeue = (workload.get("status") or {}).get("requeueState") or {}
    if requeue.get("requeueAt"):
        yield f"{INDENT}it may try again at {requeue['requeueAt']}"


def _unready(workload: Object) -> Iterator[str]:
    ready = status.find_condition(workload, status.PODS_READY)
    if ready is not None and ready["status"] != "True":
        yield f"{INDENT}{ready.get('message', '')}"


def _checks(workload: Object, states: Sequence[str] = ()) -> Iterator[str]:
    """Those in these states, or all."""
    for check in status.checks_of(workload):
        if states and check["state"] not in states:
            continue
        message = f": {check['message']}" if check.get("message") else ""
        yield f"{INDENT}{check['name']} is {check['state']}{message}"


def _waiting(known: Known) -> Iterator[str]:
    queue = known.verdict.get("clusterQueueName")
    if queue:
        yield f"{INDENT}its ClusterQueue is {queue}"
    if (place := known.place) is not None:
        yield f"{INDENT}it is number {place.number} of {place.waiting} that wait in its queue"
        if place.in_cluster_queue != place.number:
            yield f"{INDENT}in its ClusterQueue it is number {place.in_cluster_queue}"
    message = _message(known.workload, status.QUOTA_RESERVED) or known.verdict.get("message")
    yield f"{INDENT}{message or 'nobody has looked at it yet'}"
    rows = list(_rows(known.verdict.get("podSets") or ()))
    if rows:
        yield ""
        yield from (f"{INDENT}{line}" for line in render(HEADER, rows).splitlines())


def _rows(pod_sets: Sequence[Object]) -> Iterator[tuple[str, ...]]:
    for pod_set in pod_sets:
        name = f"{pod_set['name']} ({pod_set['count']})"
        for flavor in pod_set.get("considered") or ():
            resources = flavor.get("resources") or ()
            for each in resources:
                numbers = (each["needed"], each["free"], each["borrowable"])
                why = "" if each["mode"] == FITS else each["why"] or each["mode"]
                yield (name, flavor["flavor"], each["resource"], *numbers, why)
            if not resources:
                why = "; ".join(flavor.get("reasons") or ())
                yield (name, flavor["flavor"], "", "", "", "", why or flavor["mode"])


def _message(workload: Object, type: str) -> str:
    found = status.find_condition(workload, type)
    return str((found or {}).get("message") or "")
