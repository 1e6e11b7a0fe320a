"""People of a fleet where everything breaks: they make jobs, take some back, switch others off and
on again, and use workers by themselves.
"""

from random import Random
from typing import Any

from tests.support import fault_jobs
from tests.support.fault_checkers import Seen, job_name

from fleetqueue.jobs import registry
from fleetqueue.jobs.settings import JobSettings
from fleetqueue.kube.calls import Propagation
from fleetqueue.kube.errors import AlreadyExists, KubeError, NotFound
from fleetqueue.kube.resources import Object
from fleetqueue.multikueue import kinds
from fleetqueue.testing import FleetCluster

DELETES = 0.6
"""The chance that somebody who thinks of it does take a job back."""
PROPAGATIONS: tuple[Propagation | None, ...] = (None, "Background", "Foreground", "Orphan")


class Users:
    """What they want and cannot have now, since a server is down, they want again later."""

    def __init__(
        self,
        manager: FleetCluster,
        workers: list[FleetCluster],
        seen: Seen,
        settings: JobSettings,
        random: Random,
    ) -> None:
        self._manager = manager
        self._workers = workers
        self._seen = seen
        self._random = random
        self._kinds = {
            kind.resource.kind: kind.resource for kind in registry.enabled_kinds(settings)
        }
        self.left = [obj for wish in seen.wishes.values() for obj in wish.objects]
        """What is still to be made."""
        self._inactive: set[str] = set()
        self._locals = 0

    async def create(self) -> None:
        await self._try(self._create())

    async def do_something(self) -> None:
        chosen = (self._delete, self._deactivate, self.activate, self._make_local)
        await self._try(self._random.choice(chosen)())

    async def take_back(self) -> None:
        """All that somebody wanted to take back while nobody listened."""
        for name in sorted(self._seen.deleted):
            await self._delete_all(name)

    async def activate(self) -> None:
        for name in sorted(self._inactive):
            await self._set_active(name, True)
            self._inactive.discard(name)

    async def _try(self, doing: Any) -> None:
        try:
            await doing
        except KubeError:
            assert not all(each.is_up for each in (self._manager, *self._workers))

    async def _create(self) -> None:
        if self.left:
            try:
                await self._manager.client.create(self.left[0])
            except AlreadyExists:
                """The answer of before was lost, not what was asked."""
            del self.left[0]

    async def _delete(self) -> None:
        left = {job_name(_name(obj)) for obj in self.left}
        made = [name for name in self._seen.wishes if name not in left]
        if made and self._random.random() < DELETES:
            name = self._random.choice(made)
            self._seen.deleted.add(name)
            await self._delete_all(name)

    async def _delete_all(self, name: str) -> None:
        """Of a group the Workload too: one whose pods are deleted waits for others."""
        found = self._seen.wishes[name].objects
        named = [(self._kinds[obj["kind"]], _name(obj)) for obj in found]
        if len(found) > 1:
            named.append((kinds.WORKLOAD, name))
        propagation = self._random.choice(PROPAGATIONS)
        for kind, each in named:
            try:
                await self._manager.client.delete(kind, each, "default", propagation=propagation)
            except NotFound:
                continue

    async def _deactivate(self) -> None:
        found = (await self._manager.client.list(kinds.WORKLOAD, "default")).items
        if found:
            name = _name(self._random.choice(found))
            self._inactive.add(name)
            await self._set_active(name, False)

    async def _set_active(self, name: str, is_active: bool) -> None:
        try:
            patch = {"spec": {"active": is_active}}
            await self._manager.client.patch(kinds.WORKLOAD, name, patch, "default")
        except NotFound:
            return

    async def _make_local(self) -> None:
        """Somebody on a worker is more urgent: copies there may be put out."""
        self._locals += 1
        cpu, seconds = self._random.choice(("2", "4")), self._random.choice(("5", "40"))
        made = fault_jobs.local(f"local-{self._locals}", cpu, seconds)
        await self._random.choice(self._workers).client.create(made)


def _name(obj: Object) -> str:
    return str(obj["metadata"]["name"])
