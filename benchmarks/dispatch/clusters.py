"""The fleets: real API servers with `fleetqueue controller` beside each, or embedded clusters."""

import json
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from benchmarks.dispatch import nursery
from support.kueue_doors import install, start_controller
from support.ports import free_port
from support.reference import start_reference
from support.server import Server, wait_until

NAMES = ("etcd", "kube-apiserver", "kube-controller-manager", "fleetqueue")


@dataclass(frozen=True, slots=True)
class Member:
    """One cluster, and its processes by what they are called in the report."""

    name: str
    url: str
    kubeconfig: Path
    pids: dict[str, int]
    server: Server | None = None
    """Where it has metrics of what was asked of it."""


@dataclass(slots=True)
class Fleet:
    """A manager and its workers."""

    manager: Member
    workers: list[Member]
    simulates: bool
    """Whether the workers have simulated pods; where not, jobs are marked by hand."""
    stops: list[Callable[[], None]] = field(default_factory=list)

    @property
    def members(self) -> list[Member]:
        return [self.manager, *self.workers]

    def stop(self) -> None:
        with ThreadPoolExecutor(len(self.stops)) as pool:
            for each in self.stops:
                pool.submit(each)


def real(directory: Path, workers: int, dispatcher: str) -> Fleet:
    names = ["manager", *(f"worker-{number}" for number in range(workers))]
    with ThreadPoolExecutor(len(names)) as pool:
        started = [pool.submit(_real, directory / name, dispatcher) for name in names]
    servers = [each.result() for each in started if each.exception() is None]
    stops = [each.stop for each in servers]
    problems = [str(each.exception()) for each in started if each.exception() is not None]
    if problems:
        for stop in stops:
            stop()
        raise SystemExit("\n".join(problems))
    made = [_member(name, server) for name, server in zip(names, servers, strict=True)]
    return Fleet(made[0], made[1:], simulates=False, stops=stops)


def embedded(directory: Path, workers: int, dispatcher: str) -> Fleet:
    """All of them children of one process, as `fleetqueue up` has them."""
    ports = [free_port() for _ in range(workers + 1)]
    program = [sys.executable, "-m", "benchmarks.dispatch.nursery"]
    config = _config(directory, dispatcher)
    with (directory / "nursery.log").open("wb") as log:
        process = subprocess.Popen(
            [*program, str(directory), str(config), *map(str, ports)], stdout=log, stderr=log
        )
    pids = directory / nursery.PIDS

    def is_ready() -> bool:
        assert process.poll() is None, (directory / "nursery.log").read_text()[-3000:]
        return pids.exists()

    wait_until("the clusters", is_ready, 300)
    children = json.loads(pids.read_text())
    names = ["manager", *(f"worker-{number}" for number in range(workers))]
    made = [
        Member(name, f"https://127.0.0.1:{port}", directory / f"cluster-{number}/kubeconfig",
               {"fleetqueue": pid})
        for number, (name, port, pid) in enumerate(zip(names, ports, children, strict=True))
    ]  # fmt: skip

    def stop() -> None:
        process.terminate()
        process.wait(60)

    return Fleet(made[0], made[1:], simulates=True, stops=[stop])


def _real(directory: Path, dispatcher: str) -> Server:
    server = start_reference(directory)
    try:
        port = free_port()
        flags = ("--config", str(_config(directory, dispatcher)))
        install(server, directory, port, *flags)
        start_controller(server, directory, port, "--no-leader-elect", *flags, is_verbose=False)
    except BaseException:
        server.stop()
        raise
    return server


def _member(name: str, server: Server) -> Member:
    assert server.kubeconfig is not None
    pids = {name: each.pid for name, each in zip(NAMES, server.processes, strict=True)}
    return Member(name, server.url, server.kubeconfig, pids, server)


def _config(directory: Path, dispatcher: str) -> Path:
    """Jobs alone; ports of its own, since all share this machine."""
    path = directory / "kueue.yaml"
    path.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "config.kueue.x-k8s.io/v1beta2",
                "kind": "Configuration",
                "integrations": {"frameworks": ["batch/job"]},
                "metrics": {"bindAddress": "0"},
                "visibilityServer": {"bindAddress": "127.0.0.1", "bindPort": free_port()},
                "multiKueue": {"dispatcherName": dispatcher},
            }
        )
    )
    return path


FLEETS = {"real": real, "embedded": embedded}
