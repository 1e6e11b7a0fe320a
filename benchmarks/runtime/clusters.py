"""The two clusters: kwok with etcd, kube-apiserver, kube-controller-manager and kube-scheduler;
and ours, which is one process. Both have the same nodes, TLS, and every write synced to disk.
"""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from support.ours import start_ours
from support.reference import ROOT, binaries, start_reference
from support.server import Server, wait_until

CONTROLLERS = ("job-controller", "replicaset-controller", "node-lifecycle-controller")
UNLIMITED = ("--kube-api-qps=5000", "--kube-api-burst=10000")
"""As kwokctl has it: what is measured is not a client that holds itself back."""
NODES = 10
CAPACITY = {"cpu": "1000", "memory": "1000Gi", "pods": "1000"}
ALONE = ("--no-queues",)
"""kwok has no queues either."""
Object = dict[str, Any]


def start_ours_simulated(directory: Path) -> Server:
    directory.mkdir(parents=True, exist_ok=True)
    nodes = directory / "nodes.yaml"
    nodes.write_text(
        yaml.safe_dump({"nodes": [{"name": "node", "count": NODES, "capacity": CAPACITY}]})
    )
    flags = ("--simulate", "--nodes", str(nodes), *ALONE)
    server = start_ours(directory / "data", durability="full", flags=flags)
    _wait_for_nodes(server)
    return server


def start_ours_with_processes(directory: Path) -> Server:
    server = start_ours(directory / "data", durability="full", flags=ALONE)
    _wait_for_nodes(server, 1)
    return server


def kwok() -> Path:
    """The directory of the binary and its stages; builds it if need be."""
    done = subprocess.run([str(ROOT / "scripts/kwok")], check=True, stdout=subprocess.PIPE)
    return Path(done.stdout.decode().strip().splitlines()[-1])


def start_kwok(directory: Path) -> Server:
    server = start_reference(
        directory, durable=True, more_controllers=CONTROLLERS, manager_flags=UNLIMITED
    )
    try:
        config = f"--kubeconfig={server.kubeconfig}"
        scheduler = [str(binaries() / "kube-scheduler"), config, "--leader-elect=false"]
        _spawn(server, directory, "kube-scheduler", [*scheduler, "--secure-port=0", *UNLIMITED])
        folder = kwok()
        stages = (f"--config={folder / 'stages.yaml'}", "--node-lease-duration-seconds=40")
        simulator = [str(folder / "kwok"), config, *stages, "--manage-all-nodes=true"]
        _spawn(server, directory, "kwok", simulator)
        with server.client() as client:
            for number in range(NODES):
                answer = client.send("POST", "/api/v1/nodes", _node(f"node-{number}"))
                assert answer.status == 201, answer.json
        _wait_for_nodes(server)
    except BaseException:
        server.stop()
        raise
    return server


def _node(name: str) -> Object:
    labels = {"kubernetes.io/hostname": name, "type": "kwok"}
    status = {"capacity": CAPACITY, "allocatable": CAPACITY}
    metadata = {"name": name, "labels": labels, "annotations": {"kwok.x-k8s.io/node": "fake"}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": status}


def _spawn(server: Server, directory: Path, name: str, arguments: Sequence[str]) -> None:
    with (directory / f"{name}.log").open("wb") as log:
        server.processes.append(subprocess.Popen(arguments, stdout=log, stderr=log))


def _wait_for_nodes(server: Server, count: int = NODES) -> None:
    with server.client() as client:

        def are_ready() -> bool:
            nodes = client.send("GET", "/api/v1/nodes").json["items"]
            return len(nodes) == count and all(map(_is_ready, nodes))

        wait_until("nodes", are_ready)


def _is_ready(node: Object) -> bool:
    conditions = (node.get("status") or {}).get("conditions") or ()
    is_tainted = bool((node.get("spec") or {}).get("taints"))
    return not is_tainted and any(
        each["type"] == "Ready" and each["status"] == "True" for each in conditions
    )
