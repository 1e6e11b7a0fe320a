"""Lets the pods of admitted workloads go to the places that were chosen for them."""

from collections.abc import Iterable

from fleetqueue.admission import kinds, ungating
from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.kueue import labels
from fleetqueue.api.meta import Key
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.controller import DONE, Controller, Result, Watch
from fleetqueue.kube.errors import NotFound
from fleetqueue.kube.resources import Object, key_of

BY_WORKLOAD = "workload"


class TopologyUngater(Controller[Object]):
    """Woken by a workload, and by every pod of it that waits."""

    kind = kinds.WORKLOAD

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.workers = 4
        self.watches = (Watch(kinds.POD, wakes=_workloads_of, when=_matters),)
        cluster.informer(kinds.POD, indexes={BY_WORKLOAD: _workloads_of})

    def wanted(self, old: Object | None, new: Object | None, /) -> bool:
        return new is not None and status.is_admitted(new) and _has_places(new)

    async def reconcile(self, workload: Object, /) -> Result:
        if not _has_places(workload):
            return DONE
        pods = self._cluster.cached_by(kinds.POD, BY_WORKLOAD, key_of(workload))
        for going in ungating.decide(workload, [pod for pod in pods if not _has_ended(pod)]):
            key = key_of(going.pod)
            try:
                await self._cluster.patch(
                    kinds.POD, key.name, patch_for(going), key.namespace, field_manager="kueue"
                )
            except NotFound:
                continue
        return DONE


def patch_for(going: ungating.Going) -> Object:
    gates = going.pod["spec"].get("schedulingGates") or ()
    kept = [gate for gate in gates if gate["name"] != labels.TOPOLOGY_GATE]
    metadata = {"resourceVersion": going.pod["metadata"]["resourceVersion"]}
    spec = {"schedulingGates": kept or None, "nodeSelector": dict(going.node_selector)}
    return {"metadata": metadata, "spec": spec}


def _workloads_of(pod: Object) -> Iterable[Key]:
    name = (pod["metadata"].get("annotations") or {}).get(labels.WORKLOAD)
    return [Key(key_of(pod).namespace, name)] if name else []


def _matters(old: Object | None, new: Object | None) -> bool:
    return new is not None and ungating.is_gated(new)


def _has_places(workload: Object) -> bool:
    return any(each.get("topologyAssignment") for each in status.assignments_of(workload))


def _has_ended(pod: Object) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
