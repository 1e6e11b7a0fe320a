"""The fleets: real API servers with `fleetqueue controller` beside each, or embedded clusters."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.fleets import clusters
from benchmarks.fleets.clusters import Member, Process, Stop
from support import placement_fleet
from support.ports import free_port
from support.server import Server

HUB = "hub"


@dataclass(slots=True)
class Fleet:
    """A hub and its members, which have not joined yet."""

    hub: Member
    members: list[Member]
    join: Callable[[Member], None] | None
    """How the agent of one is told of its hub and started; None: the agents run already."""
    restart_hub: Callable[[], None]
    """Its controllers end and start again; `hub.pids` follow."""
    stops: list[Stop] = field(default_factory=list)

    @property
    def clusters(self) -> list[Member]:
        return [self.hub, *self.members]

    def stop(self) -> None:
        clusters.stop_all(self.stops)


def real(directory: Path, members: int, profile: str) -> Fleet:
    flags = ("--enable-guard-rail=false",)
    made = placement_fleet.start(directory, _names(members), flags, hub_profile=profile)

    def join(member: Member) -> None:
        made.join(member.name)
        member.pids["fleetqueue"] = made.members[member.name].server.processes[-1].pid

    hub = clusters.of_server(HUB, made.hub.server)

    def restart() -> None:
        made.hub.end_agent()
        made.start_hub(*flags)
        hub.pids["fleetqueue"] = made.hub.server.processes[-1].pid

    others = [clusters.of_server(name, side.server) for name, side in made.members.items()]
    stops = [made.hub.stop, *(each.stop for each in made.members.values())]
    return Fleet(hub, others, join, restart, stops)


def embedded(directory: Path, members: int, profile: str) -> Fleet:
    """The hub is a process of its own, which can be started again."""
    made, stop = clusters.embedded(directory, _names(members), first_number=2)
    port = free_port()
    hub = Member(HUB, f"https://127.0.0.1:{port}", directory / "hub/kubeconfig", {})
    running: list[Process] = []

    def start() -> None:
        program = [sys.executable, "-m", "benchmarks.placement.hub"]
        arguments = [*program, str(directory / "hub"), str(port), profile]
        process = clusters.spawn(directory, HUB, arguments)
        running.append(process)
        hub.pids["fleetqueue"] = process.pid
        clusters.wait(process, directory / "hub.log", lambda: _answers(hub))

    def restart() -> None:
        clusters.end(running[-1])
        start()

    start()
    return Fleet(hub, made, None, restart, [lambda: clusters.end(running[-1]), stop])


def _names(members: int) -> list[str]:
    return [f"member-{number}" for number in range(members)]


def _answers(hub: Member) -> bool:
    if not hub.kubeconfig.exists():
        return False
    server = Server(HUB, hub.url, "", "")
    with server.client() as client:
        return client.send("GET", "/readyz").status in (200, 401, 403)


FLEETS = {"real": real, "embedded": embedded}
