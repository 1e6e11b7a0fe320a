"""Lets the pods of admitted workloads go to the places that were chosen for them."""

from collections.abc import Iterable

from fleetqueue.admission import kinds, ungating
from fleetqueue.admission.pod_workloads import INDEX as SLICES
from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.kueue import labels
from fleetqueue.api.meta import Key
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.controller import DONE, Controller, Result, Watch
from fleetqueue.kube.errors import NotFound
from fleetqueue.kube.resources import Object, key_of

BY_WORKLOAD = "workload"
"""Pods by the workload that they name, or by the first slice of their job: see `home_of`."""


class TopologyUngater(Controller[Object]):
    """Woken by a workload, and by every pod of it that waits."""

    kind = kinds.WORKLOAD

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.workers = 4
        self.watches = (Watch(kinds.POD, wakes=self._workloads_of, when=_matters),)
        cluster.informer(kinds.POD, indexes={BY_WORKLOAD: _homes})
        cluster.informer(kinds.WORKLOAD, indexes={SLICES.name: SLICES.values})

    def wanted(self, old: Object | None, new: Object | None, /) -> bool:
        return new is not None and status.is_admitted(new) and _has_places(new)

    async def reconcile(self, workload: Object, /) -> Result:
        if not _has_places(workload):
            return DONE
        pods = self._cluster.cached_by(kinds.POD, BY_WORKLOAD, home_of(workload))
        for going in ungating.decide(workload, [pod for pod in pods if not _has_ended(pod)]):
            key = key_of(going.pod)
            try:
                await self._cluster.patch(
                    kinds.POD, key.name, patch_for(going), key.namespace, field_manager="kueue"
                )
            except NotFound:
                continue
        return DONE

    def _workloads_of(self, pod: Object) -> Iterable[Key]:
        """The one that it names; a later slice of the job may have let it in."""
        name, namespace = _named(pod), key_of(pod).namespace
        if not name:
            return []
        if not (shared := ungating.slice_name(pod)):
            return [Key(namespace, name)]
        slices = self._cluster.cached_by(kinds.WORKLOAD, SLICES.name, Key(namespace, shared))
        return [Key(namespace, name), *(key_of(each) for each in slices)]


def home_of(workload: Object) -> Key:
    """What its pods are found by."""
    key = key_of(workload)
    return Key(key.namespace, ungating.slice_name(workload) or key.name)


def patch_for(going: ungating.Going) -> Object:
    gates = going.pod["spec"].get("schedulingGates") or ()
    kept = [gate for gate in gates if gate["name"] != labels.TOPOLOGY_GATE]
    metadata = {"resourceVersion": going.pod["metadata"]["resourceVersion"]}
    spec = {"schedulingGates": kept or None, "nodeSelector": dict(going.node_selector)}
    return {"metadata": metadata, "spec": spec}


def _homes(pod: Object) -> Iterable[Key]:
    name = _named(pod)
    return [Key(key_of(pod).namespace, ungating.slice_name(pod) or name)] if name else []


def _named(pod: Object) -> str:
    return str((pod["metadata"].get("annotations") or {}).get(labels.WORKLOAD) or "")


def _matters(old: Object | None, new: Object | None) -> bool:
    return new is not None and ungating.is_gated(new)


def _has_places(workload: Object) -> bool:
    return any(each.get("topologyAssignment") for each in status.assignments_of(workload))


def _has_ended(pod: Object) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
