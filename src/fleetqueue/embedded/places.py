"""Where the pods of this process are: what connections need to know of the runtime."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fleetqueue.apiserver import problems
from fleetqueue.apiserver.call import Call
from fleetqueue.apiserver.core import Core
from fleetqueue.base.clock import Clock
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.container_worker import ContainerWorker
from fleetqueue.runtime.modes import is_simulated
from fleetqueue.runtime.pod_status import ContainerFacts
from fleetqueue.runtime.pod_worker import PodWorker
from fleetqueue.runtime.preparation import Sandbox, log_path
from fleetqueue.runtime.recovery import known_containers

SLICES = "endpointslices.discovery.k8s.io"


@dataclass(frozen=True, slots=True)
class Places:
    """Ways from a pod's object to what runs for it."""

    find: Callable[[Object], PodWorker | None]
    """The worker of a pod that runs here; None: it ended, or never ran."""
    directory: Callable[[Object], Path]
    """Where the sandbox of a pod is or was: its logs outlive its processes."""
    latest: Callable[[Object], Object | None]
    """The pod as it is stored now; None: it is gone."""
    slices: Callable[[Object], list[Object]]
    """The EndpointSlices of a service."""
    is_simulated: Callable[[Object], bool]
    clock: Clock

    def worker(self, pod: Object, container: str) -> ContainerWorker | None:
        found = self.find(pod)
        workers = () if found is None else found.workers
        return next((worker for worker in workers if worker.name == container), None)

    def facts(self, pod: Object, container: str) -> ContainerFacts | None:
        """How a container is, by its worker, or else by the status of its pod."""
        worker = self.worker(pod, container)
        return known_containers(pod).get(container) if worker is None else worker.shown

    def log(self, pod: Object, container: str, attempt: int) -> Path:
        return log_path(Sandbox(self.directory(pod), "", ""), container, attempt)


def places_in(
    core: Core, find: Callable[[Object], PodWorker | None], directory: Callable[[Object], Path]
) -> Places:
    """With all that an API server's own storage tells."""

    def latest(pod: Object) -> Object | None:
        return core.get("pods", _key(pod))

    def slices(service: Object) -> list[Object]:
        metadata = service["metadata"]
        store = core.store
        found = store.range_at(SLICES, f"{metadata['namespace']}/", store.revision)
        listed = [store.decoded(stored) for stored in found]
        label = "kubernetes.io/service-name"
        return [
            one
            for one in listed
            if (one["metadata"].get("labels") or {}).get(label) == metadata["name"]
        ]

    def simulated(pod: Object) -> bool:
        return is_simulated(pod, core.get("nodes", str(pod["spec"].get("nodeName") or "")))

    return Places(find, directory, latest, slices, simulated, core.clock)


def _key(obj: Object) -> str:
    return f"{obj['metadata']['namespace']}/{obj['metadata']['name']}"


def container_of(call: Call, pod: Object) -> Object:
    """The container that a request means; whoever names none means the only one."""
    name, spec = call.request.first("container"), pod["spec"]
    if not name:
        first: Object = spec["containers"][0]
        return first
    for kind in ("containers", "initContainers", "ephemeralContainers"):
        for container in spec.get(kind) or ():
            if container["name"] == name:
                found: Object = container
                return found
    raise problems.bad_request(f"container {name} is not valid for pod {call.route.name}")
