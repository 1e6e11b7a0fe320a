"""What `fleetqueue status` shows: what runs of a fleet, where, and who is reached."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fleetqueue.cli import fleets
from fleetqueue.local_fleet.directory import MANAGER, Directory, Record

if TYPE_CHECKING:
    from fleetqueue.kube.client import Client
    from fleetqueue.kube.resources import Resource

REASON_LENGTH_MAX = 40
ROW_SECONDS_MAX = 5.0
"""One that takes longer does not answer; the others are shown. Less than the patience of commands
that need the answer.
"""
RUNNING = "running"
ENDED = "ended"
SILENT = "does not answer"
JOINED = "joined"
YES = "yes"
NO = "no: "
"""Before the reason."""


@dataclass(frozen=True, slots=True)
class Heard:
    """What the clusters said; None of those that said nothing."""

    clusters: Sequence[Any] | None
    """The MultiKueueClusters of the manager."""
    workloads: Mapping[str, Sequence[Any] | None]
    """By member."""


async def rows(home: Directory, record: Record) -> list[list[str]]:
    """A table: what runs, where, and whether the manager reaches it."""
    header = ["NAME", "STATE", "PID", "SERVER", "CONNECTED", "WORKLOADS"]
    if home.pid() is None:
        return [header, *([each.name, "stopped", "", each.url, "", ""] for each in record.members)]
    clients = {
        each.name: fleets.open_client(fleets.access(home.kubeconfig, each.name))
        for each in record.members
    }
    try:
        heard = await hear(clients)
    finally:
        for client in clients.values():
            await client.close()
    return [header, *member_rows(home, record, heard), *joined_rows(heard)]


async def hear(clients: "Mapping[str, Client]") -> Heard:
    """All at once, so that one that does not answer delays nobody else."""
    from fleetqueue.multikueue import kinds

    clusters, *told = await asyncio.gather(
        _listed(clients[MANAGER], kinds.CLUSTER),
        *(_listed(client, kinds.WORKLOAD) for client in clients.values()),
    )
    return Heard(clusters, dict(zip(clients, told, strict=True)))


def member_rows(home: Directory, record: Record, heard: Heard) -> list[list[str]]:
    made = []
    for member in record.members:
        workloads = heard.workloads[member.name]
        state = RUNNING if workloads is not None else _why_silent(home, member.name)
        link = "" if member.is_manager else reached(state, _connected(heard, member.name))
        pid = home.pid_of(member.name)
        made.append([member.name, state, pid, member.url, link, _counts(workloads)])
    return made


def joined_rows(heard: Heard) -> list[list[str]]:
    """Of clusters that are no part of the fleet of this machine; the manager speaks for them."""
    names = [str(each["metadata"]["name"]) for each in heard.clusters or ()]
    return [
        [name, JOINED, "", "", _connected(heard, name), _admitted_there(heard, name)]
        for name in names
        if name not in heard.workloads
    ]


def told_silent(home: Directory, name: str) -> str:
    """Of a cluster whose process is there and says nothing."""
    pid = home.pid_of(name)
    return (
        f"{name} does not answer, and its process {pid} is there: `kill -CONT {pid}` lets it go on"
        f" if it was stopped; {home.log_of(name)} may say more"
    )


def lines(rows: Sequence[Sequence[str]]) -> list[str]:
    """With columns side by side; a long reason is cut, and stands whole below them."""
    shown = [[_shortened(text) for text in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    made = [
        "   ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in shown
    ]
    cut = [
        f"{row[0]}: {text.removeprefix(NO)}"
        for row in rows
        for text in row
        if text != _shortened(text)
    ]
    return [*made, *cut]


def _shortened(text: str) -> str:
    """Where it is a reason; whatever else stands in a cell is as long as it must be."""
    if not text.startswith(NO) or len(text) <= REASON_LENGTH_MAX:
        return text
    return f"{text[: REASON_LENGTH_MAX - 1].rstrip()}…"


def reached(state: str, connected: str) -> str:
    """The manager takes a while to miss a worker whose process is gone."""
    return "no" if (state, connected) == (ENDED, YES) else connected


def _why_silent(home: Directory, name: str) -> str:
    return SILENT if home.is_alive(name) else ENDED


async def _listed(client: "Client", kind: "Resource") -> Sequence[Any] | None:
    """None where nobody answers; a cluster without that kind has none of it."""
    from fleetqueue.kube.errors import KubeError, NotFound, UnknownKind

    try:
        async with asyncio.timeout(ROW_SECONDS_MAX):
            return (await client.list(kind)).items
    except (NotFound, UnknownKind):
        return ()
    except (KubeError, TimeoutError):
        return None


def _connected(heard: Heard, name: str) -> str:
    """Whether the manager reaches the cluster of a name."""
    if heard.clusters is None:
        return "unknown"
    found = [each for each in heard.clusters if each["metadata"]["name"] == name]
    return _active(found[0]) if found else "not joined"


def _active(cluster: dict[str, Any]) -> str:
    from fleetqueue.api.kueue.admission_status import find_condition

    found = find_condition(cluster, "Active")
    if found is None:
        return "unknown"
    return YES if found["status"] == "True" else f"{NO}{found['message']}"


def _admitted_there(heard: Heard, name: str) -> str:
    from fleetqueue.api.kueue import admission_status as status

    sent = [
        each
        for each in heard.workloads[MANAGER] or ()
        if (each.get("status") or {}).get("clusterName") == name
    ]
    admitted = [each for each in sent if status.is_admitted(each) and not status.is_finished(each)]
    return f"{len(admitted)} admitted"


def _counts(workloads: Sequence[Any] | None) -> str:
    if workloads is None:
        return ""
    from fleetqueue.api.kueue import admission_status as status

    finished = [each for each in workloads if status.is_finished(each)]
    admitted = [each for each in workloads if status.is_admitted(each) and each not in finished]
    waiting = len(workloads) - len(finished) - len(admitted)
    return f"{len(admitted)} admitted, {waiting} waiting, {len(finished)} finished"
