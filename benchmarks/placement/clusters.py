"""The fleets: real API servers with `fleetqueue controller` beside each, or embedded clusters."""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.placement import nursery
from support import placement_fleet
from support.ports import free_port
from support.server import Server, wait_until

NAMES = ("etcd", "kube-apiserver", "kube-controller-manager", "fleetqueue")
HUB = "hub"


@dataclass(slots=True)
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
    """A hub and its members, which have not joined yet."""

    hub: Member
    members: list[Member]
    join: Callable[[Member], None] | None
    """How the agent of one is told of its hub and started; None: the agents run already."""
    restart_hub: Callable[[], None]
    """Its controllers end and start again; `hub.pids` follow."""
    stops: list[Callable[[], None]] = field(default_factory=list)

    @property
    def clusters(self) -> list[Member]:
        return [self.hub, *self.members]

    def stop(self) -> None:
        with ThreadPoolExecutor(len(self.stops)) as pool:
            for each in self.stops:
                pool.submit(each)


def real(directory: Path, members: int, profile: str) -> Fleet:
    names = _names(members)
    flags = ("--enable-guard-rail=false",)
    made = placement_fleet.start(directory, names, flags, hub_profile=profile)

    def join(member: Member) -> None:
        made.join(member.name)
        member.pids["fleetqueue"] = made.members[member.name].server.processes[-1].pid

    hub = _real(HUB, made.hub.server)

    def restart() -> None:
        made.hub.end_agent()
        made.start_hub(*flags)
        hub.pids["fleetqueue"] = made.hub.server.processes[-1].pid

    others = [_real(name, side.server) for name, side in made.members.items()]
    stops = [made.hub.stop, *(each.stop for each in made.members.values())]
    return Fleet(hub, others, join, restart, stops)


def embedded(directory: Path, members: int, profile: str) -> Fleet:
    """The members are children of one process, as `fleetqueue up` has them; the hub is another."""
    port, ports = free_port(), [free_port() for _ in range(members)]
    program = [sys.executable, "-m", "benchmarks.placement.nursery", str(directory)]
    processes = {"members": _spawn(directory, "members", [*program, *map(str, ports)])}
    pids = directory / nursery.PIDS
    _wait(processes["members"], directory / "members.log", pids.exists)
    hub = Member(HUB, f"https://127.0.0.1:{port}", directory / "hub/kubeconfig", {})

    def start() -> None:
        program = [sys.executable, "-m", "benchmarks.placement.hub"]
        arguments = [*program, str(directory / "hub"), str(port), profile]
        process = processes[HUB] = _spawn(directory, HUB, arguments)
        hub.pids["fleetqueue"] = process.pid
        _wait(process, directory / "hub.log", lambda: _answers(hub))

    def restart() -> None:
        _end(processes[HUB])
        start()

    start()
    children = json.loads(pids.read_text())
    made = [
        Member(name, f"https://127.0.0.1:{port}", directory / f"{name}/kubeconfig",
               {"fleetqueue": pid})
        for name, port, pid in zip(_names(members), ports, children, strict=True)
    ]  # fmt: skip
    stops = [lambda name=name: _end(processes[name]) for name in (HUB, "members")]
    return Fleet(hub, made, None, restart, stops)


def _names(members: int) -> list[str]:
    return [f"member-{number}" for number in range(members)]


def _real(name: str, server: Server) -> Member:
    assert server.kubeconfig is not None
    pids = {name: each.pid for name, each in zip(NAMES, server.processes, strict=False)}
    return Member(name, server.url, server.kubeconfig, pids, server)


def _answers(hub: Member) -> bool:
    if not hub.kubeconfig.exists():
        return False
    server = Server(HUB, hub.url, "", "")
    with server.client() as client:
        return client.send("GET", "/readyz").status in (200, 401, 403)


def _spawn(directory: Path, name: str, arguments: Sequence[str]) -> "subprocess.Popen[bytes]":
    with (directory / f"{name}.log").open("ab") as log:
        return subprocess.Popen(arguments, stdout=log, stderr=log)


def _wait(process: "subprocess.Popen[bytes]", log: Path, is_ready: Callable[[], bool]) -> None:
    def look() -> bool:
        assert process.poll() is None, log.read_text()[-3000:]
        return is_ready()

    wait_until(log.stem, look, 300)


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    process.wait(60)


FLEETS = {"real": real, "embedded": embedded}
