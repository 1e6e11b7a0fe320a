"""Logs of pods that are gone from their workers, in files under the manager's data directory; each
job's are in a directory of their own, and go when the job goes.
"""

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from fleetqueue.api.meta import Key
from fleetqueue.api.names import dns1123_label, dns1123_subdomain
from fleetqueue.api.selectors import LabelSelector
from fleetqueue.base import codec
from fleetqueue.kube.resources import Object, Resource, key_of
from fleetqueue.multikueue.reach import pods_of

TOTAL_BYTES_MAX = 4 * 1024**3
"""Beyond this the oldest are dropped, as nodes drop logs when their disks are full."""
INDEX = "job.json"
DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container"
_KINDS_OF_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")
_OF_STATUS = ("phase", "conditions", "startTime", "reason", "message")
_STATUSES = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")


class KeptJob(msgspec.Struct):
    """What is kept of a job, beside the text of its logs."""

    uid: str
    group: str
    kind: str
    namespace: str
    name: str
    worker: str
    size: int = 0
    pods: list[Object] = []

    @property
    def key(self) -> Key:
        return Key(self.namespace, self.name)


@dataclass(frozen=True, slots=True)
class Entry:
    """What is held in memory of a kept job."""

    key: Key
    group_kind: tuple[str, str]
    size: int
    pods: tuple[str, ...]


class Kept:
    """All that one manager keeps. Only names are held in memory."""

    def __init__(self, directory: Path, bytes_max: int = TOTAL_BYTES_MAX) -> None:
        self._directory = directory
        self._bytes_max = bytes_max
        self._jobs: dict[str, Entry] = {}
        """By uid, the oldest first."""
        self._pods: dict[Key, str] = {}
        """By pod: the job."""
        self._size = 0

    def load(self) -> None:
        """What an earlier process has kept; what it did not finish is dropped."""
        if not self._directory.is_dir():
            return
        found = []
        for place in self._directory.iterdir():
            job = self._read(place.name)
            if job is None:
                shutil.rmtree(place, ignore_errors=True)
            else:
                found.append((place.stat().st_mtime, job))
        for _, job in sorted(found, key=lambda pair: pair[0]):
            self._enter(job)

    def jobs(self) -> Mapping[str, Entry]:
        """By uid."""
        return self._jobs

    def find(self, key: Key) -> Object | None:
        """The pod of that name, as far as it is kept."""
        job = self._read(self._pods.get(key, ""))
        return next((pod for pod in job.pods if key_of(pod) == key), None) if job else None

    def select(self, namespace: str, wanted: LabelSelector) -> list[Object]:
        """Whoever names the uid of a job asks for its pods alone."""
        named = [uid for uid in pods_of.values_of(wanted) if uid in self._jobs]
        meant = named or [uid for uid, job in self._jobs.items() if job.key.namespace == namespace]
        jobs = [job for uid in meant if (job := self._read(uid)) is not None]
        return [
            pod
            for job in jobs
            if job.namespace == namespace
            for pod in job.pods
            if wanted.matches(pod["metadata"].get("labels"))
        ]

    def log(self, pod: Object, container: str, *, previous: bool = False) -> Path:
        uid = self._pods.get(key_of(pod), "")
        return log_path(self._directory / uid, key_of(pod).name, container, previous=previous)

    # Keeping

    def begin(self, uid: str) -> Path:
        """A new directory, which counts when it is ended."""
        place = self._directory / uid
        shutil.rmtree(place, ignore_errors=True)
        self._directory.mkdir(mode=0o700, exist_ok=True)
        place.mkdir(mode=0o700)
        return place

    def end(self, job: KeptJob) -> None:
        self.forget(job.uid)
        place = self._directory / job.uid
        job.size = sum(path.stat().st_size for path in place.rglob("*.log*"))
        index = place / INDEX
        index.touch(mode=0o600)
        index.write_bytes(msgspec.json.encode(job))
        self._enter(job)
        while self._size > self._bytes_max and len(self._jobs) > 1:
            self.drop(next(iter(self._jobs)))

    def drop(self, uid: str) -> None:
        if uid in self._jobs:
            self.forget(uid)
            shutil.rmtree(self._directory / uid, ignore_errors=True)

    def abandon(self, uid: str) -> None:
        """What was begun for a job and is not wanted any more."""
        self.forget(uid)
        shutil.rmtree(self._directory / uid, ignore_errors=True)

    def forget(self, uid: str) -> None:
        entry = self._jobs.pop(uid, None)
        if entry is None:
            return
        self._size -= entry.size
        for name in entry.pods:
            key = Key(entry.key.namespace, name)
            if self._pods.get(key) == uid:
                del self._pods[key]

    def _enter(self, job: KeptJob) -> None:
        names = tuple(key_of(pod).name for pod in job.pods)
        self._jobs[job.uid] = Entry(job.key, (job.group, job.kind), job.size, names)
        self._size += job.size
        self._pods |= {Key(job.namespace, name): job.uid for name in names}

    def _read(self, uid: str) -> KeptJob | None:
        if not uid:
            return None
        try:
            data = (self._directory / uid / INDEX).read_bytes()
            job = msgspec.json.decode(data, type=KeptJob)
        except (OSError, msgspec.DecodeError, msgspec.ValidationError):
            return None
        job.pods = [pod for pod in job.pods if is_well_named(pod)]
        return job


def log_path(place: Path, pod: str, container: str, *, previous: bool = False) -> Path:
    path = place / pod / f"{container}{'.previous' if previous else ''}.log"
    if path.resolve().parent.parent != place.resolve():
        raise ValueError(f"the log {path} is not in the directory of its job, {place}")
    return path


def is_well_named(pod: Object) -> bool:
    """As API servers let pods and containers be called. Their names become names of files, and
    whoever runs a worker may say anything.
    """
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    listed = [*map(spec.get, _KINDS_OF_CONTAINERS), *map(status.get, _STATUSES)]
    containers = (str(each.get("name") or "") for found in listed for each in found or ())
    return not dns1123_subdomain(key_of(pod).name) and not any(map(dns1123_label, containers))


def kept_job(job: Object, kind: Resource, worker: str, pods: list[Object]) -> KeptJob:
    key = key_of(job)
    uid = str(job["metadata"]["uid"])
    reduced_pods = [reduced(pod) for pod in pods if is_well_named(pod)]
    return KeptJob(uid, kind.group, kind.kind, key.namespace, key.name, worker, pods=reduced_pods)


def reduced(pod: Object) -> Object:
    """What `kubectl logs` and the Kubeflow SDK have to know of a pod. What it ran, and with which
    variables, is not written down: there may be secrets in it.
    """
    metadata, spec, status = pod["metadata"], pod["spec"], pod.get("status") or {}
    names = ("name", "namespace", "uid", "creationTimestamp", "labels", "ownerReferences")
    kept = {name: metadata[name] for name in names if metadata.get(name)}
    note = (metadata.get("annotations") or {}).get(DEFAULT_CONTAINER)
    if note:
        kept["annotations"] = {DEFAULT_CONTAINER: note}
    made: Object = {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": kept,
        "spec": {
            **{name: list(_named(spec[name])) for name in _KINDS_OF_CONTAINERS if spec.get(name)},
            "restartPolicy": spec.get("restartPolicy") or "Always",
            "nodeName": spec.get("nodeName") or "",
        },
        "status": {name: status[name] for name in (*_OF_STATUS, *_STATUSES) if status.get(name)},
    }
    copied: Object = codec.copy(made)
    return copied


def _named(containers: list[Object]) -> Iterator[Object]:
    for each in containers:
        resources = {"resources": each["resources"]} if each.get("resources") else {}
        yield {"name": each["name"], "image": each.get("image") or "", **resources}
