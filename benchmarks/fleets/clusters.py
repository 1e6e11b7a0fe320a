"""Clusters that a benchmark starts: real API servers, or embedded ones that are children of one
process, as `fleetqueue up` has them.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from benchmarks.fleets import nursery
from support.ports import free_port
from support.server import Server, wait_until

NAMES = ("etcd", "kube-apiserver", "kube-controller-manager")
READY_SECONDS_MAX = 300
Process = subprocess.Popen[bytes]
Stop = Callable[[], None]


@dataclass(slots=True)
class Member:
    """One cluster, and its processes by what they are called in the report."""

    name: str
    url: str
    kubeconfig: Path
    pids: dict[str, int]
    server: Server | None = None
    """Where it has metrics of what was asked of it."""


def of_server(name: str, server: Server, controller: str = "fleetqueue") -> Member:
    """A real one, with as many processes as run by now, the last of them such a controller."""
    assert server.kubeconfig is not None
    names = (*NAMES, controller)
    pids = {name: each.pid for name, each in zip(names, server.processes, strict=False)}
    return Member(name, server.url, server.kubeconfig, pids, server)


def embedded(
    directory: Path, names: Sequence[str], config: str = "", first_number: int = 1
) -> tuple[list[Member], Stop]:
    """`config`: of Kueue, for all of them; `first_number`: theirs, in one fleet."""
    ports = [free_port() for _ in names]
    places = [f"{name}={port}" for name, port in zip(names, ports, strict=True)]
    program = [sys.executable, "-m", "benchmarks.fleets.nursery", str(directory)]
    arguments = [*program, config, str(first_number), *places]
    process = spawn(directory, "nursery", arguments)
    pids = directory / nursery.PIDS
    wait(process, directory / "nursery.log", pids.exists)
    children = json.loads(pids.read_text())
    made = [
        Member(name, f"https://127.0.0.1:{port}", directory / name / "kubeconfig",
               {"fleetqueue": pid})
        for name, port, pid in zip(names, ports, children, strict=True)
    ]  # fmt: skip
    return made, lambda: end(process)


def stop_all(stops: Sequence[Stop]) -> None:
    with ThreadPoolExecutor(len(stops)) as pool:
        for each in stops:
            pool.submit(each)


def spawn(directory: Path, name: str, arguments: Sequence[str]) -> Process:
    with (directory / f"{name}.log").open("ab") as log:
        return subprocess.Popen(arguments, stdout=log, stderr=log)


def wait(process: Process, log: Path, is_ready: Callable[[], bool]) -> None:
    def look() -> bool:
        assert process.poll() is None, log.read_text()[-3000:]
        return is_ready()

    wait_until(log.stem, look, READY_SECONDS_MAX)


def end(process: Process) -> None:
    process.terminate()
    process.wait(60)
