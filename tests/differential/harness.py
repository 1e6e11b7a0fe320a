"""Two control planes side by side, kube-controller-manager's and ours: a story does the same to
both and compares what they say after each move."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from pprint import pformat
from typing import Any

from fleetqueue.api.times import format_time
from fleetqueue.base.clock import SystemClock
from support.ours import start_ours
from support.reference import start_reference
from support.server import PlainClient, Server

STEADY_SECONDS = 1.7
"""Both sides must agree for so long: the real Job controller waits a second before it looks."""
STEADY_LOOKS = 6
"""And for so many looks, which take longer where the machine is busy, as the controllers do."""
AGREE_SECONDS_MAX = 120.0
POLL_SECONDS = 0.25
RECORD_SECONDS = 5
"""A recording watch ends and begins anew so often."""
STORIES_AT_ONCE = 6
MERGE = {"Content-Type": "application/merge-patch+json"}
NODE = "node-of-the-test"
Object = dict[str, Any]
_GROUPS = {
    "Pod": ("/api/v1", "pods"),
    "Event": ("/api/v1", "events"),
    "Namespace": ("/api/v1", "namespaces"),
    "ServiceAccount": ("/api/v1", "serviceaccounts"),
    "ResourceQuota": ("/api/v1", "resourcequotas"),
    "Service": ("/api/v1", "services"),
    "PersistentVolumeClaim": ("/api/v1", "persistentvolumeclaims"),
    "Job": ("/apis/batch/v1", "jobs"),
    "CronJob": ("/apis/batch/v1", "cronjobs"),
    "ReplicaSet": ("/apis/apps/v1", "replicasets"),
    "Deployment": ("/apis/apps/v1", "deployments"),
    "StatefulSet": ("/apis/apps/v1", "statefulsets"),
    "DaemonSet": ("/apis/apps/v1", "daemonsets"),
    "ControllerRevision": ("/apis/apps/v1", "controllerrevisions"),
    "Node": ("/api/v1", "nodes"),
    "Endpoints": ("/api/v1", "endpoints"),
    "EndpointSlice": ("/apis/discovery.k8s.io/v1", "endpointslices"),
    "PodDisruptionBudget": ("/apis/policy/v1", "poddisruptionbudgets"),
}


def path_of(kind: str, namespace: str = "", name: str = "", subresource: str = "") -> str:
    prefix, plural = _GROUPS[kind]
    inside = f"/namespaces/{namespace}" if namespace else ""
    rest = "".join(f"/{part}" for part in (name, subresource) if part)
    return f"{prefix}{inside}/{plural}{rest}"


class Side:
    """One control plane and one namespace of it."""

    def __init__(self, server: Server, namespace: str) -> None:
        self.name = server.name
        self.namespace = namespace
        self._server = server
        self._client: PlainClient = server.client()
        self._records: dict[str, Record] = {}

    def close(self) -> None:
        self._client.close()
        for record in self._records.values():
            record.is_over.set()

    def send(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> Object:
        answer = self._client.send(method, path, body, headers)
        assert answer.status < 300, (self.name, method, path, answer.json)
        found: Object = answer.json
        return found

    def create(self, obj: Object) -> Object:
        return self.send("POST", path_of(obj["kind"], self.namespace), obj)

    def get(self, kind: str, name: str) -> Object | None:
        answer = self._client.send("GET", path_of(kind, self.namespace, name))
        assert answer.status in (200, 404), answer.json
        return answer.json if answer.status == 200 else None

    def all(self, kind: str, selector: str = "") -> list[Object]:
        query = f"?labelSelector={selector}" if selector else ""
        items: list[Object] = self.send("GET", path_of(kind, self.namespace) + query)["items"]
        return items

    def patch(self, kind: str, name: str, patch: Object, subresource: str = "") -> Object:
        path = path_of(kind, self.namespace, name, subresource)
        return self.send("PATCH", path, patch, MERGE)

    def delete(self, kind: str, name: str, **options: Any) -> None:
        path = path_of(kind, self.namespace, name)
        answer = self._client.send("DELETE", path, options or None)
        assert answer.status in (200, 202, 404), answer.json

    # What was written in between, which a look now and then would miss

    def record(self, created: Object) -> None:
        """Keep every state of that object from here on; one of a kind."""
        self._records[created["kind"]] = Record(self._server, created)

    def record_of(self, kind: str) -> list[Object]:
        """Every state until now, none where nothing was recorded."""
        record = self._records.get(kind)
        if record is None:
            return []
        name = record.states[0]["metadata"]["name"]
        ends_at = time.monotonic() + AGREE_SECONDS_MAX
        while not record.has(self.get(kind, name)):
            assert record.thread.is_alive(), f"{self.name}: the record of {kind} broke off"
            assert time.monotonic() < ends_at, f"{self.name}: the record of {kind} is late"
            time.sleep(POLL_SECONDS)
        return list(record.states)

    # Pods, moved as a scheduler and a kubelet move them

    def pods(self, select: Callable[[Object], bool] = lambda pod: True) -> list[Object]:
        """By completion index, then by name."""
        return sorted(filter(select, self.all("Pod")), key=_pod_order)

    def bind(self, pod: Object) -> None:
        name = pod["metadata"]["name"]
        if pod["spec"].get("nodeName"):
            return
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": name},
            "target": {"kind": "Node", "name": NODE},
        }
        self.send("POST", path_of("Pod", self.namespace, name, "binding"), binding)

    def start(self, pod: Object, *, ready: bool = True, restarts: int = 0) -> None:
        self.bind(pod)
        states = [
            _container(pod, each, {"running": {"startedAt": ago(60)}}, ready, restarts)
            for each in pod["spec"]["containers"]
        ]
        self.set_status(pod, "Running", [_ready(ready)], states)

    def succeed(self, pod: Object, seconds_ago: int = 3600) -> None:
        self.finish(pod, "Succeeded", 0, seconds_ago)

    def fail(self, pod: Object, exit_code: int = 1, seconds_ago: int = 3600, **more: Any) -> None:
        """Long ago by default, so that no back-off is left to wait for."""
        self.finish(pod, "Failed", exit_code, seconds_ago, **more)

    def finish(
        self,
        pod: Object,
        phase: str,
        exit_code: int,
        seconds_ago: int,
        conditions: Sequence[Object] = (),
    ) -> None:
        self.bind(pod)
        ended = {
            "exitCode": exit_code,
            "startedAt": ago(seconds_ago + 1),
            "finishedAt": ago(seconds_ago),
            "reason": "Completed" if exit_code == 0 else "Error",
        }
        states = [
            _container(pod, each, {"terminated": ended}, False)
            for each in pod["spec"]["containers"]
        ]
        self.set_status(pod, phase, [_ready(False), *conditions], states)

    def set_status(
        self, pod: Object, phase: str, conditions: Sequence[Object], states: Sequence[Object]
    ) -> None:
        status = {"phase": phase, "conditions": conditions, "containerStatuses": states}
        self.patch("Pod", pod["metadata"]["name"], {"status": status}, "status")

    def remove(self, pod: Object) -> None:
        """As a kubelet does when the containers of a deleted pod have ended."""
        self.delete("Pod", pod["metadata"]["name"], gracePeriodSeconds=0)


class Record:
    """All states of one object, watched by a thread of its own."""

    def __init__(self, server: Server, created: Object) -> None:
        self.states = [created]
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self._run, args=(server,), daemon=True)
        self.thread.start()

    def has(self, state: Object | None) -> bool:
        version = state and state["metadata"]["resourceVersion"]
        return version in [None, *(each["metadata"]["resourceVersion"] for each in self.states)]

    def _run(self, server: Server) -> None:
        with server.client() as client:
            while not self.is_over.is_set():
                self._watch(client)

    def _watch(self, client: PlainClient) -> None:
        metadata = self.states[-1]["metadata"]
        path = path_of(self.states[0]["kind"], metadata["namespace"])
        query = (
            f"?watch=1&timeoutSeconds={RECORD_SECONDS}&resourceVersion={metadata['resourceVersion']}"
            f"&fieldSelector=metadata.name%3D{metadata['name']}"
        )
        for line in client.send("GET", path + query).body.splitlines():
            event = json.loads(line)
            assert event["type"] != "ERROR", event
            self.states.append(event["object"])


@dataclass
class Planes:
    """Both control planes, running."""

    reference: Server
    ours: Server

    def tell(self, stories: Mapping[str, Callable[["Story"], None]]) -> dict[str, Future[None]]:
        """All of them, several at a time: each is its own namespace and mostly waits."""
        pool = ThreadPoolExecutor(STORIES_AT_ONCE)
        told = {name: pool.submit(self._tell, name, story) for name, story in stories.items()}
        pool.shutdown(wait=False)
        return told

    def _tell(self, name: str, story: Callable[["Story"], None]) -> None:
        with self.story(name.replace("_", "-")[:63].strip("-")) as made:
            story(made)

    @contextmanager
    def story(self, namespace: str) -> Iterator["Story"]:
        made = Story(Side(self.reference, namespace), Side(self.ours, namespace))
        try:
            made.both(_open_namespace)
            yield made
        finally:
            made.both(lambda side: side.close())


@dataclass
class Story:
    """The same things done to both sides."""

    reference: Side
    ours: Side

    def both(self, act: Callable[[Side], Any]) -> None:
        for side in (self.reference, self.ours):
            act(side)

    def agree(self, look: Callable[[Side], Any], what: str = "") -> Any:
        """What both say once they say the same, and keep to it."""
        ends_at = time.monotonic() + AGREE_SECONDS_MAX
        since, last, looks = time.monotonic(), None, 0
        real = mine = None
        while time.monotonic() < ends_at:
            real, mine = look(self.reference), look(self.ours)
            now = time.monotonic()
            looks += 1
            if real != mine or real != last:
                since, last, looks = now, real, 0
            elif now - since >= STEADY_SECONDS and looks >= STEADY_LOOKS:
                return real
            time.sleep(POLL_SECONDS)
        raise AssertionError(f"{what}\n--- {self.reference.name}\n{pformat(real, width=150)}\n"
                             f"--- ours\n{pformat(mine, width=150)}")  # fmt: skip

    def until(self, ready: Callable[[Side], bool], what: str) -> None:
        """Until it is so on both sides, each in its own time."""
        ends_at = time.monotonic() + AGREE_SECONDS_MAX
        for side in (self.reference, self.ours):
            while not ready(side):
                assert time.monotonic() < ends_at, f"{side.name}: {what}: never"
                time.sleep(POLL_SECONDS)


@contextmanager
def start_planes(
    directory: Path, *, controllers: Sequence[str], operators: Sequence[str]
) -> Iterator[Planes]:
    """kube-controller-manager with `controllers` more, and ours with `operators`
    (`module:NAME`)."""
    ours = start_ours(directory / "ours")
    try:
        with (directory / "controllers.log").open("wb") as log:
            script = str(Path(__file__).with_name("controllers.py"))
            command = [sys.executable, script, str(ours.kubeconfig), *operators]
            ours.processes.append(subprocess.Popen(command, stdout=log, stderr=log))
        reference = start_reference(directory / "reference", more_controllers=controllers)
        try:
            yield Planes(reference, ours)
        finally:
            reference.stop()
    finally:
        ours.stop()


def ago(seconds: int) -> str:
    return format_time(SystemClock().now() - timedelta(seconds=seconds))


def _open_namespace(side: Side) -> None:
    name = {"metadata": {"name": side.namespace}}
    side.send("POST", path_of("Namespace"), {"apiVersion": "v1", "kind": "Namespace", **name})
    ends_at = time.monotonic() + AGREE_SECONDS_MAX
    while side.get("ServiceAccount", "default") is None:
        assert time.monotonic() < ends_at, f"{side.name} made no service account"
        time.sleep(POLL_SECONDS)


def _pod_order(pod: Object) -> tuple[int, str]:
    labels = pod["metadata"].get("labels") or {}
    index = labels.get("batch.kubernetes.io/job-completion-index", "-1")
    return int(index), str(pod["metadata"]["name"])


def _ready(value: bool) -> Object:
    return {"type": "Ready", "status": str(value), "lastTransitionTime": ago(60)}


def _container(
    pod: Object, container: Object, state: Object, ready: bool, restarts: int = 0
) -> Object:
    return {
        "name": container["name"],
        "image": container["image"],
        "imageID": "",
        "ready": ready,
        "restartCount": restarts,
        "state": state,
        "lastState": {},
    }
