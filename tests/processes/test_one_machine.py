"""Pods that share one machine: ports on all addresses, memory, and file systems of images."""

import asyncio
import shutil
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from fleetqueue.kube.resources import Object
from fleetqueue.runtime.images import ImageTable
from fleetqueue.runtime.kinds import JOB, PYTORCH_JOB, SERVICE
from fleetqueue.runtime.port_claims import claim_on_machine, is_free_on_machine
from processes.clusters import SECONDS_MAX, Bench, Gate, cluster, is_ready
from support.ports import free_port

SERVE = """
import os, socket, sys
port = int(sys.argv[2])
assert port == int(os.environ["SERVER_PORT"])
server = socket.create_server(("0.0.0.0", port))
while True:
    peer, _ = server.accept()
    peer.sendall(f"{sys.argv[3]} {port}".encode())
    peer.close()
"""
TRAIN = f"""
import os, socket, time
name, port = os.environ["NAME"], int(os.environ["MASTER_PORT"])
if os.environ["RANK"] == "0":
    server = socket.create_server(("0.0.0.0", port))
    peer, _ = server.accept()
    print(peer.recv(100).decode(), flush=True)
    {Gate.WAIT}
else:
    while True:
        try:
            peer = socket.create_connection((os.environ["MASTER_ADDR"], port))
        except ConnectionRefusedError:
            time.sleep(0.05)
            continue
        peer.sendall(f"{{name}} at {{port}}".encode())
        break
"""

LIKE_RAY = """
import os, pathlib, socket
session = "session_2026-11-18_03-09-06_673992_1657900"
sockets = pathlib.Path(os.environ["RAY_TMPDIR"], "ray", session, "sockets")
sockets.mkdir(parents=True)
socket.socket(socket.AF_UNIX).bind(str(sockets / "plasma_store.1"))
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def bench(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Bench]:
    root = make_root(tmp_path_factory.mktemp("root"))
    images = ImageTable.load({"images": [{"match": "rooted", "root": str(root)}]})
    async with cluster(tmp_path_factory.mktemp("cluster"), images=images) as made:
        yield made


def make_root(root: Path) -> Path:
    """A file system with a shell in it and little else."""
    listed = subprocess.run(["ldd", "/bin/sh"], capture_output=True, text=True, check=True).stdout
    libraries = [word for word in listed.split() if word.startswith("/")]
    for path in ("/bin/sh", *libraries):
        place = root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, place)
    (root / "only-here").mkdir()
    return root


async def add_server(bench: Bench, name: str) -> None:
    container = {
        "name": "c",
        "image": "python:3",
        "command": ["python3", "-c", SERVE, "--port", "8080", name],
        "env": [{"name": "SERVER_PORT", "value": "8080"}],
        "ports": [{"name": "http", "containerPort": 8080}],
        "readinessProbe": {"tcpSocket": {"port": 8080}, "periodSeconds": 1},
        "livenessProbe": {"tcpSocket": {"port": "http"}, "periodSeconds": 1},
    }
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    await bench.add("Job", name, "batch/v1", spec={"backoffLimit": 0, "template": template})
    ports = [{"port": 80, "targetPort": 8080}]
    selector = {"batch.kubernetes.io/job-name": name}
    await bench.add("Service", name, spec={"selector": selector, "ports": ports})


async def ask(bench: Bench, name: str) -> str:
    """What the Service of a job answers, once it leads somewhere."""
    service = await bench.client.get(SERVICE, name, "default")
    async with asyncio.timeout(SECONDS_MAX):
        while True:
            try:
                reader, writer = await asyncio.open_connection(service["spec"]["clusterIP"], 80)
            except ConnectionRefusedError:
                # Nobody is behind it yet.
                await asyncio.sleep(0)
                continue
            try:
                if said := await reader.read():
                    return said.decode()
            finally:
                writer.close()


@pytest.mark.rule("jobs C.6")
@pytest.mark.rule("jobs C.5")
@pytest.mark.asyncio(loop_scope="module")
async def test_two_servers_with_the_same_port_run_at_once(bench: Bench) -> None:
    def serves(name: str) -> Any:
        def holds(pod: Object) -> bool:
            labels = pod["metadata"].get("labels") or {}
            return labels.get("batch.kubernetes.io/job-name") == name and is_ready(pod)

        return holds

    for name in ("a", "b"):
        await add_server(bench, name)
    for name in ("a", "b"):
        await bench.until(serves(name))
    answers = [(await ask(bench, name)).split() for name in ("a", "b")]
    assert [name for name, _ in answers] == ["a", "b"]
    assert answers[0][1] != answers[1][1]
    for name in ("a", "b"):
        await bench.client.delete(JOB, name, "default", propagation="Background")


@pytest.mark.rule("jobs C.6")
@pytest.mark.asyncio(loop_scope="module")
async def test_two_of_our_own_servers_have_one_port(bench: Bench) -> None:
    """What is built in, like Kueue, listens where its pod is, not on all of the machine."""
    port = free_port()
    container = {
        "image": "registry.k8s.io/e2e-test-images/agnhost:2.47",
        "args": ["netexec", f"--http-port={port}"],
        "readinessProbe": {"httpGet": {"path": "/readyz", "port": port}, "periodSeconds": 1},
    }
    with socket.create_server(("127.0.0.1", port)):
        for name in ("ours-a", "ours-b"):
            await bench.run(name, container=container)
        for name in ("ours-a", "ours-b"):
            pod = (await bench.worker(name)).pod
            assert pod["status"]["containerStatuses"][0]["restartCount"] == 0
            await bench.delete(name)


@pytest.mark.rule("jobs C.12")
@pytest.mark.asyncio(loop_scope="module")
async def test_two_training_jobs_meet_their_own_masters(bench: Bench, tmp_path: Path) -> None:
    gates = {name: Gate(tmp_path / name) for name in ("one", "two")}
    for name, gate in gates.items():
        env = [{"name": "NAME", "value": name}, gate.variable]
        command = ["python3", "-c", TRAIN]
        container = {"name": "pytorch", "image": "python:3", "command": command, "env": env}
        replica = {"replicas": 1, "template": {"spec": {"containers": [container]}}}
        specs = {"Master": replica, "Worker": replica}
        await bench.add("PyTorchJob", name, "kubeflow.org/v1", spec={"pytorchReplicaSpecs": specs})
    # Both masters listen now, or one of them could not.
    for name in gates:
        await bench.phase(f"{name}-worker-0", "Succeeded")
    for gate in gates.values():
        gate.open()
    said = [await bench.said(f"{name}-master-0", "pytorch") for name in gates]
    ports = [line.removeprefix(f"{name} at ") for name, (line,) in zip(gates, said, strict=True)]
    assert all(port.isdigit() for port in ports)
    assert ports[0] != ports[1]
    for name, gate in gates.items():
        await bench.client.delete(PYTORCH_JOB, name, "default")
        gate.close()


@pytest.mark.rule("jobs C.2")
@pytest.mark.rule("jobs C.3")
@pytest.mark.asyncio(loop_scope="module")
async def test_a_pod_that_uses_too_much_memory_is_said_to_have(bench: Bench) -> None:
    hungry = "kept = bytearray(256 * 1024 * 1024); import signal; signal.pause()"
    limits = {"resources": {"limits": {"memory": "64Mi"}}}
    await bench.run("hungry", "python3", "-c", hungry, container=limits)
    ended = await bench.ends("hungry")
    assert (ended["exitCode"], ended["reason"]) == (137, "OOMKilled")


@pytest.mark.rule("jobs C.6")
def test_a_port_of_the_machine_is_claimed_for_all_processes() -> None:
    claim = claim_on_machine(29999)
    assert claim is not None
    ask = "from fleetqueue.runtime.port_claims import *; print(claim_on_machine(29999) is None)"
    answer = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    assert answer.stdout == "True\n"
    claim.close()
    again = claim_on_machine(29999)
    assert again is not None
    again.close()
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert not is_free_on_machine(port)
    assert is_free_on_machine(port)


@pytest.mark.rule("jobs C.6")
@pytest.mark.asyncio(loop_scope="module")
async def test_a_pod_has_files_that_name_it(bench: Bench) -> None:
    config = {"nameservers": ["127.9.9.9"], "searches": ["corp"]}
    script = "cat /etc/hostname; grep -v '^#' /etc/resolv.conf; getent hosts $(hostname)"
    await bench.run("named", "sh", "-c", script, dnsPolicy="None", dnsConfig=config)
    name, search, server, found = await bench.said("named")
    assert (name, search, server) == ("named", "search corp", "nameserver 127.9.9.9")
    assert found.split()[1] == "named"


@pytest.mark.rule("jobs C.6")
@pytest.mark.asyncio(loop_scope="module")
async def test_pods_that_share_a_host_name_have_addresses_of_their_own(bench: Bench) -> None:
    for name in ("twin-a", "twin-b"):
        await bench.run(name, "sleep", "1000", hostname="twin")
    first, second = [(await bench.worker(name)).sandbox.address for name in ("twin-a", "twin-b")]
    assert first != second
    await bench.delete("twin-b")
    await bench.delete("twin-a")
    await bench.run("twin-a", "sleep", "1000", hostname="twin")
    assert (await bench.worker("twin-a")).sandbox.address == first, "who comes again has the same"


@pytest.mark.rule("jobs C.8")
@pytest.mark.asyncio(loop_scope="module")
async def test_an_image_may_have_a_file_system_of_its_own(bench: Bench) -> None:
    script = "for each in /*; do echo $each; done; cd; pwd >/dev/termination-log; echo $HOME >x"
    await bench.run("rooted", "sh", "-c", script, container={"image": "rooted"})
    if bench.has_namespaces:
        ended = await bench.ends("rooted")
        assert ended["exitCode"] == 0
        assert ended["message"].strip().endswith("/scratch/c/home"), "what is its own is there, too"
        seen = await bench.said("rooted")
        assert "/only-here" in seen
        assert "/usr" not in seen
    else:
        words = await bench.told("Failed", "rooted")
        assert "which needs namespaces" in words


@pytest.mark.rule("jobs C.12")
@pytest.mark.asyncio(loop_scope="module")
async def test_a_node_of_ray_has_room_for_the_paths_of_its_sockets(bench: Bench) -> None:
    if not bench.has_namespaces:
        pytest.skip("what is shown at another place needs namespaces")
    env = [{"name": "KUBERAY_GEN_RAY_START_CMD", "value": "ray start"}]
    for name in ("ray-a", "ray-b"):
        await bench.run(name, "python3", "-c", LIKE_RAY, container={"env": env})
        assert (await bench.ends(name))["exitCode"] == 0, "each has a directory of its own"
