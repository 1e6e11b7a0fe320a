"""Kueue behind either door, in processes of their own: within our server, and beside a
kube-apiserver that asks our webhooks. Pods stay pending on both; the test ends them.
"""

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from fleetqueue.api.kueue.config.manager import LeaderElection
from live.conftest import Live
from support.ours import start_ours
from support.ports import free_port
from support.reference import start_reference
from support.server import Server, wait_until

Object = dict[str, Any]
NODES = "nodes: [{name: tiny, mode: simulated, capacity: {cpu: 1m, memory: 1Mi, pods: '1'}}]\n"
API = "/apis/kueue.x-k8s.io/v1beta2"
ACCOUNT = "/api/v1/namespaces/kueue-system/serviceaccounts/kueue-controller-manager"
NAMESPACE = "kueue-system"
POLL_SECONDS = 0.1
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

    def send(self, method: str, path: str, body: Any = None, kind: str = "") -> tuple[int, Any]:
        """Asks again where it is too early: a CRD that got a new certificate is read anew."""
        while True:
            status, answer = super().send(method, path, body, kind)
            if status != 429:
                return status, answer
            time.sleep(POLL_SECONDS)

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
    return _attached(directory, "--no-leader-elect", more_controllers=("job-controller",))


def guarded_kube_apiserver(directory: Path) -> Server:
    """The webhooks answer, and nobody works on what is there: somebody else holds the lease."""
    return _attached(directory, "--leader-elect", is_led=True)


def _attached(
    directory: Path, *flags: str, is_led: bool = False, more_controllers: Sequence[str] = ()
) -> Server:
    server = start_reference(directory, more_controllers=more_controllers)
    try:
        port = free_port()
        install(server, directory, port)
        if is_led:
            _take_lease(server)
        start_controller(server, directory, port, *flags)
    except BaseException:
        server.stop()
        raise
    return server


def install(server: Server, directory: Path, port: int, *flags: str) -> None:
    """What `fleetqueue controller` needs there; its webhooks will be on that port."""
    run(directory, "install", "--kubeconfig", str(server.kubeconfig), *_url(port), *flags)


def start_controller(
    server: Server, directory: Path, port: int, *flags: str, is_verbose: bool = True
) -> None:
    """With the rights of its own account; returns when its webhooks answer."""
    rights = ["--kubeconfig", str(account(server, directory)), *["--verbose"] * is_verbose]
    listen = ["--webhook-host", "127.0.0.1", "--webhook-port", str(port)]
    arguments = command("controller", *rights, *_url(port), *listen, *flags)
    with (directory / "controller.log").open("ab") as log:
        controller = subprocess.Popen(arguments, stdout=log, stderr=log)
    server.processes.append(controller)
    wait_for_kueue(server, controller)


def wait_for_kueue(server: Server, controller: "subprocess.Popen[bytes]") -> None:
    with server.client() as client:
        wait_until("Kueue's webhooks", lambda: _answers(client.send, controller), 120)


def _url(port: int) -> list[str]:
    return ["--webhook-url", f"https://127.0.0.1:{port}"]


def _take_lease(server: Server) -> None:
    now = "2026-01-01T00:00:00.000000Z"
    spec = {
        "holderIdentity": "somebody",
        "leaseDurationSeconds": 86_400,
        "acquireTime": now,
        "renewTime": now,
    }
    metadata = {"name": LeaderElection().resource_name, "namespace": NAMESPACE}
    body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata}
    path = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"
    with server.client() as client:
        answer = client.send("POST", path, {**body, "spec": spec})
    assert answer.status == 201, answer.body


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


def account(server: Server, directory: Path) -> Path:
    """A kubeconfig of the account that was made for the controllers."""
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    with server.client() as client:
        made = client.send("POST", f"{ACCOUNT}/token", body)
    assert made.status == 201, made
    assert server.kubeconfig is not None
    text = server.kubeconfig.read_text().replace(server.token, made.json["status"]["token"])
    path = directory / "controller.kubeconfig"
    path.write_text(text)
    return path


def run(directory: Path, *arguments: str) -> None:
    done = subprocess.run(command(*arguments), capture_output=True, text=True, timeout=120)
    (directory / "install.log").write_text(done.stdout + done.stderr)
    assert done.returncode == 0, done.stderr


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "fleetqueue", *arguments]
