"""Gives the workloads of a WorkloadPriorityClass its value whenever that changes."""

from collections.abc import Hashable, Iterable

from fleetqueue.admission import kinds
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.controller import DONE, Controller, Result
from fleetqueue.kube.resources import Object, key_of

BY_CLASS = "priority class"


class PriorityClassController(Controller[Object]):
    """Woken by the class itself; a workload is given its priority when it is made."""

    kind = kinds.WORKLOAD_PRIORITY_CLASS

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        cluster.informer(kinds.WORKLOAD, indexes={BY_CLASS: classes_of})

    async def reconcile(self, priority_class: Object, /) -> Result:
        value = priority_class.get("value") or 0
        name = priority_class["metadata"]["name"]
        for workload in self._cluster.cached_by(kinds.WORKLOAD, BY_CLASS, name):
            if (workload.get("spec") or {}).get("priority") != value:
                key = key_of(workload)
                patch = {"spec": {"priority": value}}
                await self._cluster.patch(
                    kinds.WORKLOAD, key.name, patch, key.namespace, field_manager="kueue"
                )
        return DONE


def classes_of(workload: Object) -> Iterable[Hashable]:
    reference = (workload.get("spec") or {}).get("priorityClassRef") or {}
    is_ours = reference.get("kind") == "WorkloadPriorityClass"
    return (reference["name"],) if is_ours and reference.get("name") else ()
