"""Where admission works: as a process beside a real kube-apiserver, and inside our server."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from support.ours import start_ours
from support.ports import free_port
from support.reference import start_reference
from support.server import Server


@dataclass(frozen=True, slots=True)
class Door:
    """A cluster, and its processes by what they are called in the report."""

    name: str
    server: Server
    pids: dict[str, int]


def reference(directory: Path) -> Door:
    """etcd, kube-apiserver, and `fleetqueue controller` with its webhooks."""
    server = start_reference(directory)
    names = ("etcd", "kube-apiserver", "kube-controller-manager")
    pids = {name: each.pid for name, each in zip(names, server.processes, strict=True)}
    try:
        pids["fleetqueue"] = _start_controller(server, directory)
    except BaseException:
        server.stop()
        raise
    return Door("kube-apiserver", server, pids)


def embedded(directory: Path) -> Door:
    """`fleetqueue serve`, one process that is all of it; no nodes of this machine."""
    server = start_ours(directory / "data", flags=("--simulate",))
    return Door("embedded", server, {"fleetqueue": server.processes[0].pid})


def _start_controller(server: Server, directory: Path) -> int:
    port = free_port()
    reach = ("--kubeconfig", str(server.kubeconfig), "--webhook-url", f"https://127.0.0.1:{port}")
    command = (sys.executable, "-m", "fleetqueue")
    subprocess.run([*command, "install", *reach], check=True, stdout=subprocess.DEVNULL)
    listens = ("--webhook-host", "127.0.0.1", "--webhook-port", str(port))
    with (directory / "controller.log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "controller", *reach, *listens, "--no-leader-elect"], stdout=log, stderr=log
        )
    server.processes.append(process)
    return process.pid


DOORS = {"kube-apiserver": reference, "embedded": embedded}
