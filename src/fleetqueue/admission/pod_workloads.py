"""Which workload a pod waits for, by what it says of itself or by who was made for it."""

from collections.abc import Hashable, Iterable

from fleetqueue.admission import kinds
from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.kueue import labels
from fleetqueue.api.kueue.pod_groups import group_of
from fleetqueue.api.meta import Key
from fleetqueue.kube.resources import Object, key_of, uid_of
from fleetqueue.kube.sources import Index, Source


def workload_of(source: Source, pod: Object) -> Object | None:
    """Of the slices of an elastic job the newest that is admitted, since it lets the pod go."""
    metadata = pod["metadata"]
    namespace, notes = metadata["namespace"], metadata.get("annotations") or {}
    if name := notes.get(labels.WORKLOAD_SLICE_NAME):
        found = [each for each in source.found(INDEX, Key(namespace, name)) if _grants(each)]
        return max(found, key=_age, default=None)
    if name := notes.get(labels.WORKLOAD) or group_of(pod):
        return source.get(kinds.WORKLOAD, namespace, name)
    return next(iter(source.found(INDEX, uid_of(pod))), None)


def _values(workload: Object) -> Iterable[Hashable]:
    """The slices that it is one of, and the one pod that it was made for."""
    metadata = workload["metadata"]
    if name := (metadata.get("annotations") or {}).get(labels.WORKLOAD_SLICE_NAME):
        yield Key(key_of(workload).namespace, name)
    for owner in metadata.get("ownerReferences") or ():
        if owner.get("controller") and (owner["apiVersion"], owner["kind"]) == ("v1", "Pod"):
            yield owner["uid"]


INDEX = Index(kinds.WORKLOAD, "slices and single pods", _values)


def _grants(workload: Object) -> bool:
    return status.is_admitted(workload) and not status.is_finished(workload)


def _age(workload: Object) -> tuple[str, str]:
    return str(workload["metadata"].get("creationTimestamp") or ""), key_of(workload).name
