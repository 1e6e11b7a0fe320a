"""A whole cluster in a process of its own, started as a user starts it, for all tests here."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.ours import start_ours
from support.server import Server

Object = dict[str, Any]
PROGRAM = Path(__file__).parent / "allreduce.py"
DEADLINE_SECONDS = 90.0
PLURALS = {
    "Pod": "/api/v1/namespaces/{ns}/pods",
    "Service": "/api/v1/namespaces/{ns}/services",
    "ConfigMap": "/api/v1/namespaces/{ns}/configmaps",
    "Event": "/api/v1/namespaces/{ns}/events",
    "Job": "/apis/batch/v1/namespaces/{ns}/jobs",
    "Deployment": "/apis/apps/v1/namespaces/{ns}/deployments",
    "JobSet": "/apis/jobset.x-k8s.io/v1alpha2/namespaces/{ns}/jobsets",
    "PyTorchJob": "/apis/kubeflow.org/v1/namespaces/{ns}/pytorchjobs",
    "TFJob": "/apis/kubeflow.org/v1/namespaces/{ns}/tfjobs",
    "JAXJob": "/apis/kubeflow.org/v1/namespaces/{ns}/jaxjobs",
    "XGBoostJob": "/apis/kubeflow.org/v1/namespaces/{ns}/xgboostjobs",
    "TrainJob": "/apis/trainer.kubeflow.org/v1alpha1/namespaces/{ns}/trainjobs",
    "MPIJob": "/apis/kubeflow.org/v2beta1/namespaces/{ns}/mpijobs",
    "RayJob": "/apis/ray.io/v1/namespaces/{ns}/rayjobs",
    "AppWrapper": "/apis/workload.codeflare.dev/v1beta2/namespaces/{ns}/appwrappers",
    "LeaderWorkerSet": "/apis/leaderworkerset.x-k8s.io/v1/namespaces/{ns}/leaderworkersets",
}


class Live:
    """A running cluster as a test uses it, in a namespace of the test's own."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.namespace = "default"
        self.server = self._start()

    def _start(self, port: int = 0) -> Server:
        return start_ours(self.directory, flags=(), port=port)

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
        return obj

    def all(self, kind: str) -> list[Object]:
        found: list[Object] = self.send("GET", self.path(kind))[1]["items"]
        return found

    def patch(self, kind: str, name: str, patch: Object) -> None:
        status, answer = self.send(
            "PATCH", self.path(kind, name), patch, "application/merge-patch+json"
        )
        assert status == 200, answer

    def delete(self, kind: str, name: str) -> None:
        assert self.send("DELETE", self.path(kind, name))[0] in (200, 202)

    def logs(self, pod: str, query: str = "") -> str:
        status, text = self.send("GET", f"{self.path('Pod', pod)}/log{query}")
        assert status == 200, text
        return str(text)

    def until(self, what: str, is_so: Callable[[], Any]) -> Any:
        ends_at = time.monotonic() + DEADLINE_SECONDS
        while time.monotonic() < ends_at:
            found = is_so()
            if found:
                return found
            time.sleep(0.05)
        pods = [(pod["metadata"]["name"], pod["status"]) for pod in self.all("Pod")]
        raise AssertionError(f"never: {what}\n{pods}\n{self.log_text()[-3000:]}")

    def condition(self, kind: str, name: str, type: str) -> bool:
        status = self.get(kind, name).get("status") or {}
        return any(
            each["type"] == type and each["status"] == "True"
            for each in status.get("conditions") or ()
        )

    def phase(self, pod: str) -> str:
        return str((self.get("Pod", pod).get("status") or {}).get("phase") or "")

    def events(self, reason: str) -> list[str]:
        return [event["message"] for event in self.all("Event") if event["reason"] == reason]

    def log_text(self) -> str:
        return (self.directory / "serve.log").read_text()

    # Its processes

    def processes(self, text: str) -> list[int]:
        """Those whose environment says that they belong to this cluster, by a text in their
        command.
        """
        found = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                is_zombie = ") Z " in (entry / "stat").read_text()
            except OSError:
                continue
            if text in command and not is_zombie:
                found.append(int(entry.name))
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
