"""A whole cluster in a process of its own, started as a user starts it, for all tests here."""

import http.client
import os
import signal
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from live.watching import Watches
from support.ours import start_ours
from support.server import Server

Object = dict[str, Any]
PROGRAM = Path(__file__).parent / "allreduce.py"
DEADLINE_SECONDS = 180.0
PLURALS = {
    "Pod": "/api/v1/namespaces/{ns}/pods",
    "Service": "/api/v1/namespaces/{ns}/services",
    "ConfigMap": "/api/v1/namespaces/{ns}/configmaps",
    "Event": "/api/v1/namespaces/{ns}/events",
    "Job": "/apis/batch/v1/namespaces/{ns}/jobs",
    "Deployment": "/apis/apps/v1/namespaces/{ns}/deployments",
    "StatefulSet": "/apis/apps/v1/namespaces/{ns}/statefulsets",
    "JobSet": "/apis/jobset.x-k8s.io/v1alpha2/namespaces/{ns}/jobsets",
    "PyTorchJob": "/apis/kubeflow.org/v1/namespaces/{ns}/pytorchjobs",
    "TFJob": "/apis/kubeflow.org/v1/namespaces/{ns}/tfjobs",
    "JAXJob": "/apis/kubeflow.org/v1/namespaces/{ns}/jaxjobs",
    "XGBoostJob": "/apis/kubeflow.org/v1/namespaces/{ns}/xgboostjobs",
    "PaddleJob": "/apis/kubeflow.org/v1/namespaces/{ns}/paddlejobs",
    "TrainJob": "/apis/trainer.kubeflow.org/v1alpha1/namespaces/{ns}/trainjobs",
    "TrainingRuntime": "/apis/trainer.kubeflow.org/v1alpha1/namespaces/{ns}/trainingruntimes",
    "MPIJob": "/apis/kubeflow.org/v2beta1/namespaces/{ns}/mpijobs",
    "RayJob": "/apis/ray.io/v1/namespaces/{ns}/rayjobs",
    "RayCluster": "/apis/ray.io/v1/namespaces/{ns}/rayclusters",
    "RayService": "/apis/ray.io/v1/namespaces/{ns}/rayservices",
    "AppWrapper": "/apis/workload.codeflare.dev/v1beta2/namespaces/{ns}/appwrappers",
    "LeaderWorkerSet": "/apis/leaderworkerset.x-k8s.io/v1/namespaces/{ns}/leaderworkersets",
    "Workload": "/apis/kueue.x-k8s.io/v1beta2/namespaces/{ns}/workloads",
    "LocalQueue": "/apis/kueue.x-k8s.io/v1beta2/namespaces/{ns}/localqueues",
    "ClusterQueue": "/apis/kueue.x-k8s.io/v1beta2/clusterqueues",
    "Cohort": "/apis/kueue.x-k8s.io/v1beta2/cohorts",
    "ResourceFlavor": "/apis/kueue.x-k8s.io/v1beta2/resourceflavors",
    "AdmissionCheck": "/apis/kueue.x-k8s.io/v1beta2/admissionchecks",
    "Topology": "/apis/kueue.x-k8s.io/v1beta2/topologies",
    "MultiKueueConfig": "/apis/kueue.x-k8s.io/v1beta2/multikueueconfigs",
    "MultiKueueCluster": "/apis/kueue.x-k8s.io/v1beta2/multikueueclusters",
    "WorkloadPriorityClass": "/apis/kueue.x-k8s.io/v1beta2/workloadpriorityclasses",
}


class Live:
    """A running cluster as a test uses it, in a namespace of the test's own."""

    def __init__(self, directory: Path, *flags: str) -> None:
        self.directory = directory
        self._flags = flags
        self.namespace = "default"
        self._looked_at: dict[tuple[str, str], str] = {}
        """Lists, and single objects by name, with the revisions at which they were first seen."""
        self._seen: set[int] = set()
        self.server = self._start()

    def _start(self, port: int = 0) -> Server:
        return start_ours(self.directory, flags=self._flags, port=port)

    def use(self, namespace: str) -> None:
        self.namespace = namespace
        body = {"metadata": {"name": namespace}}
        assert self.send("POST", "/api/v1/namespaces", body)[0] == 201

    def send(self, method: str, path: str, body: Any = None, kind: str = "") -> tuple[int, Any]:
        headers = {"Content-Type": kind} if kind else None
        with self.server.client() as client:
            answer = client.send(method, path, body, headers)
        is_json = "json" in answer.header("content-type")
        return answer.status, answer.json if is_json else answer.body.decode()

    def open(self, path: str) -> tuple[socket.socket, http.client.HTTPResponse]:
        """An answer that goes on for as long as it is read."""
        connection = self.server.client().connect()
        connection.timeout = DEADLINE_SECONDS
        headers = {"Authorization": f"Bearer {self.server.token}"}
        connection.request("GET", path, headers=headers)
        opened: socket.socket = connection.sock
        return opened, connection.getresponse()

    def path(self, kind: str, name: str = "") -> str:
        base = PLURALS[kind].format(ns=self.namespace)
        return f"{base}/{name}" if name else base

    def create(self, obj: Object) -> Object:
        status, made = self.send("POST", self.path(obj["kind"]), obj)
        assert status == 201, made
        found: Object = made
        return found

    def get(self, kind: str, name: str) -> Object:
        status, found = self.send("GET", self.path(kind, name))
        assert status == 200, found
        obj: Object = found
        self._looked_at.setdefault((self.path(kind), name), obj["metadata"]["resourceVersion"])
        return obj

    def all(self, kind: str) -> list[Object]:
        status, answer = self.send("GET", self.path(kind))
        assert status == 200, answer
        self._looked_at.setdefault((self.path(kind), ""), answer["metadata"]["resourceVersion"])
        found: list[Object] = answer["items"]
        return found

    def pods(self, phase: str = "") -> list[str]:
        """The names of those in a phase."""
        found = [pod for pod in self.all("Pod") if phase in ("", pod["status"].get("phase"))]
        return sorted(str(pod["metadata"]["name"]) for pod in found)

    def patch(self, kind: str, name: str, patch: Object) -> None:
        status, answer = self.send(
            "PATCH", self.path(kind, name), patch, "application/merge-patch+json"
        )
        assert status == 200, answer

    def delete(self, kind: str, name: str) -> None:
        """With all that belongs to it, as kubectl does."""
        path = f"{self.path(kind, name)}?propagationPolicy=Background"
        assert self.send("DELETE", path)[0] in (200, 202)

    def logs(self, pod: str, query: str = "") -> str:
        status, text = self.send("GET", f"{self.path('Pod', pod)}/log{query}")
        assert status == 200, text
        return str(text)

    # Waiting

    def until(self, what: str, is_so: Callable[[], Any]) -> Any:
        """Looks again whenever something changed that was looked at, objects or processes."""
        ends_at = time.monotonic() + DEADLINE_SECONDS
        with Watches(self.open) as watches:
            while time.monotonic() < ends_at:
                self._looked_at.clear()
                self._seen.clear()
                watches.begin()
                found = is_so()
                if found:
                    return found
                assert self._looked_at or self._seen, "nothing is looked at that could change"
                for (path, name), revision in self._looked_at.items():
                    watches.follow_objects(path, name, revision)
                for pid in self._seen:
                    watches.follow_process(pid)
                watches.wait(ends_at - time.monotonic())
        pods = [(pod["metadata"]["name"], pod["status"]) for pod in self.all("Pod")]
        raise AssertionError(f"never: {what}\n{pods}\n{self.log_text()[-3000:]}")

    def says(self, pod: str, text: str) -> None:
        """Follows the log of a pod that runs until the text is in it."""
        connection, answer = self.open(f"{self.path('Pod', pod)}/log?follow=true")
        heard = ""
        with connection, answer:
            while text not in heard:
                line = answer.readline().decode()
                assert line, f"{pod} never said {text!r}: {heard!r}"
                heard += line

    def condition(self, kind: str, name: str, type: str) -> Object | None:
        """The one of that type, where it is true."""
        status = self.get(kind, name).get("status") or {}
        for each in status.get("conditions") or ():
            if each["type"] == type and each["status"] == "True":
                found: Object = each
                return found
        return None

    def phase(self, pod: str) -> str:
        return str((self.get("Pod", pod).get("status") or {}).get("phase") or "")

    def events(self, reason: str) -> list[str]:
        return [event["message"] for event in self.all("Event") if event["reason"] == reason]

    def log_text(self) -> str:
        return (self.directory / "serve.log").read_text()

    # Its processes

    def uids(self) -> set[str]:
        return {str(pod["metadata"]["uid"]) for pod in self.all("Pod")}

    def processes(self, uids: Iterable[str]) -> set[int]:
        """Those that live in the directories of these pods, whatever they have become."""
        marks = [f"/pods/{uid}/".encode() for uid in uids]
        found = set()
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                variables = (entry / "environ").read_bytes()
                is_zombie = ") Z " in (entry / "stat").read_text()
            except OSError:
                continue
            if not is_zombie and any(mark in variables for mark in marks):
                found.add(int(entry.name))
        self._seen |= found
        return found

    def kill(self) -> None:
        (process,) = self.server.processes
        os.kill(process.pid, signal.SIGKILL)
        process.wait()

    def start_again(self) -> None:
        self.server = self._start(int(self.server.url.rpartition(":")[2]))

    def stop(self) -> None:
        self.server.stop()


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    live = Live(tmp_path_factory.mktemp("cluster"))
    yield live
    live.stop()


@pytest.fixture
def live(cluster: Live, request: pytest.FixtureRequest) -> Live:
    count = request.session.stash.setdefault(_COUNT, 0) + 1
    request.session.stash[_COUNT] = count
    cluster.use(f"test-{count}")
    return cluster


_COUNT = pytest.StashKey[int]()
