"""What `fleetqueue status` shows: what runs of a fleet, where, and who is reached."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fleetqueue.cli import fleets
from fleetqueue.local_fleet.directory import MANAGER, Directory, Record

if TYPE_CHECKING:
    from fleetqueue.kube.client import Client

REASON_LENGTH_MAX = 40
ENDED = "ended"
YES = "yes"
NO = "no: "
"""Before the reason."""


async def rows(home: Directory, record: Record) -> list[list[str]]:
    """A table: what runs, where, and whether the manager reaches it."""
    found = [["NAME", "STATE", "PID", "SERVER", "CONNECTED", "WORKLOADS"]]
    if home.pid() is None:
        return found + [[each.name, "stopped", "", each.url, "", ""] for each in record.members]
    clients = {
        each.name: fleets.open_client(fleets.access(home.kubeconfig, each.name))
        for each in record.members
    }
    try:
        connected = await _connections(clients[MANAGER])
        told = await asyncio.gather(*(_workloads(clients[each.name]) for each in record.members))
    finally:
        for client in clients.values():
            await client.close()
    for member, workloads in zip(record.members, told, strict=True):
        state = "running" if workloads is not None else _why_silent(home, member.name)
        link = "" if member.is_manager else reached(state, connected(member.name))
        pid = home.pid_of(member.name)
        found.append([member.name, state, pid, member.url, link, _counts(workloads)])
    return found


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
    return "does not answer" if home.is_alive(name) else ENDED


async def _connections(manager: "Client") -> Callable[[str], str]:
    """Whether the manager reaches the worker of a name."""
    from fleetqueue.kube.errors import KubeError
    from fleetqueue.multikueue import kinds

    try:
        found = (await manager.list(kinds.CLUSTER)).items
    except KubeError:
        return lambda name: "unknown"
    joined = {each["metadata"]["name"]: _active(each) for each in found}
    return lambda name: joined.get(name, "not joined")


async def _workloads(client: "Client") -> Sequence[Any] | None:
    from fleetqueue.kube.errors import KubeError
    from fleetqueue.multikueue import kinds

    try:
        return (await client.list(kinds.WORKLOAD)).items
    except KubeError:
        return None


def _active(cluster: Mapping[str, Any]) -> str:
    conditions = (cluster.get("status") or {}).get("conditions") or ()
    found = next((each for each in conditions if each["type"] == "Active"), None)
    if found is None:
        return "unknown"
    return YES if found["status"] == "True" else f"{NO}{found['message']}"


def _counts(workloads: Sequence[Any] | None) -> str:
    if workloads is None:
        return ""
    from fleetqueue.api.kueue import admission_status as status

    finished = [each for each in workloads if status.is_finished(each)]
    admitted = [each for each in workloads if status.is_admitted(each) and each not in finished]
    waiting = len(workloads) - len(finished) - len(admitted)
    return f"{len(admitted)} admitted, {waiting} waiting, {len(finished)} finished"
