"""Where admission works: as a process beside a real kube-apiserver, and inside our server; and a
kube-apiserver on which nobody admits, for what the requests alone cost.
"""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fleetqueue.installation import NAME
from support.ours import start_ours
from support.ports import free_port
from support.reference import start_reference
from support.server import Server

LOG = "controller.log"
LOG_LINES = 20


@dataclass(frozen=True, slots=True)
class Door:
    """A cluster, and its processes by what they are called in the report."""

    name: str
    server: Server
    pids: dict[str, int]
    directory: Path

    def problem(self) -> str:
        """What is wrong with its processes; "" : nothing."""
        names = {pid: name for name, pid in self.pids.items()}
        for each in self.server.processes:
            if each.poll() is not None:
                return f"{names.get(each.pid, each.pid)} ended with {each.returncode}"
        return ""

    def log_tail(self) -> str:
        """The last words of our controller, where it is a process of its own."""
        log = self.directory / LOG
        lines = log.read_text(errors="replace").splitlines() if log.exists() else []
        return "\n".join(lines[-LOG_LINES:])


def reference(directory: Path) -> Door:
    """etcd, kube-apiserver, and `fleetqueue controller` with its webhooks."""
    return _beside(directory, "kube-apiserver", "fleetqueue", _start_controller)


def bare(directory: Path) -> Door:
    """etcd, kube-apiserver, and somebody who converts objects: no controller, no webhooks."""
    return _beside(directory, "kube-apiserver alone", "conversions", _start_conversions)


def beside_ours(directory: Path) -> Door:
    """`fleetqueue controller` beside a server of ours on which nothing else runs."""
    server = start_ours(directory / "data", durability="memory")
    pids = {"server": server.processes[0].pid, "fleetqueue": _start_controller(server, directory)}
    return Door("fleetqueue controller", server, pids, directory)


def _beside(directory: Path, name: str, ours: str, start: Callable[[Server, Path], int]) -> Door:
    server = start_reference(directory)
    names = ("etcd", "kube-apiserver", "kube-controller-manager")
    pids = {name: each.pid for name, each in zip(names, server.processes, strict=True)}
    try:
        pids[ours] = start(server, directory)
    except BaseException:
        server.stop()
        raise
    return Door(name, server, pids, directory)


def embedded(directory: Path) -> Door:
    """`fleetqueue serve`, one process that is all of it; no nodes of this machine."""
    server = start_ours(directory / "data", flags=("--simulate",))
    return Door("embedded", server, {"fleetqueue": server.processes[0].pid}, directory)


def _start_controller(server: Server, directory: Path) -> int:
    port = free_port()
    reach = _install(server, port)
    listens = ("--webhook-host", "127.0.0.1", "--webhook-port", str(port))
    command = ("-m", "fleetqueue", "controller", *reach, *listens, "--no-leader-elect")
    return _spawn(server, directory, command)


def _start_conversions(server: Server, directory: Path) -> int:
    port = free_port()
    _install(server, port)
    with server.client() as client:
        for kind in ("mutating", "validating"):
            path = f"/apis/admissionregistration.k8s.io/v1/{kind}webhookconfigurations"
            answer = client.send("DELETE", f"{path}/{NAME}-{kind}-webhook-configuration")
            assert answer.status == 200, answer.body
    command = ("-m", "benchmarks.admission.conversions", str(server.kubeconfig), str(port))
    return _spawn(server, directory, command)


def _install(server: Server, port: int) -> tuple[str, ...]:
    """How our processes reach the server, and it them."""
    reach = ("--kubeconfig", str(server.kubeconfig), "--webhook-url", f"https://127.0.0.1:{port}")
    command = (sys.executable, "-m", "fleetqueue", "install", *reach)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return reach


def _spawn(server: Server, directory: Path, command: tuple[str, ...]) -> int:
    with (directory / LOG).open("wb") as log:
        process = subprocess.Popen([sys.executable, *command], stdout=log, stderr=log)
    server.processes.append(process)
    return process.pid


DOORS = {"kube-apiserver": reference, "embedded": embedded}
