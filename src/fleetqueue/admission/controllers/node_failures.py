"""Tells workloads of nodes that failed under them, so that another place is found."""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from functools import partial

from fleetqueue.admission import kinds, node_health, ungating
from fleetqueue.admission.controllers.topology_ungater import BY_WORKLOAD, home_of
from fleetqueue.admission.node_health import NodeRules
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
    """Woken by a node, also by the host that places know it as, and by pods that end on it."""

    kind = kinds.NODE

    def __init__(
        self,
        cluster: Cluster,
        writer: Writer,
        rules: NodeRules = node_health.DEFAULTS,
        *,
        leaves_single_pods: bool = True,
    ) -> None:
        self._cluster = cluster
        self._writer = writer
        self._rules = rules
        self._host_of: dict[str, str] = {}
        """By the name of a node, the host that it was when it was seen last."""
        hosts = partial(_hosts_by_name, leaves_single_pods=leaves_single_pods)
        wakes = partial(_hosts_of, leaves_single_pods=leaves_single_pods)
        self.watches = (Watch(kinds.POD, wakes=_nodes_of), Watch(kinds.WORKLOAD, wakes=wakes))
        cluster.informer(kinds.WORKLOAD, indexes={BY_HOST: hosts})
        cluster.informer(kinds.NODE, indexes={BY_HOST: lambda node: [_host(node)]})
        cluster.informer(kinds.POD, indexes={BY_HOST: _awaited})

    async def reconcile(self, node: Object, /) -> Result:
        name, host = node["metadata"]["name"], _host(node)
        await self._judge_all({name, host, self._host_of.get(name, host)})
        self._host_of[name] = host
        left = node_health.time_left(node, self._cluster.clock.now(), self._rules)
        return Result(left) if left is not None and left > timedelta(0) else DONE

    async def gone(self, key: Key, /) -> Result:
        await self._judge_all({key.name, self._host_of.get(key.name, key.name)})
        self._host_of.pop(key.name, None)
        return DONE

    async def _judge_all(self, hosts: set[str]) -> None:
        """Raises Refused where a workload could not be told; the others are told all the same."""
        untold = []
        for host in sorted(hosts):
            nodes = self._cluster.cached_by(kinds.NODE, BY_HOST, host)
            names = [
                str(key_of(workload))
                for workload in self._cluster.cached_by(kinds.WORKLOAD, BY_HOST, host)
                if not await self._judge(workload, host, nodes)
            ]
            if names:
                untold.append(f"workloads could not be told of node {host}: {', '.join(names)}")
            await self._end_strays(host)
        if untold:
            raise Refused("; ".join(untold))

    async def _judge(self, workload: Object, host: str, nodes: Sequence[Object]) -> bool:
        """Whether the workload says what is true of the host; most are one node, or none."""
        pods = self._cluster.cached_by(kinds.POD, BY_WORKLOAD, _home(workload))
        if self._serves(workload, nodes, pods):
            return await self._write(node_health.with_healthy(workload, host))
        for pod in node_health.to_terminate(host, pods) if self._rules.counts_taints else ():
            await self._terminate(pod)
        if message := node_health.many_failed(workload, host):
            return await self._writer.evict(key_of(workload), "NodeFailures", message)
        return await self._write(node_health.with_failed(workload, host))

    def _serves(self, workload: Object, nodes: Sequence[Object], pods: Sequence[Object]) -> bool:
        tolerations = node_health.tolerations_of(workload, self._flavors(workload))
        now = self._cluster.clock.now()
        return any(
            node_health.judge(node, tolerations, _on(node, pods), now, self._rules) == "healthy"
            for node in nodes
        )

    async def _end_strays(self, host: str) -> None:
        """Pods that wait for a host which their workload has left meanwhile."""
        if not self._rules.counts_taints:
            return
        awaiting = self._cluster.cached_by(kinds.POD, BY_HOST, host)
        for pod in node_health.to_terminate(host, awaiting):
            name, namespace = node_health.workload_of(pod), key_of(pod).namespace
            workload = self._cluster.cached(kinds.WORKLOAD, name, namespace)
            if workload is not None and ungating.is_astray(workload, pod):
                await self._terminate(pod)

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


def _hosts_by_name(workload: Object, *, leaves_single_pods: bool) -> Iterable[str]:
    """The nodes of a workload that runs; one that is evicted needs none any more. Where a variant
    was admitted for a workload, it is the variant that looks for another place.
    """
    if not status.is_admitted(workload) or status.is_evicted(workload):
        return ()
    if workloads.is_parent(workload):
        return ()
    if status.is_finished(workload) or (leaves_single_pods and reading.is_single_pod(workload)):
        return ()
    if not any(each.get("topologyAssignment") for each in status.assignments_of(workload)):
        return ()
    return sorted(reading.assigned_hosts(workload))


def _home(workload: Object) -> Key:
    """The workload that its pods name."""
    parent = workloads.parent_of(workload)
    if parent is None:
        return home_of(workload)
    return Key(key_of(workload).namespace, str(parent["name"]))


def _hosts_of(workload: Object, *, leaves_single_pods: bool) -> Iterable[Key]:
    hosts = _hosts_by_name(workload, leaves_single_pods=leaves_single_pods)
    return [Key("", name) for name in hosts]


def _nodes_of(pod: Object) -> Iterable[Key]:
    spec = pod.get("spec") or {}
    if not node_health.workload_of(pod):
        return ()
    name = spec.get("nodeName") or (spec.get("nodeSelector") or {}).get(HOSTNAME)
    return [Key("", name)] if name else []


def _awaited(pod: Object) -> Iterable[str]:
    """The host that a pod of a workload has yet to be bound to."""
    spec = pod.get("spec") or {}
    if spec.get("nodeName") or not node_health.workload_of(pod):
        return ()
    host = (spec.get("nodeSelector") or {}).get(HOSTNAME)
    return [host] if host else ()


def _on(node: Object, pods: Iterable[Object]) -> list[Object]:
    name = node["metadata"]["name"]
    return [pod for pod in pods if (pod.get("spec") or {}).get("nodeName") == name]


def _host(node: Object) -> str:
    return str((node["metadata"].get("labels") or {}).get(HOSTNAME) or node["metadata"]["name"])
