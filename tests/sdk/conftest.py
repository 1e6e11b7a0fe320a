"""A whole cluster in a process of its own, and the SDK's client for a namespace of each test."""

import itertools
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubeflow.common.types import KubernetesBackendConfig
from kubeflow.trainer import TrainerClient

from support.ours import start_ours
from support.server import Server

Object = dict[str, Any]
PROGRAMS = Path(__file__).parent / "programs"
PYTHON = Path(sys.executable).parent
DEADLINE_SECONDS = 90.0
IMAGES = {
    "images": [
        {
            "match": f"ghcr.io/kubeflow/trainer/{kind}-initializer*",
            "path": [str(PROGRAMS)],
            "cmd": ["fetch", kind],
        }
        for kind in ("dataset", "model")
    ],
    "environments": {"training": {"path": [str(PROGRAMS), str(PYTHON)]}},
}
TRAINER = "apis/trainer.kubeflow.org/v1alpha1"
_numbers = itertools.count(1)


@dataclass
class Namespace:
    """One namespace of a running cluster, through the SDK and beside it."""

    server: Server
    name: str
    client: TrainerClient

    def send(self, method: str, path: str, body: Any = None, kind: str = "") -> Any:
        headers = {"Content-Type": kind} if kind else None
        with self.server.client() as client:
            answer = client.send(method, path, body, headers)
        assert answer.status < 300, answer.body
        return answer.json

    def path(self, group: str, plural: str, name: str = "") -> str:
        """`group` is `api/v1` or `apis/GROUP/VERSION`."""
        base = f"/{group}/namespaces/{self.name}/{plural}"
        return f"{base}/{name}" if name else base

    def all(self, group: str, plural: str) -> list[Object]:
        found: list[Object] = self.send("GET", self.path(group, plural))["items"]
        return found

    def train_job(self, name: str) -> Object:
        found: Object = self.send("GET", self.path(TRAINER, "trainjobs", name))
        return found

    def create(self, group: str, plural: str, obj: Object) -> Object:
        made: Object = self.send("POST", self.path(group, plural), obj)
        return made

    def until(self, what: str, is_so: Callable[[], Any]) -> Any:
        ends_at = time.monotonic() + DEADLINE_SECONDS
        while time.monotonic() < ends_at:
            found = is_so()
            if found:
                return found
            time.sleep(0.05)
        raise AssertionError(f"never: {what}\n{self.told()}")

    def told(self) -> str:
        """How things are, for whoever reads why a test failed."""
        pods = [(pod["metadata"]["name"], pod["status"]) for pod in self.all("api/v1", "pods")]
        events = [
            (event["involvedObject"]["name"], event["reason"], event["message"])
            for event in self.all("api/v1", "events")
        ]
        logs = [f"{name}: {self._log(name)}" for name, _ in pods]
        return "\n".join(map(str, pods + events + logs))

    def _log(self, pod: str) -> str:
        with self.server.client() as client:
            path = self.path("api/v1", "pods", pod)
            return client.send("GET", f"{path}/log?tailLines=20").body.decode()

    def finish(self, name: str) -> Any:
        """The SDK's view of a job that completed."""
        try:
            return self.client.wait_for_job_status(name, timeout=60, polling_interval=1)
        except TimeoutError as late:
            raise AssertionError(self.told()) from late


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    directory = tmp_path_factory.mktemp("cluster")
    images = directory / "images.yaml"
    images.write_text(yaml.safe_dump(IMAGES))
    server = start_ours(directory, flags=("--images", str(images), "--gpus", "2"))
    yield server
    server.stop()


@pytest.fixture
def namespace(server: Server) -> Namespace:
    name = f"sdk-{next(_numbers)}"
    settings = KubernetesBackendConfig(namespace=name, config_file=str(server.kubeconfig))
    made = Namespace(server, name, TrainerClient(backend_config=settings))
    made.send("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    return made
