"""The Workload of a pod group, once its pods agree on what they are."""

from collections.abc import Iterable

from fleetqueue.api.kueue import labels
from fleetqueue.jobs import identity, workloads
from fleetqueue.jobs.kind import Sight
from fleetqueue.jobs.pod_groups.excess import excess_of
from fleetqueue.jobs.pod_groups.group import GROUP, by_role, is_fast, members_of
from fleetqueue.jobs.pod_sets import MAX, pod_sets_of
from fleetqueue.jobs.pods import states
from fleetqueue.jobs.priorities import priority_of
from fleetqueue.jobs.resources import WORKLOAD
from fleetqueue.jobs.topology import read_int
from fleetqueue.kube.resources import Object


def problem_of(sight: Sight, name: str) -> str:
    """What the pods do not agree on, or have too few of; "" where it is nothing."""
    pods = _runnable(sight)
    total = states.total_of(sight.job) or 0
    if len(pods) < total and not (is_fast(sight.job) and pods):
        return f"'{name}' group has fewer runnable pods than expected"
    return _disagreement(pods) or _wrong_index(pods, total)


def misfit_of(sight: Sight) -> str:
    """Why the pods, none too many, cannot be the pod sets of one Workload; "" where they can."""
    pods = _runnable(sight)
    if len(by_role(pods)) > MAX:
        return f"pod group can't include more than {MAX} roles"
    if _labels(sight, pods) is None:
        return "constructing workload: pods have different label values"
    if _annotations(sight, pods) is None:
        return "constructing workload: pods have different annotation values"
    return ""


def too_many(sight: Sight) -> list[Object]:
    """Pods beyond the total, before roles have sizes of their own: the ones to be missed least."""
    return excess_of(_runnable(sight), states.total_of(sight.job) or 0)


def build(sight: Sight, name: str) -> Object:
    pods = members_of(sight.job)
    pod_sets = pod_sets_of(GROUP, sight)
    metadata: Object = {
        "name": name,
        "namespace": sight.namespace,
        "annotations": {
            **workloads.annotations_of(sight),
            **(_annotations(sight, pods) or {}),
            labels.IS_GROUP_WORKLOAD: "true",
        },
        "ownerReferences": [reference(pod) for pod in pods],
        "finalizers": [labels.RESOURCE_IN_USE_FINALIZER],
    }
    if copied := _labels(sight, pods):
        metadata["labels"] = copied
    return {
        "apiVersion": WORKLOAD.api_version,
        "kind": WORKLOAD.kind,
        "metadata": metadata,
        "spec": workloads.spec_of(sight, pod_sets, priority_of(GROUP, sight, pod_sets)),
    }


def reference(pod: Object) -> Object:
    """One owner of many, none of which controls the Workload."""
    metadata = pod["metadata"]
    return {"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": metadata["uid"]}


def _runnable(sight: Sight) -> list[Object]:
    return [pod for pod in members_of(sight.job) if states.counts(pod)]


def _disagreement(pods: list[Object]) -> str:
    first = pods[0]
    for pod in pods[1:]:
        names = f"pods '{_name(first)}' and '{_name(pod)}' has different"
        queues = identity.queue_of(first), identity.queue_of(pod)
        if queues[0] != queues[1]:
            return f"{names} queue names: {queues[0]}!={queues[1]}"
        totals = states.total_of(first), states.total_of(pod)
        if totals[0] != totals[1]:
            key = labels.POD_GROUP_TOTAL_COUNT
            return f"{names} '{key}' values: {totals[0]}!={totals[1]}"
    return ""


def _wrong_index(pods: Iterable[Object], total: int) -> str:
    for pod in pods:
        text = identity.labels_of(pod).get(labels.POD_GROUP_POD_INDEX)
        if text is None:
            continue
        index = read_int(text)
        if index is None or not 0 <= index < total:
            key = labels.POD_GROUP_POD_INDEX
            return (
                f"pod '{_name(pod)}' has a wrong '{key}' label value: '{text}' is no number"
                f" from 0 to {total - 1}"
            )
    return ""


def _labels(sight: Sight, pods: Iterable[Object]) -> dict[str, str] | None:
    """Those to be copied; None where pods that have one do not agree on it."""
    return _agreed(map(identity.labels_of, pods), sight.settings.label_keys_to_copy)


def _annotations(sight: Sight, pods: Iterable[Object]) -> dict[str, str] | None:
    return _agreed(map(identity.annotations_of, pods), sight.settings.annotation_keys_to_copy)


def _agreed(said: Iterable[dict[str, str]], keys: Iterable[str]) -> dict[str, str] | None:
    made: dict[str, str] = {}
    for each in said:
        for key in keys:
            value = each.get(key)
            if value is not None and made.setdefault(key, value) != value:
                return None
    return made


def _name(pod: Object) -> str:
    return str(pod["metadata"]["name"])
