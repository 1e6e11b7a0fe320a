"""Runs an end-to-end suite of Kueue itself against embedded clusters; `scripts/kueue-suites`.

The suites look for the names and places that kind gives to clusters, and those that Kueue's
manifests give to an installation. A suite is built in a copy of the module, since it writes beside
its sources; its output is `kueue-suites.log` there.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from support import kueue_suite_left_out as left_out
from support.kueue_suite_administrator import TOKENS, administrator
from support.kueue_suite_docker import Docker
from support.kueue_suite_furniture import furnish
from support.kueue_suite_images import PLUGIN_IMAGE, RAY_IMAGE, image_table
from support.kueue_suite_nodes import Node, nodes_of
from support.ours import start_ours
from support.server import Server

MODULE, VERSION = "sigs.k8s.io/kueue", "v0.19.0"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fleetqueue"
ALONE = {"kind": "127.0.0.1"}
FLEET = {"kind-manager": "127.0.2.3", "kind-worker1": "127.0.2.1", "kind-worker2": "127.0.2.2"}
IMAGE, OLD_IMAGE = (
    f"registry.k8s.io/e2e-test-images/agnhost:{tag}" for tag in ("2.66.0", "2.65.0")
)
CAPACITY = {"cpu": "8", "memory": "16Gi", "pods": "110"}
TAINT = {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}


def main(arguments: list[str]) -> int:
    suite, *flags = arguments or ["multikueue/baseline"]
    sources = _sources()
    program = _build(sources, suite)
    clusters = FLEET if suite.startswith("multikueue") else ALONE
    directory = Path(tempfile.mkdtemp(prefix="kueue-suites-"))
    servers: dict[str, Server] = {}
    try:
        images = image_table(suite, sources, CACHE)
        (directory / "images.yaml").write_text(yaml.safe_dump(images))
        for name, host in clusters.items():
            servers[name] = _start(directory, name, host, nodes_of(suite))
            furnish(servers[name], suite, _control_plane(name))
            _install(servers[name], _configuration(sources, suite))
        _write_kubeconfig(directory / "kubeconfig", servers)
        reach = {
            _control_plane(name): partial(_reach, directory, name, server, nodes_of(suite))
            for name, server in servers.items()
        }
        with Docker(directory / "bin", reach) as docker:
            return _run(sources, program, suite, directory / "kubeconfig", docker.directory, flags)
    finally:
        for server in servers.values():
            server.stop()
        shutil.rmtree(directory, ignore_errors=True)


def _sources() -> Path:
    """A copy that can be written to, with our command in the place of Kueue's."""
    copy = CACHE / f"kueue-{VERSION}"
    if not (copy / "go.mod").exists():
        asked = ["go", "mod", "download", "-json", f"{MODULE}@{VERSION}"]
        told = subprocess.run(asked, check=True, capture_output=True, cwd=tempfile.gettempdir())
        shutil.copytree(json.loads(told.stdout)["Dir"], copy, dirs_exist_ok=True)
        subprocess.run(["chmod", "-R", "u+w", str(copy)], check=True)
    (copy / "bin").mkdir(exist_ok=True)
    command = copy / "bin" / "kubectl-kueue"
    command.write_text(f'#!/bin/sh\nexec {Path(sys.executable).parent}/kubectl-kueue "$@"\n')
    command.chmod(0o755)
    return copy


def _build(sources: Path, suite: str) -> Path:
    program = sources / f"{suite.replace('/', '-')}.test"
    if not program.exists():
        asked = ["-mod=mod", "-vet=off", "-c", "-o", str(program), f"./test/e2e/{suite}"]
        subprocess.run(["go", "test", *asked], check=True, cwd=sources)
    return program


def _configuration(sources: Path, suite: str) -> Path:
    """The one of the suite; of its half (`extended`), unless of a fleet; or that of all others."""
    half = [] if suite.startswith("multikueue/") else [suite.rpartition("/")[2]]
    places = [suite, *half, "default"]
    known = (sources / "test/e2e/config" / at / "controller_manager_config.yaml" for at in places)
    return next(path for path in known if path.exists())


def _control_plane(cluster: str) -> str:
    """The name that kind gives to the node with the API server."""
    return f"{cluster}-control-plane"


def _start(directory: Path, name: str, host: str, nodes: list[Node]) -> Server:
    written = directory / f"{name}-nodes.yaml"
    declared = [
        {"name": node, "mode": "process", "capacity": CAPACITY, "labels": labels}
        | ({"taints": [TAINT]} if node.endswith("control-plane") else {})
        for node, labels in nodes
    ]
    written.write_text(yaml.safe_dump({"nodes": declared}))
    flags = ["--no-queues", "--nodes", str(written), "--tls-san", _control_plane(name)]
    flags += ["--images", str(directory / "images.yaml")]
    port = 6443 if name in FLEET else 0
    return start_ours(directory / name, tokens=TOKENS, host=host, port=port, flags=flags)


def _reach(directory: Path, name: str, server: Server, nodes: list[Node], wanted: bool) -> None:
    """As if nobody could reach the API server; what runs as pods of its cluster ends with it."""
    if wanted:
        server.processes[:] = _start(directory, name, FLEET[name], nodes).processes
    else:
        server.stop()


def _install(server: Server, configuration: Path) -> None:
    asked = ["--kubeconfig", str(server.kubeconfig), "--config", str(configuration)]
    command = [sys.executable, "-m", "fleetqueue", "install", *asked, "--image", "python:3"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    # The network of kind knows clusters by these names; the machine does not.
    aliases = [{"ip": host, "hostnames": [_control_plane(name)]} for name, host in FLEET.items()]
    patch = {"spec": {"template": {"spec": {"hostAliases": aliases}}}}
    path = "/apis/apps/v1/namespaces/kueue-system/deployments/kueue-controller-manager"
    with server.client() as client:
        kind = {"Content-Type": "application/merge-patch+json"}
        answer = client.send("PATCH", path, patch, kind)
        assert answer.status == 200, answer.body


def _write_kubeconfig(path: Path, servers: dict[str, Server]) -> None:
    def part(kind: str, found: Iterable[tuple[str, Any]]) -> list[dict[str, Any]]:
        return [{"name": name, kind: value} for name, value in found]

    read = {
        name: yaml.safe_load(server.kubeconfig.read_text())
        for name, server in servers.items()
        if server.kubeconfig is not None
    }
    users = ((name, c["users"][0]["user"]) for name, c in read.items())
    if read.keys() == ALONE.keys():
        users = ((name, administrator(server)) for name, server in servers.items())
    made = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": part("cluster", ((n, c["clusters"][0]["cluster"]) for n, c in read.items())),
        "users": part("user", users),
        "contexts": part("context", ((f"kind-{n}", {"cluster": n, "user": n}) for n in read)),
        "current-context": f"kind-{next(iter(read))}",
    }
    path.write_text(yaml.safe_dump(made))


def _run(
    sources: Path, program: Path, suite: str, kubeconfig: Path, bin: Path, flags: list[str]
) -> int:
    said = {
        "PATH": f"{bin}:{os.environ['PATH']}",
        "KUBECONFIG": str(kubeconfig),
        "PROJECT_DIR": str(sources),
        "ARTIFACTS": str(sources / "artifacts"),
        "E2E_KIND_VERSION": "kindest/node:v1.34.4",
        "E2E_TEST_AGNHOST_IMAGE": IMAGE,
        "E2E_TEST_AGNHOST_IMAGE_OLD": OLD_IMAGE,
        "KIND_CLUSTER_NAME": "kind",
        "KUBERAY_RAY_IMAGE": RAY_IMAGE,
        "CLUSTERPROFILE_PLUGIN_IMAGE": PLUGIN_IMAGE,
    }
    command = [str(program), "-ginkgo.v", "-ginkgo.no-color", *left_out.flags(suite)]
    log = sources / "kueue-suites.log"
    with log.open("wb") as told:
        done = subprocess.run(
            [*command, *flags],
            cwd=sources / "test/e2e" / suite,
            env={**os.environ, **said},
            stdout=told,
            stderr=told,
            check=False,
        )
    for line in log.read_text(errors="replace").splitlines():
        if line.lstrip().startswith(("[FAIL]", "Ran ", "FAIL! ", "SUCCESS! ")):
            print(line)
    print(f"the whole output: {log}")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
