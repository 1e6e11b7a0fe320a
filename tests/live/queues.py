"""Queues of a test's own on a cluster with real processes, jobs for them that run until they are
let go, and what their Workloads say.
"""

import fcntl
import sys
from pathlib import Path
from typing import Any

from live import objects
from live.conftest import Live

Object = dict[str, Any]
API = "kueue.x-k8s.io/v1beta2"
HELD = (
    "import fcntl, sys\n"
    "print('here', flush=True)\n"
    "fcntl.flock(open(sys.argv[1], 'a'), fcntl.LOCK_SH)"
)


class Gate:
    """What runs `command` ends when the gate opens, which is shut in a `with` block."""

    def __init__(self, file: Path) -> None:
        self.command = (sys.executable, "-c", HELD, str(file))
        self._file = file.open("a")

    def __enter__(self) -> "Gate":
        fcntl.flock(self._file, fcntl.LOCK_EX)
        return self

    def __exit__(self, *_: object) -> None:
        self.open()

    def open(self) -> None:
        self._file.close()


def named(kind: str, name: str, **spec: Any) -> Object:
    return objects.thing(kind, API, name, **spec)


def cluster_queue(name: str, cpu: str, **spec: Any) -> Object:
    resources = [{"name": "cpu", "nominalQuota": cpu}]
    flavors = [{"name": "default-flavor", "resources": resources}]
    group = {"coveredResources": ["cpu"], "flavors": flavors}
    return named(
        "ClusterQueue", name, namespaceSelector={}, resourceGroups=[group], **spec
    )  # fmt: skip


def offer(live: Live, name: str, cpu: str, **spec: Any) -> str:
    """A queue with a quota, whose name begins with the namespace; the name of its door."""
    path = live.path("ResourceFlavor", "default-flavor")
    if live.send("GET", path)[0] == 404:
        live.create(named("ResourceFlavor", "default-flavor"))
    queue = f"{live.namespace}-{name}"
    live.create(cluster_queue(queue, cpu, **spec))
    live.create(named("LocalQueue", name, clusterQueue=queue))
    return name


def queued(job: Object, name: str, queue: str, *, cpu: str = "100m", priority: str = "") -> Object:
    """The job under a name, in a queue, with a request for each of its containers."""
    labels = {"kueue.x-k8s.io/queue-name": queue}
    if priority:
        labels["kueue.x-k8s.io/priority-class"] = priority
    made = {**job, "metadata": {"name": name, "labels": labels}}
    for container in _containers(made["spec"]):
        container["resources"] = {"requests": {"cpu": cpu}}
    return made


def _containers(value: Any) -> list[Object]:
    if isinstance(value, list):
        return [found for each in value for found in _containers(each)]
    if not isinstance(value, dict):
        return []
    own = [each for each in value.get("containers") or () if isinstance(each, dict)]
    return own + [found for each in value.values() for found in _containers(each)]


def workload_of(live: Live, job: str) -> Object | None:
    """The one whose owner has this name, or is the pod of something that has it."""
    found = live.all("Workload")
    for each in found:
        if job in _owners(each):
            return each
    of_pods = [each for each in found if any(name.startswith(f"{job}-") for name in _owners(each))]
    return of_pods[0] if of_pods else None


def _owners(workload: Object) -> list[str]:
    return [each["name"] for each in workload["metadata"].get("ownerReferences") or ()]


def told(live: Live, job: str, type: str) -> tuple[str, str, str] | None:
    """Status, reason and message of a condition of the job's Workload."""
    found = workload_of(live, job)
    for each in ((found or {}).get("status") or {}).get("conditions") or ():
        if each["type"] == type:
            return each["status"], each["reason"], each["message"]
    return None


def is_true(live: Live, job: str, type: str) -> bool:
    return (told(live, job, type) or ("", "", ""))[0] == "True"


def running(live: Live, prefix: str) -> int:
    return len([name for name in live.pods("Running") if name.startswith(prefix)])


def succeeded(live: Live, *jobs: str) -> None:
    """Waits until the Workloads of all these say that they ended well."""
    for job in jobs:
        live.until(f"{job} finishes", lambda job=job: is_true(live, job, "Finished"))
        status, reason, _ = told(live, job, "Finished") or ("", "", "")
        assert (status, reason) == ("True", "Succeeded")
