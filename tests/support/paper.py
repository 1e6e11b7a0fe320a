"""A node whose pods run on paper, in virtual time, and what their statuses say."""

from pathlib import Path
from typing import Any

from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.resources import Object, Resource
from fleetqueue.runtime.kinds import POD
from fleetqueue.runtime.pod_keeper import PodKeeper
from fleetqueue.runtime.pod_worker import Tools
from fleetqueue.runtime.surroundings import RestartBackoff
from fleetqueue.testing import Fleet, FleetCluster
from fleetqueue.testing.processes import PaperPreparation, PaperProcesses

EVENT = Resource("", "v1", "events", "Event")


class Node:
    """A node under test."""

    def __init__(self, fleet: Fleet, cluster: FleetCluster, directory: Path) -> None:
        self.fleet = fleet
        self.cluster = cluster
        self.processes = PaperProcesses(fleet.clock)
        self.preparation = PaperPreparation(directory)
        self._start_again = fleet.run(self._make, on=cluster)

    async def restart(self, seconds_away: float = 0.0) -> None:
        await self.keeper.stop()
        await self.fleet.passes(seconds=seconds_away)
        await self._start_again()

    def _make(self, cluster: Cluster) -> PodKeeper:
        tools = Tools(cluster, self.processes, self.preparation, self.fleet.clock, RestartBackoff())
        self.keeper_cluster = cluster
        self.keeper = PodKeeper(tools, lambda pod: pod["spec"].get("nodeName") == "paper")
        return self.keeper

    async def create(self, *containers: Object, name: str = "a", **spec: Any) -> None:
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"nodeName": "paper", "containers": list(containers), **spec},
        }
        await self.cluster.client.create(pod)

    async def get(self, name: str = "a") -> Object:
        return await self.cluster.client.get(POD, name, "default")

    async def status(self, seconds: float = 0.5) -> Object:
        await self.fleet.passes(seconds=seconds)
        status: Object = (await self.get())["status"]
        return status

    async def events(self) -> list[tuple[str, str]]:
        await self.fleet.passes(seconds=0.1)
        found = (await self.cluster.client.list(EVENT, "default")).items
        return [(event["reason"], event["message"]) for event in found]

    async def all_events(self) -> list[tuple[str, str, str]]:
        """Type, reason and message, in the order of their first appearance."""
        await self.fleet.passes(seconds=0.1)
        found = (await self.cluster.client.list(EVENT, "default")).items
        found.sort(key=lambda event: (event["firstTimestamp"], event["metadata"]["name"]))
        return [(event["type"], event["reason"], event["message"]) for event in found]

    async def warnings(self) -> list[tuple[str, str]]:
        return [
            (reason, text) for type, reason, text in await self.all_events() if type != "Normal"
        ]

    async def states(self, command: str, **more: Any) -> list[Object]:
        """Every state that a new pod's container shows in its first two seconds."""
        seen: list[Object] = []

        def changed(old: Object | None, new: Object | None) -> None:
            shown = ((new or {}).get("status") or {}).get("containerStatuses")
            if shown and (not seen or seen[-1] != shown[0]["state"]):
                seen.append(shown[0]["state"])

        self.keeper_cluster.informer(POD).listen(changed)
        await self.create(container(command, **more))
        await self.fleet.passes(seconds=2)
        return seen

    @property
    def commands(self) -> list[str]:
        return [" ".join(command.argv) for _, command in self.processes.started]


def container(command: str, name: str = "main", **rest: Any) -> Object:
    return {"name": name, "image": "i", "command": command.split(), **rest}


def state(status: Object, at: int = 0, field: str = "containerStatuses") -> Object:
    found: Object = status[field][at]["state"]
    return found


def condition(status: Object, type: str) -> Object:
    found: Object = next(each for each in status["conditions"] if each["type"] == type)
    return found
