"""What a fleet needs before jobs come, and the jobs."""

from collections.abc import Iterator, Sequence
from math import ceil
from typing import Any

from fleetqueue.multikueue.kinds import CONTROLLER
from fleetqueue.runtime.stages import RUN_SECONDS

Object = dict[str, Any]
API = "kueue.x-k8s.io/v1beta2"
FLAVOR = "default-flavor"
CLUSTERS_MAX = 20
"""So many workers a MultiKueueConfig may list; more of them need more queues."""
NAMESPACE = "default"
RUNS_SECONDS = 0.2


def queue_count(workers: int) -> int:
    return ceil(workers / CLUSTERS_MAX)


def queue_name(number: int) -> str:
    return f"queue-{number}"


def on_worker(queues: int, cpus: int) -> Iterator[Object]:
    """Room for all jobs on every worker: what waits does so for dispatching alone."""
    yield _made("ResourceFlavor", FLAVOR, {})
    for number in range(queues):
        yield from _queue(number, cpus, [])


def on_manager(workers: Sequence[str], cpus: int) -> Iterator[Object]:
    yield _made("ResourceFlavor", FLAVOR, {})
    count = queue_count(len(workers))
    for number in range(count):
        name = f"multikueue-{number}"
        parameters = {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": name}
        check = {"controllerName": CONTROLLER, "parameters": parameters}
        yield _made("MultiKueueConfig", name, {"clusters": list(workers[number::count])})
        yield _made("AdmissionCheck", name, check)
        yield from _queue(number, cpus, [name])


def job(number: int, queues: int) -> Object:
    """One pod that runs for a moment, where pods are simulated."""
    requests = {"cpu": "1"}
    container = {"name": "c", "image": "none", "resources": {"requests": requests}}
    template = {
        "metadata": {"annotations": {RUN_SECONDS: str(RUNS_SECONDS)}},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }
    labels = {"kueue.x-k8s.io/queue-name": queue_name(number % queues)}
    metadata = {"name": f"job-{number}", "namespace": NAMESPACE, "labels": labels}
    spec = {"template": template}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


def _queue(number: int, cpus: int, checks: list[str]) -> Iterator[Object]:
    name = queue_name(number)
    resources = [{"name": "cpu", "nominalQuota": cpus}]
    group = {
        "coveredResources": ["cpu"],
        "flavors": [{"name": FLAVOR, "resources": resources}],
    }
    spec: Object = {"namespaceSelector": {}, "resourceGroups": [group]}
    if checks:
        listed = [{"name": check} for check in checks]
        spec["admissionChecksStrategy"] = {"admissionChecks": listed}
    yield _made("ClusterQueue", name, spec)
    local = _made("LocalQueue", name, {"clusterQueue": name})
    local["metadata"]["namespace"] = NAMESPACE
    yield local


def _made(kind: str, name: str, spec: Object) -> Object:
    return {"apiVersion": API, "kind": kind, "metadata": {"name": name}, "spec": spec}
