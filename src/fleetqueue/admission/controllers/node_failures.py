"""Tells workloads of nodes that failed under them, so that another place is found."""

from collections.abc import Iterable

from fleetqueue.admission import kinds, node_health
from fleetqueue.admission.controllers.topology_ungater import BY_WORKLOAD
from fleetqueue.admission.writing import Writer
from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.kueue import workloads
from fleetqueue.api.meta import Key
from fleetqueue.api.times import format_time
from fleetqueue.errors import Refused
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.controller import DONE, Controller, Result, Watch
from fleetqueue.kube.errors import NotFound
from fleetqueue.kube.resources import Object, key_of
from fleetqueue.queueing import reading
from fleetqueue.queueing.topology.tree import HOSTNAME

BY_HOST = "host"
COMPONENT = "kueue-tas-node-controller"


class NodeFailures(Controller[Object]):
    """Woken by a node, and by pods that end on it."""

    kind = kinds.NODE

    def __init__(self, cluster: Cluster, writer: Writer) -> None:
        self._cluster = cluster
        self._writer = writer
        self.watches = (Watch(kinds.POD, wakes=_nodes_of), Watch(kinds.WORKLOAD, wakes=_hosts_of))
        cluster.informer(kinds.WORKLOAD, indexes={BY_HOST: _hosts_by_name})

    async def reconcile(self, node: Object, /) -> Result:
        await self._judge_all(_host(node), node)
        return DONE

    async def gone(self, key: Key, /) -> Result:
        await self._judge_all(key.name, None)
        return DONE

    async def _judge_all(self, host: str, node: Object | None) -> None:
        """Raises Refused where a workload could not be told; the others are told all the same."""
        untold = [
            str(key_of(workload))
            for workload in self._cluster.cached_by(kinds.WORKLOAD, BY_HOST, host)
            if not await self._judge(workload, host, node)
        ]
        if untold:
            raise Refused(f"workloads could not be told of node {host}: {', '.join(untold)}")

    async def _judge(self, workload: Object, host: str, node: Object | None) -> bool:
        """Whether the workload says what is true of the node."""
        pods = self._cluster.cached_by(kinds.POD, BY_WORKLOAD, _home(workload))
        here = [pod for pod in pods if (pod.get("spec") or {}).get("nodeName") == host]
        tolerations = node_health.tolerations_of(workload, self._flavors(workload))
        if node_health.judge(node, tolerations, here) == "healthy":
            return await self._write(node_health.with_healthy(workload, host))
        for pod in node_health.to_terminate(host, pods):
            await self._terminate(pod)
        if message := node_health.many_failed(workload, host):
            return await self._writer.evict(key_of(workload), "NodeFailures", message)
        return await self._write(node_health.with_failed(workload, host))

    async def _write(self, made: Object | None) -> bool:
        return made is None or await self._writer.write(made)

    def _flavors(self, workload: Object) -> list[Object]:
        names = {
            name
            for each in status.assignments_of(workload)
            for name in (each.get("flavors") or {}).values()
        }
        found = (self._cluster.cached(kinds.RESOURCE_FLAVOR, name) for name in sorted(names))
        return [each for each in found if each is not None]

    async def _terminate(self, pod: Object) -> None:
        key = key_of(pod)
        patch = node_health.terminated(pod, format_time(self._cluster.clock.now()))
        try:
            await self._cluster.patch(
                kinds.POD, key.name, patch, key.namespace, subresource="status",
                field_manager="kueue",
            )  # fmt: skip
        except NotFound:
            return
        text = node_health.TERMINATED_TEXT
        self._cluster.events.record(
            pod, "Normal", "PodTerminatedByKueue", text, COMPONENT, "PodTerminatedByKueue"
        )


def _hosts_by_name(workload: Object) -> Iterable[str]:
    """The nodes of a workload that runs; one that is evicted needs none any more. Where a variant
    was admitted for a workload, it is the variant that looks for another place.
    """
    if not status.is_admitted(workload) or status.is_evicted(workload):
        return ()
    if workloads.is_parent(workload):
        return ()
    if status.is_finished(workload) or reading.is_single_pod(workload):
        return ()
    if not any(each.get("topologyAssignment") for each in status.assignments_of(workload)):
        return ()
    return sorted(reading.assigned_hosts(workload))


def _home(workload: Object) -> Key:
    """The workload that its pods name."""
    key, parent = key_of(workload), workloads.parent_of(workload)
    return key if parent is None else Key(key.namespace, str(parent["name"]))


def _hosts_of(workload: Object) -> Iterable[Key]:
    return [Key("", name) for name in _hosts_by_name(workload)]


def _nodes_of(pod: Object) -> Iterable[Key]:
    spec = pod.get("spec") or {}
    if not node_health.workload_of(pod):
        return ()
    name = spec.get("nodeName") or (spec.get("nodeSelector") or {}).get(HOSTNAME)
    return [Key("", name)] if name else []


def _host(node: Object) -> str:
    return str((node["metadata"].get("labels") or {}).get(HOSTNAME) or node["metadata"]["name"])
