"""Which pods may run commands in one another without ssh: those of one MPI job, and which of them
a host name means; pure.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fleetqueue.kube.resources import Object
from fleetqueue.kube.sources import Source
from fleetqueue.runtime import hosts
from fleetqueue.runtime.kinds import JOB, POD
from fleetqueue.runtime.pod_facts import is_active

KEY_VOLUMES = ("ssh-auth", "mpi-ssh-auth")
"""By these an MPIJob and a TrainJob give their pods the keys with which ssh would let them in."""
_ROOTS = {"MPIJob": "kubeflow.org/", "JobSet": "jobset.x-k8s.io/"}


class Unreachable(Exception):
    """No pod stands behind a host name that could run a command."""


@dataclass(frozen=True, slots=True)
class Group:
    """The pods of one job; a uid alone could be claimed from another namespace."""

    namespace: str
    uid: str


def group_of(pod: Object, source: Source) -> Group | None:
    """None for a pod that has no peers: it has no keys, or no job of such a kind owns it."""
    if key_container(pod) is None:
        return None
    namespace, owner = str(pod["metadata"]["namespace"]), _controller(pod)
    if owner.get("kind") == "Job":
        job = source.get(JOB, namespace, str(owner["name"]))
        is_same = job is not None and job["metadata"]["uid"] == owner["uid"]
        owner = _controller(job) if job is not None and is_same else {}
    group = _ROOTS.get(str(owner.get("kind")))
    if group is None or not str(owner.get("apiVersion")).startswith(group):
        return None
    return Group(namespace, str(owner["uid"]))


def peers_of(group: Group, source: Source) -> list[Object]:
    """All pods of a job that have its keys, whether they run or not."""
    pods = list(source.controlled(POD, group.uid, group.namespace))
    for job in source.controlled(JOB, group.uid, group.namespace):
        pods += source.controlled(POD, str(job["metadata"]["uid"]), group.namespace)
    return [pod for pod in pods if group_of(pod, source) == group]


def find_host(name: str, pods: Iterable[Object]) -> Object:
    """The pod that answers to a name or an address; raises Unreachable, in the words of ssh."""
    named = [pod for pod in pods if name in names_of(pod)]
    if not named:
        raise Unreachable(f"Could not resolve hostname {name}: no pod of this job has that name")
    alive = [pod for pod in named if is_active(pod)]
    if not alive:
        raise Unreachable(f"connect to host {name}: Connection refused: its pod has ended")
    if len(alive) > 1:
        raise Unreachable(f"connect to host {name}: several pods of this job have that name")
    return alive[0]


def names_of(pod: Object) -> set[str]:
    host, domain = hosts.hostname_of(pod), hosts.domain_of(pod)
    names = {host}
    labels = domain.split(".") if domain else []
    # All that the search list of a pod would complete to the whole name.
    names |= {".".join([host, *labels[:count]]) for count in (1, 2, 3, len(labels)) if labels}
    address = (pod.get("status") or {}).get("podIP")
    return names | ({str(address)} if address else set())


def key_container(pod: Object) -> Object | None:
    """The container that ssh would reach: the first one that has the keys."""
    spec = pod["spec"]
    if not any(_is_keys(volume) for volume in spec.get("volumes") or ()):
        return None
    containers: Sequence[Object] = spec["containers"]
    for container in containers:
        mounts = container.get("volumeMounts") or ()
        if any(mount["name"] in KEY_VOLUMES for mount in mounts):
            return container
    return None


def _is_keys(volume: Object) -> bool:
    return volume["name"] in KEY_VOLUMES and bool(volume.get("secret"))


def _controller(obj: Object) -> Object:
    for reference in obj["metadata"].get("ownerReferences") or ():
        if reference.get("controller"):
            found: Object = reference
            return found
    return {}
