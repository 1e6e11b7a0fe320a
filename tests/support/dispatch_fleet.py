"""A manager and its workers, each a kube-apiserver with `fleetqueue controller` beside it; the
manager reaches the workers by kubeconfigs of accounts that may do as little as others' suites let
them.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import yaml

from fleetqueue.api.crds import all_crds
from fleetqueue.multikueue import worker_access
from live.conftest import Live
from live.queues import named, offer
from support.kueue_doors import NAMESPACE, Door, install, start_controller
from support.ports import free_port
from support.reference import start_reference
from support.server import Server

Object = dict[str, Any]
FRAMEWORKS = {
    "batch/job": ("batch", "jobs"),
    "jobset.x-k8s.io/jobset": ("jobset.x-k8s.io", "jobsets"),
    "kubeflow.org/pytorchjob": ("kubeflow.org", "pytorchjobs"),
    "pod": ("", "pods"),
}
"""What is queued everywhere, and where its objects are."""
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
ACCOUNTS = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts"
SECRETS = f"/api/v1/namespaces/{NAMESPACE}/secrets"
CONTROLLER = "kueue.x-k8s.io/multikueue"
CHECK = "multikueue"
NOWHERE = "https://127.0.0.1:1"
MERGE = "application/merge-patch+json"
POLL_SECONDS = 0.1
DEADLINE_SECONDS = 120.0
QUEUE = "main"
_ALL = ["create", "delete", "get", "list", "patch", "update", "watch"]


class Cluster(Door):
    """A kube-apiserver with our controllers, which can be started again otherwise."""

    def __init__(self, directory: Path) -> None:
        self.port = free_port()
        super().__init__(directory, self._open_server)

    def _open_server(self, directory: Path) -> Server:
        server = start_reference(directory, more_controllers=("job-controller",))
        try:
            with server.client() as client:
                for crd in _crds():
                    assert client.send("POST", CRDS, crd).status == 201
            self.install(server)
            self.start_controllers(server)
        except BaseException:
            server.stop()
            raise
        return server

    def install(self, server: Server) -> None:
        install(server, self.directory, self.port, *configured(self.directory))

    def start_controllers(self, server: Server, **dispatching: Any) -> None:
        """With these settings of dispatching."""
        flags = configured(self.directory, **dispatching)
        start_controller(server, self.directory, self.port, "--no-leader-elect", *flags)

    def restart(self, **dispatching: Any) -> None:
        """The controllers alone."""
        ended = self.server.processes.pop()
        ended.terminate()
        ended.wait(60)
        self.start_controllers(self.server, **dispatching)


class Fleet:
    """One manager; workers by the names that it has for them."""

    def __init__(self, manager: Live, workers: dict[str, Door]) -> None:
        self.manager = manager
        self.workers = workers

    def use(self, namespace: str) -> None:
        for each in (self.manager, *self.workers.values()):
            each.use(namespace)

    def offer(self, cpu: str = "4", *, held: Sequence[str] = (), **spec: Any) -> None:
        """A queue of the story everywhere; workers that are held admit nothing yet."""
        checks = {"admissionChecks": [{"name": CHECK}]}
        offer(self.manager, QUEUE, cpu, admissionChecksStrategy=checks, **spec)
        for name, worker in self.workers.items():
            policy = {"stopPolicy": "Hold"} if name in held else {}
            offer(worker, QUEUE, cpu, **policy, **spec)
        # Who writes that has seen the queues, which is what a job's defaults go by.
        self.until("the manager's queue is open", self._is_open)

    def _is_open(self) -> bool:
        found = self.manager.get("LocalQueue", QUEUE)
        told = (found.get("status") or {}).get("conditions") or ()
        return any((each["type"], each["status"]) == ("Active", "True") for each in told)

    def stop(self, name: str, policy: str) -> None:
        """Of the story's queue on a worker: Hold, HoldAndDrain, or None to go on."""
        worker = self.workers[name]
        queue = f"{worker.namespace}-{QUEUE}"
        worker.patch("ClusterQueue", queue, {"spec": {"stopPolicy": policy}})

    def break_connection(self, name: str) -> Callable[[], None]:
        """The kubeconfig leads nowhere; what is returned puts the old one back."""
        path = f"{SECRETS}/{name}"
        status, secret = self.manager.send("GET", path)
        assert status == 200, secret
        text = worker_access.kubeconfig(NOWHERE, _authority(self.workers[name]), "none")
        broken = worker_access.secret(name, text)["data"]

        def write(data: Object) -> None:
            status, answer = self.manager.send("PATCH", path, {"data": data}, MERGE)
            assert status == 200, answer

        write(broken)
        return lambda: write(secret["data"])

    def until(self, what: str, is_so: Callable[[], Any], seconds: float = DEADLINE_SECONDS) -> Any:
        """Asks again and again: what is looked at is in several clusters."""
        ends_at = time.monotonic() + seconds
        while time.monotonic() < ends_at:
            found = is_so()
            if found:
                return found
            time.sleep(POLL_SECONDS)
        raise AssertionError(f"never: {what}\n{self._told()}")

    def _told(self) -> str:
        lines = []
        for name, each in {"manager": self.manager, **self.workers}.items():
            for workload in each.all("Workload"):
                lines.append(f"{name}: {workload['metadata']['name']}: {workload.get('status')}")
            lines.append(each.log_text()[-1500:])
        return "\n".join(lines)


def start(
    directory: Path,
    workers: Sequence[str],
    manager_kind: type[Cluster] = Cluster,
    worker_kind: type[Cluster] = Cluster,
) -> Fleet:
    """All at once, connected, with one check for all stories."""
    kinds = {"manager": manager_kind} | dict.fromkeys(workers, worker_kind)
    with ThreadPoolExecutor(len(kinds)) as pool:
        started = [pool.submit(kind, directory / name) for name, kind in kinds.items()]
    failed = [each.exception() for each in started if each.exception() is not None]
    clusters = [each.result() for each in started if each.exception() is None]
    if failed:
        for each in clusters:
            each.stop()
        raise AssertionError(failed)
    manager, *others = clusters
    fleet = Fleet(manager, dict(zip(workers, others, strict=True)))
    connect(fleet)
    return fleet


def connect(fleet: Fleet) -> None:
    for name, worker in fleet.workers.items():
        add_worker(fleet.manager, name, kubeconfig(worker))
    make_check(fleet.manager, CHECK, list(fleet.workers))
    for name in fleet.workers:
        fleet.until(f"{name} is connected", lambda name=name: is_connected(fleet.manager, name))
    active = ("True", "Active", "The admission check is active")
    fleet.until("the check", lambda: told(fleet.manager, "AdmissionCheck", CHECK) == active)


def embedded_manager(directory: Path, **dispatching: Any) -> Live:
    return Live(directory, "--simulate", *configured(directory, **dispatching))


def make_check(manager: Live, name: str, clusters: Sequence[str]) -> None:
    parameters = {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": name}
    manager.create(named("MultiKueueConfig", name, clusters=list(clusters)))
    manager.create(
        named("AdmissionCheck", name, controllerName=CONTROLLER, parameters=parameters)
    )  # fmt: skip


def add_worker(manager: Live, name: str, text: str) -> None:
    """The Secret has the name of the worker."""
    status, answer = manager.send("POST", SECRETS, worker_access.secret(name, text))
    assert status == 201, answer
    manager.create(worker_access.cluster(name, name))


def kubeconfig(worker: Door, account: str = "mksa") -> str:
    """Of an account with a role of its own, and a token that is asked for."""
    subject = {"kind": "ServiceAccount", "name": f"{account}-sa", "namespace": NAMESPACE}
    role = {"name": f"{account}-role"}
    group = "rbac.authorization.k8s.io"
    binding = {
        "metadata": {"name": f"{account}-crb"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", **role},
        "subjects": [subject],
    }
    if worker.send("GET", f"{ACCOUNTS}/{account}-sa")[0] == 404:
        worker.request("POST", ACCOUNTS, {"metadata": {"name": f"{account}-sa"}})
        worker.request("POST", f"{RBAC}/clusterroles", {"metadata": role, "rules": rules()})
        worker.request("POST", f"{RBAC}/clusterrolebindings", binding)
    spec = {"expirationSeconds": 7 * 24 * 3600}
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    made = worker.request("POST", f"{ACCOUNTS}/{account}-sa/token", body)
    return worker_access.kubeconfig(
        worker.server.url, _authority(worker), made["status"]["token"]
    )  # fmt: skip


def rules() -> list[Object]:
    """All that others' suites let a manager do on a worker."""
    group, read = "kueue.x-k8s.io", ["get", "list", "watch"]
    return [
        _rule(group, "workloads", _ALL),
        _rule(group, "workloads/status", ["get", "patch", "update"]),
        _rule(group, "clusterqueues", read),
        _rule(group, "localqueues", read),
        *(_rule(*where, _ALL) for where in FRAMEWORKS.values()),
        *(_rule(group, f"{plural}/status", ["get"]) for group, plural in FRAMEWORKS.values()),
    ]


def _rule(group: str, resource: str, verbs: list[str]) -> Object:
    return {"apiGroups": [group], "resources": [resource], "verbs": verbs}


def configured(directory: Path, **dispatching: Any) -> tuple[str, str]:
    """The flag that names a configuration; ports of its own, since all share this machine."""
    visibility = {"bindAddress": "127.0.0.1", "bindPort": free_port()}
    found = configuration(dispatching) | {"visibilityServer": visibility}
    path = directory / "kueue.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(found))
    return "--config", str(path)


def configuration(dispatching: Object) -> Object:
    """Of Kueue, as all of them understand it."""
    times = {"gcInterval": "2s", "workerLostTimeout": "3s"}
    return {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "integrations": {"frameworks": [*FRAMEWORKS, "deployment"]},
        "metrics": {"bindAddress": "0"},
        "multiKueue": {**times, **dispatching},
    }


def told(live: Live, kind: str, name: str, type: str = "Active") -> tuple[str, str, str]:
    """Status, reason and message of a condition."""
    found = live.get(kind, name).get("status") or {}
    for each in found.get("conditions") or ():
        if each["type"] == type:
            return each["status"], each["reason"], each["message"]
    return "", "", ""


def is_connected(manager: Live, worker: str) -> bool:
    return told(manager, "MultiKueueCluster", worker) == ("True", "Active", "Connected")


def _crds() -> Iterator[Object]:
    yield from all_crds("jobset.x-k8s.io")
    yield from (each for each in all_crds("kubeflow.org") if _is_torch(each))


def _is_torch(crd: Object) -> bool:
    return bool(crd["spec"]["names"]["kind"] == "PyTorchJob")


def _authority(worker: Door) -> bytes:
    return Path(worker.server.authority).read_bytes()
