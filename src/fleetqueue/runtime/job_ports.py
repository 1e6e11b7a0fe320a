"""Gives the pods of a job their ports, for as long as one of them lives."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from fleetqueue.kube.resources import Object
from fleetqueue.runtime import hosts
from fleetqueue.runtime.port_claims import PortClaims
from fleetqueue.runtime.ports import WELL_KNOWN, Hosts, JobPorts, PodPorts

_GROUP_KEYS = (
    ("leaderworkerset.sigs.k8s.io/name", "leaderworkerset.sigs.k8s.io/group-index"),
    ("jobset.sigs.k8s.io/jobset-name", ""),
    ("ray.io/cluster", ""),
    ("training.kubeflow.org/job-name", ""),
    ("kueue.x-k8s.io/pod-group-name", ""),
    ("batch.kubernetes.io/job-name", ""),
)
"""Labels that name the job of a pod, the outermost first; the second one is a part of that name."""


@dataclass(frozen=True, slots=True)
class JobName:
    """What the pods of a job have in common. Two kinds may have jobs of the same name."""

    namespace: str
    label: str
    name: str


@dataclass(slots=True)
class _Running:
    """A job that has pods on this machine."""

    ports: JobPorts
    pods: dict[str, PodPorts] = field(default_factory=dict)
    addresses: dict[str, str] = field(default_factory=dict)


class PortsOfJobs:
    """Servers that are no part of a job keep their ports: others find them by these."""

    def __init__(self, claims: PortClaims) -> None:
        self._claims = claims
        self._jobs: dict[JobName, _Running] = {}
        self._job_of: dict[str, JobName] = {}
        self._by_address: dict[str, str] = {}

    def join(self, pod: Object, address: str, services: Iterable[Object] = ()) -> PodPorts | None:
        """The ports of a pod; None for one that keeps what it asks for. `services` are those of its
        namespace.
        """
        name, uid = job_of(pod), str(pod["metadata"]["uid"])
        if name is None or pod["spec"].get("hostNetwork"):
            return None
        job = self._jobs.get(name)
        if job is None:
            job = self._jobs[name] = _Running(self._new_ports())
        if uid not in job.pods:
            job.pods[uid] = PodPorts(job.ports, hosts.hostname_of(pod))
            job.addresses[uid] = address
            self._job_of[uid] = name
            self._by_address[address] = uid
        listed = list(services)
        own = _hosts_of(pod, name, job.addresses.values(), listed)
        job.pods[uid].hosts = replace(own, elsewhere=self._elsewhere(name, listed))
        return job.pods[uid]

    def leave(self, uid: str) -> None:
        """A pod has ended; the ports of a job go with the last one."""
        name = self._job_of.pop(uid, None)
        if name is None:
            return
        job = self._jobs[name]
        address = job.addresses.pop(uid)
        del job.pods[uid]
        if self._by_address.get(address) == uid:
            del self._by_address[address]
        if not job.pods:
            del self._jobs[name]
            self._claims.release(job.ports.given)

    def used_port(self, address: str, port: int) -> int:
        """What the processes of the pod at an address were told in place of a port."""
        uid = self._by_address.get(address)
        name = self._job_of.get(uid or "")
        pod = self._jobs[name].pods[uid] if uid is not None and name is not None else None
        return pod.used.get(port, port) if pod is not None else port

    def _elsewhere(self, own: JobName, services: Iterable[Object]) -> dict[str, dict[int, int]]:
        """Who submits to a cluster of Ray is a job of its own, with a name that begins alike."""
        found: dict[str, dict[int, int]] = {}
        for service in filter(hosts.is_headless, services):
            name = _named_by(service["spec"].get("selector") or {}, own.namespace)
            if name is not None and name != own:
                job = self._jobs.get(name)
                found[service["metadata"]["name"]] = job.ports.shared if job is not None else {}
        return found

    def _new_ports(self) -> JobPorts:
        # Asked before the job runs: what it listens on itself by then is its own.
        free = self._claims.free_among(WELL_KNOWN)

        def allocate(asked: int) -> int:
            is_free = asked in free if asked in WELL_KNOWN else self._claims.is_free(asked)
            return self._claims.take(asked, keeps=is_free)

        return JobPorts(allocate)


def job_of(pod: Object) -> JobName | None:
    """The job that a pod is a part of; None for servers and pods that stand alone."""
    return _named_by(pod["metadata"].get("labels") or {}, pod["metadata"]["namespace"])


def _named_by(labels: Mapping[str, str], namespace: str) -> JobName | None:
    for label, part in _GROUP_KEYS:
        if label in labels and (not part or part in labels):
            name = f"{labels[label]}-{labels[part]}" if part else labels[label]
            return JobName(namespace, label, name)
    return None


def _hosts_of(
    pod: Object, job: JobName, addresses: Iterable[str], services: Iterable[Object]
) -> Hosts:
    subdomain = (pod.get("spec") or {}).get("subdomain") or ""
    names = frozenset({hosts.hostname_of(pod), pod["metadata"]["name"], *addresses})
    # Groups of a LeaderWorkerSet share a domain, so it does not tell whose a name is.
    is_own = subdomain and not job.label.startswith("leaderworkerset")
    others = frozenset(each["metadata"]["name"] for each in services if not hosts.is_headless(each))
    return Hosts(names, (job.name,), (subdomain,) if is_own else (), others)
