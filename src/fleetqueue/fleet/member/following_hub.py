"""Runs the agent of a member as long as a Secret of the member names a hub, and anew whenever it
names another.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from random import Random

from fleetqueue.api.fleet.naming import SYSTEM_NAMESPACE
from fleetqueue.errors import FleetqueueError
from fleetqueue.fleet import access
from fleetqueue.fleet.access import HubAccess
from fleetqueue.fleet.settings import MemberSettings
from fleetqueue.kube import secure_kubeconfig
from fleetqueue.kube.client import Client
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.errors import BadKubeconfig
from fleetqueue.kube.kubeconfig import Access
from fleetqueue.kube.manager import Manager
from fleetqueue.kube.resources import SECRETS, Object
from fleetqueue.kube.secure_kubeconfig import Unsafe
from fleetqueue.metrics.registry import Metrics

AGAIN_SECONDS = 5.0
"""How soon an agent that failed is started again."""
Connect = Callable[[Access], Client]
log = logging.getLogger(__name__)


class HubFollower:
    """One for each cluster that may become a member."""

    def __init__(
        self,
        cluster: Cluster,
        connect: Connect,
        make_member: Callable[[], Cluster],
        settings: MemberSettings,
        metrics: Metrics,
    ) -> None:
        self._cluster = cluster
        self._connect = connect
        self._make_member = make_member
        self._settings = settings
        self._metrics = metrics
        self._wanted: HubAccess | None = None
        self._changed = asyncio.Event()
        informer = cluster.informer(
            SECRETS,
            SYSTEM_NAMESPACE,
            selection={"field_selector": f"metadata.name={access.HUB_SECRET}"},
        )
        informer.listen(self._secret_changed)

    def _secret_changed(self, old: Object | None, new: Object | None) -> None:
        found = access.read_hub_secret(new)
        if found != self._wanted:
            self._wanted = found
            self._changed.set()

    async def run(self) -> None:
        """For `Manager.add_task`; ends only when it is cancelled."""
        running: asyncio.Task[None] | None = None
        try:
            while True:
                await self._changed.wait()
                self._changed.clear()
                await _end(running)
                running = None
                if self._wanted is not None:
                    running = asyncio.create_task(self._keep_running(self._wanted), name="member")
        finally:
            await _end(running)

    async def _keep_running(self, hub: HubAccess) -> None:
        while True:
            try:
                await self._run_agent(hub)
            except FleetqueueError as error:
                log.warning("the agent of the member failed: name=%s: %s", hub.name, error)
            await asyncio.sleep(AGAIN_SECONDS)

    async def _run_agent(self, hub: HubAccess) -> None:
        client = self._connect(_access(hub))
        try:
            settings = replace(self._settings, name=hub.name)
            member = self._make_member()
            await run(client, member, settings, self._metrics, self._cluster.random)
        finally:
            await client.close()


def _access(hub: HubAccess) -> Access:
    """Whoever writes the Secret must not make the agent run programs or read files."""
    try:
        return secure_kubeconfig.read(hub.kubeconfig.encode())
    except Unsafe as error:
        where = f"in the Secret {SYSTEM_NAMESPACE}/{access.HUB_SECRET}"
        raise BadKubeconfig(str(error), file=where) from None


async def run(
    client: Client, member: Cluster, settings: MemberSettings, metrics: Metrics, random: Random
) -> None:
    """The agent, with everything that it does, until it is cancelled."""
    # Most clusters are members of nothing, and never load what that takes.
    from fleetqueue.fleet.member import parts

    hub = Cluster(client, clock=member.clock, random=random, name="hub")
    manager = Manager(hub, random=random)
    parts.install(manager, member, settings, metrics)
    await manager.run()


async def _end(running: asyncio.Task[None] | None) -> None:
    if running is not None:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
