"""What a load needs in the cluster, and its workloads."""

from collections.abc import Iterator
from typing import Any

from benchmarks.admission.loads import BORROWED_MAX, QUOTA, Load, WorkloadClass

Object = dict[str, Any]
API = "kueue.x-k8s.io/v1beta2"
FLAVOR, TOPOLOGY = "rf", "racks"
BLOCK, RACK, HOST = "bench/block", "bench/rack", "kubernetes.io/hostname"
RACKS, NODES_PER_RACK = 10, 64
LABEL = {"bench/pool": "all"}


def queue_names(load: Load) -> list[str]:
    pairs = ((cohort, queue) for cohort in range(load.cohorts) for queue in range(load.queues))
    return [f"q-{cohort}-{queue}" for cohort, queue in pairs]


def surroundings(load: Load) -> Iterator[Object]:
    """What all queues share; the first of it is of a kind that has webhooks."""
    if load.has_topology:
        levels = [{"nodeLabel": each} for each in (BLOCK, RACK, HOST)]
        yield _made("ResourceFlavor", FLAVOR, {"nodeLabels": LABEL, "topologyName": TOPOLOGY})
        yield _made("Topology", TOPOLOGY, {"levels": levels})
        yield from map(_node, range(RACKS * NODES_PER_RACK))
    else:
        yield _made("ResourceFlavor", FLAVOR, {})


def queue_of(name: str) -> Iterator[Object]:
    """One queue with its namespace, in their order."""
    yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    yield _cluster_queue(name, cohort=name.rpartition("-")[0])
    yield _made("LocalQueue", name, {"clusterQueue": name}, namespace=name)


def workload(queue: str, kind: WorkloadClass, number: int, load: Load) -> Object:
    requests = {"cpu": f"{kind.cpu_millis // kind.pods}m"}
    container = {"name": "c", "image": "none", "resources": {"requests": requests}}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    pods: Object = {"name": "main", "count": kind.pods, "template": template}
    if load.has_topology:
        pods["topologyRequest"] = _topology_request(kind, number)
    spec = {"queueName": queue, "priority": kind.priority, "podSets": [pods]}
    return _made("Workload", f"{kind.name}-{number}", spec, namespace=queue)


def _topology_request(kind: WorkloadClass, number: int) -> Object:
    """A third each: required, preferred, and preferred in slices that stay on a node."""
    third = number % 3
    if third == 0:
        return {"required": RACK}
    if third == 1:
        return {"preferred": RACK}
    size = kind.slice_size
    return {"preferred": RACK, "podSetSliceRequiredTopology": HOST, "podSetSliceSize": size}


def _cluster_queue(name: str, cohort: str) -> Object:
    cpu = {"name": "cpu", "nominalQuota": QUOTA, "borrowingLimit": BORROWED_MAX}
    flavor = {"name": FLAVOR, "resources": [cpu]}
    preemption = {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"}
    spec = {
        "cohortName": cohort,
        "namespaceSelector": {},
        "preemption": preemption,
        "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [flavor]}],
    }
    return _made("ClusterQueue", name, spec)


def _node(number: int) -> Object:
    name, rack = f"node-{number}", f"rack-{number // NODES_PER_RACK}"
    labels = {**LABEL, BLOCK: "block", RACK: rack, HOST: name}
    amounts = {"cpu": "96", "memory": "256Gi", "pods": "256"}
    ready = {"type": "Ready", "status": "True", "reason": "Ready", "message": "ready"}
    status = {"capacity": amounts, "allocatable": amounts, "conditions": [ready]}
    metadata = {"name": name, "labels": labels}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": status}


def _made(kind: str, name: str, spec: Object, namespace: str = "") -> Object:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": API, "kind": kind, "metadata": metadata, "spec": spec}
