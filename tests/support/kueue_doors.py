"""Kueue behind either door, in processes of their own: within our server, and beside a
kube-apiserver that asks our webhooks. Pods stay pending on both; the test ends them.
"""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from live.conftest import Live
from support.ours import start_ours
from support.ports import free_port
from support.reference import start_reference
from support.server import Server, wait_until

Object = dict[str, Any]
NODES = "nodes: [{name: tiny, mode: simulated, capacity: {cpu: 1m, memory: 1Mi, pods: '1'}}]\n"
API = "/apis/kueue.x-k8s.io/v1beta2"
SERVED = ("workloads", "clusterqueues", "localqueues", "cohorts", "resourceflavors")


class Door(Live):
    """A cluster with Kueue, in a namespace of the story's own."""

    def __init__(self, directory: Path, start: Callable[[Path], Server]) -> None:
        self._open = start
        super().__init__(directory)

    @property
    def name(self) -> str:
        return self.server.name

    def _start(self, port: int = 0) -> Server:
        return self._open(self.directory)

    def log_text(self) -> str:
        logs = sorted(self.directory.glob("*.log"))
        ours = [log for log in logs if log.stem in ("serve", "controller")]
        return "".join(log.read_text() for log in ours)

    def request(self, method: str, path: str, body: Any = None, kind: str = "") -> Object:
        """What must be answered well."""
        status, answer = self.send(method, path, body, kind)
        assert status < 300, answer
        found: Object = answer
        return found

    def patch_status(self, kind: str, name: str, patch: Object) -> None:
        path = f"{self.path(kind, name)}/status"
        self.request("PATCH", path, {"status": patch}, "application/merge-patch+json")

    def end_pods(self, prefix: str, count: int) -> None:
        """All pods of a Job succeed, as a kubelet would say it."""

        def pending() -> list[str]:
            found = [pod for pod in self.pods("Pending") if pod.startswith(prefix)]
            return found if len(found) == count else []

        for pod in self.until(f"{prefix} has {count} pods", pending):
            self.patch_status("Pod", pod, {"phase": "Succeeded"})


def embedded(directory: Path) -> Server:
    directory.mkdir(parents=True, exist_ok=True)
    nodes = directory / "nodes.yaml"
    nodes.write_text(NODES)
    return start_ours(directory, flags=("--simulate", "--nodes", str(nodes)))


def beside_kube_apiserver(directory: Path) -> Server:
    """`fleetqueue install`, then `fleetqueue controller`."""
    server = start_reference(directory, more_controllers=("job-controller",))
    try:
        port = free_port()
        options = ["--kubeconfig", str(server.kubeconfig), "--webhook-url"]
        options.append(f"https://127.0.0.1:{port}")
        _run(directory, "install", *options)
        listen = ["--webhook-host", "127.0.0.1", "--webhook-port", str(port)]
        arguments = _command("controller", *options, *listen, "--no-leader-elect")
        with (directory / "controller.log").open("ab") as log:
            controller = subprocess.Popen(arguments, stdout=log, stderr=log)
        server.processes.append(controller)
        with server.client() as client:
            wait_until("our webhooks", lambda: _answers(client.send, controller), 120)
    except BaseException:
        server.stop()
        raise
    return server


DOORS: dict[str, Callable[[Path], Server]] = {
    "https": embedded,
    "kube-apiserver": beside_kube_apiserver,
}


def _answers(send: Callable[..., Any], controller: "subprocess.Popen[bytes]") -> bool:
    """Whether the kinds are served with their conversion, and the webhooks answer."""
    assert controller.poll() is None, "the controller ended"
    if any(send("GET", f"{API}/{plural}").status != 200 for plural in SERVED):
        return False
    kind = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue"}
    body = {**kind, "metadata": {"name": "first"}}
    return bool(send("POST", f"{API}/clusterqueues?dryRun=All", body).status == 201)


def _run(directory: Path, *arguments: str) -> None:
    done = subprocess.run(_command(*arguments), capture_output=True, text=True, timeout=120)
    (directory / "install.log").write_text(done.stdout + done.stderr)
    assert done.returncode == 0, done.stderr


def _command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "fleetqueue", *arguments]
