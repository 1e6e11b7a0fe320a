"""People of a fleet where everything breaks: they make jobs, take some back, switch others off and
on again, scale some, and use workers by themselves.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from random import Random
from typing import Any

from tests.support import fault_jobs
from tests.support.fault_checkers import PODS_HERE, SCALED, Seen, job_name

from fleetqueue.api.kueue import admission_status as status
from fleetqueue.kube.calls import Propagation
from fleetqueue.kube.errors import AlreadyExists, Forbidden, Invalid, KubeError, NotFound
from fleetqueue.kube.resources import Object, Resource
from fleetqueue.multikueue import kinds
from fleetqueue.testing import FleetCluster

DELETES = 0.6
"""The chance that somebody who thinks of it does take a job back."""
PROPAGATIONS: tuple[Propagation | None, ...] = (None, "Background", "Foreground", "Orphan")
ENDS_WITH_IT = "Pod"
"""A group whose Workload is deleted is deleted itself."""
SIZES = (0, 1, 2, 3)
SCALE_SECONDS_MAX = 600.0


class Users:
    """What they want and cannot have now, since a server is down, they want again later."""

    def __init__(
        self,
        manager: FleetCluster,
        workers: list[FleetCluster],
        seen: Seen,
        kinds: Mapping[str, Resource],
        random: Random,
    ) -> None:
        self._manager = manager
        self._workers = workers
        self._seen = seen
        self._random = random
        self._kinds = kinds
        self.left = [obj for wish in seen.wishes.values() for obj in wish.objects]
        """What is still to be made."""
        self._inactive: set[str] = set()
        self._locals = 0

    async def create(self) -> None:
        await self._try(self._create())

    async def do_something(self) -> None:
        chosen = [self._delete, self._deactivate, self.activate, self._make_local, self._withdraw]
        if self._scaled():
            chosen += [self._scale, self._scale]
        await self._try(self._random.choice(chosen)())

    async def take_back(self) -> None:
        """All that somebody wanted to take back while nobody listened."""
        for name in sorted(self._seen.deleted):
            await self._delete_all(name)

    async def activate(self) -> None:
        for name in sorted(self._inactive):
            await self._set_active(name, True)
            self._inactive.discard(name)

    async def scale_up(self) -> None:
        """Sets that have no pods get theirs back; that is refused until the last is gone."""
        deadline = asyncio.get_running_loop().time() + SCALE_SECONDS_MAX
        for name in self._scaled():
            wish = self._seen.wishes[name]
            while wish.kind == "StatefulSet" and not await self._resize(name, wish.pods_to_end):
                assert asyncio.get_running_loop().time() < deadline, f"{name} stays at zero"
                await asyncio.sleep(5)

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
        made = self._made()
        if made and self._random.random() < DELETES:
            name = self._random.choice(made)
            self._seen.deleted.add(name)
            await self._delete_all(name)

    def _made(self) -> list[str]:
        left = {job_name(_name(obj)) for obj in self.left}
        return [name for name in self._seen.wishes if name not in left]

    def _scaled(self) -> list[str]:
        """Those that can be, and are there."""
        return [
            name
            for name in self._made()
            if self._seen.wishes[name].kind in SCALED and name not in self._seen.deleted
        ]

    async def _scale(self) -> None:
        name = self._random.choice(self._scaled())
        wish = self._seen.wishes[name]
        is_set = wish.kind == "StatefulSet"
        await self._resize(name, self._random.choice((0, wish.pods_to_end) if is_set else SIZES))

    async def _resize(self, name: str, size: int) -> bool:
        """Whether that was allowed."""
        kind, patch = self._kinds[self._seen.wishes[name].kind], {"spec": {"replicas": size}}
        try:
            await self._manager.client.patch(kind, name, patch, "default")
        except (Forbidden, Invalid):
            return False
        return True

    async def _delete_all(self, name: str) -> None:
        """Of a group the Workload too: one whose pods are deleted waits for others."""
        found = self._seen.wishes[name].objects
        named = [(self._kinds[obj["kind"]], _name(obj)) for obj in found]
        if len(found) > 1:
            named.append((kinds.WORKLOAD, name))
        is_left = found[0]["kind"] in PODS_HERE and self._seen.wishes[name].serves
        # What nobody owns any more would serve for ever.
        propagation = self._random.choice(PROPAGATIONS[:-1] if is_left else PROPAGATIONS)
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

    async def _withdraw(self) -> None:
        """The job of a Workload that somebody deletes begins anew."""
        found = (await self._manager.client.list(kinds.WORKLOAD, "default")).items
        names = [_name(each) for each in found if not status.is_finished(each)]
        names = [each for each in names if self._kind_of(each) != ENDS_WITH_IT]
        if names:
            name = self._random.choice(names)
            self._seen.withdrawn.add(job_name(name))
            with suppress(NotFound):
                await self._manager.client.delete(kinds.WORKLOAD, name, "default")

    def _kind_of(self, name: str) -> str:
        return self._seen.wishes[job_name(name)].kind

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
