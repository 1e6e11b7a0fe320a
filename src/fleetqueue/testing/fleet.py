"""A fleet in one process: API servers, clients and controllers on virtual time, with seeded faults.

async with Fleet(seed=1) as fleet:
    cluster = await fleet.add_cluster("manager")
    fleet.run(lambda: MyController(...), on=cluster)
    await cluster.client.create(...)
    await fleet.settle()
"""

import asyncio
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from fleetqueue.api.meta import Key
from fleetqueue.apiserver.access.users import User
from fleetqueue.apiserver.instance import Instance
from fleetqueue.apiserver.log import Row
from fleetqueue.apiserver.request import Request, Response
from fleetqueue.base.clock import LoopClock
from fleetqueue.base.virtual_time import VirtualTimeLoop
from fleetqueue.kube.client import Client
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.controller import Controller
from fleetqueue.kube.errors import Unreachable
from fleetqueue.kube.manager import Manager
from fleetqueue.kube.resources import Resource
from fleetqueue.kube.transport import InProcessTransport
from fleetqueue.testing.faults import CALM, CrashingLog, FaultyTransport, Weather

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
ADMIN = User("fleet-admin", groups=("system:masters", "system:authenticated"))
SETTLE_SECONDS_MAX = 24 * 3600.0
STEP_SECONDS = 0.25


class NotSettled(AssertionError):
    """The fleet is still busy after a day of its own time; the message says with what."""


class FleetCluster:
    """One API server of a fleet, its storage, and the ways to reach it."""

    def __init__(self, name: str, clock: LoopClock, seed: str) -> None:
        self.name = name
        self.clock = clock
        """As the machines of this cluster have it."""
        self._seed = seed
        self._starts = 0
        self.log = CrashingLog(random.Random(f"{seed}/log"))
        self._instance: Instance | None = None
        self._transports: list[FaultyTransport] = []
        self._weather = CALM
        self.client = self.connect("tests", is_calm=True)
        """A client of the test's own, which no weather touches."""
        self.furnish: Callable[[Instance], Any] = lambda instance: None
        """What is done to every server that starts from now on, such as giving it webhooks."""
        self._opened = asyncio.Event()
        """As with a real one, requests that come while it starts wait until it is furnished."""

    @property
    def instance(self) -> Instance:
        assert self._instance is not None, f'the server "{self.name}" is down'
        return self._instance

    @property
    def is_up(self) -> bool:
        return self._instance is not None and not self.log.is_dead

    def connect(
        self, manager: str = "fleetqueue", *, is_calm: bool = False, user: User = ADMIN
    ) -> Client:
        """A further client, as a controller or a user would have one."""
        inner = InProcessTransport(
            self._handle, request=Request, user=user, headers={"user-agent": manager}
        )
        number = len(self._transports)
        source = random.Random(f"{self._seed}/client-{number}")
        transport = FaultyTransport(inner, source, CALM if is_calm else self._weather)
        if not is_calm:
            self._transports.append(transport)
        return Client(transport, random=source, field_manager=manager)

    def set_weather(self, weather: Weather) -> None:
        self._weather = weather
        for transport in self._transports:
            transport.weather = weather

    async def start(self) -> None:
        self._starts += 1
        self.log.revive()
        source = random.Random(f"{self._seed}/server-{self._starts}")
        instance = Instance(self.log, self.clock, source)
        # Known before it starts: where its log dies under it, it has to be stopped all the same.
        self._instance = instance
        self._opened.clear()
        try:
            await instance.start()
            self.furnish(instance)
        finally:
            self._opened.set()

    async def kill(self) -> None:
        """The process is gone: what was not durable is lost, every connection ends."""
        instance, self._instance = self._instance, None
        self.log.is_dead = True
        if instance is not None:
            await instance.stop()

    async def restart(self) -> None:
        await self.kill()
        await self.start()

    async def stop(self) -> None:
        """Also where its log died under it: what it began must not outlive the test."""
        instance, self._instance = self._instance, None
        if instance is not None:
            await instance.stop()

    @property
    def is_idle(self) -> bool:
        under_way = any(transport.under_way for transport in self._transports)
        return self.is_up and self.instance.is_idle and not under_way

    async def _handle(self, request: Request) -> Response:
        if self.is_up:
            await self._opened.wait()
        if not self.is_up:
            raise Unreachable(f'the server "{self.name}" is down', sent=False)
        response = await self.instance.handle(request)
        if not self.is_up:
            raise Unreachable(f'the server "{self.name}" died', sent=True)
        return response


class _Run:
    """A manager and its controllers, started again whenever the test wants."""

    def __init__(self, install: Callable[[Manager], Any], home: FleetCluster) -> None:
        self.install = install
        self.home = home
        self.manager: Manager | None = None
        self.cluster: Cluster | None = None
        self.task: asyncio.Task[None] | None = None


class Fleet:
    """Servers and controllers that share one virtual clock and one seed."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.random = random.Random(seed)
        self.clusters: dict[str, FleetCluster] = {}
        self._runs: list[_Run] = []

    async def __aenter__(self) -> "Fleet":
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualTimeLoop), "a Fleet lives on a VirtualTimeLoop"
        self._loop = loop
        self.clock = LoopClock(loop, EPOCH)
        return self

    async def __aexit__(self, *_: object) -> None:
        for run in self._runs:
            await self._stop(run)
        for cluster in self.clusters.values():
            await cluster.stop()

    async def add_cluster(
        self,
        name: str,
        *,
        skew_seconds: float = 0.0,
        rows: dict[int, Row] | None = None,
        furnish: Callable[[Instance], Any] = lambda instance: None,
    ) -> FleetCluster:
        """`skew_seconds`: how much its clocks are ahead of the others; `rows`: what its storage
        holds already; `furnish`: what is done to its server whenever that starts.
        """
        clock = LoopClock(self._loop, EPOCH + timedelta(seconds=skew_seconds))
        cluster = FleetCluster(name, clock, f"{self.seed}/{name}")
        cluster.furnish = furnish
        if rows is not None:
            cluster.log.rows = rows
        self.clusters[name] = cluster
        await cluster.start()
        return cluster

    def run(
        self, make: Callable[[Cluster], Controller[Any]], on: FleetCluster
    ) -> Callable[[], Any]:
        """Run a controller on a cluster; call what is returned to restart it, as after a crash."""
        return self.run_all(lambda manager: manager.add(make(manager.cluster)), on)

    def run_all(self, install: Callable[[Manager], Any], on: FleetCluster) -> Callable[[], Any]:
        """The same for whatever `install` adds to a manager."""
        run = _Run(install, on)
        self._runs.append(run)
        self._start(run)

        async def restart() -> None:
            await self._stop(run)
            self._start(run)

        return restart

    def _start(self, run: _Run) -> None:
        source = random.Random(f"{self.seed}/{self.random.random()}")
        client = run.home.connect("controller")
        run.cluster = Cluster(client, clock=run.home.clock, random=source, name=run.home.name)
        run.manager = Manager(run.cluster, random=source, stop_seconds_max=0.0)
        run.install(run.manager)
        run.task = asyncio.get_running_loop().create_task(run.manager.run())

    async def _stop(self, run: _Run) -> None:
        if run.task is not None:
            run.task.cancel()
            await asyncio.gather(run.task, return_exceptions=True)
            run.task = None

    # Time

    async def passes(self, **span: float) -> None:
        """Let time pass: `await fleet.passes(minutes=5)`."""
        await asyncio.sleep(timedelta(**span).total_seconds())
        await self._loop.idle()

    async def settle(self) -> None:
        """Until nothing is left to do: no write under way, no key queued or backing off, caches
        current.
        """
        deadline = self._loop.time() + SETTLE_SECONDS_MAX
        await self._loop.idle()
        while True:
            busy = self._busy()
            if not busy:
                return
            if self._loop.time() > deadline:
                raise NotSettled(f"seed {self.seed}: still busy: {', '.join(busy)}")
            await asyncio.sleep(STEP_SECONDS)
            await self._loop.idle()

    def _busy(self) -> list[str]:
        busy = [f"server {name}" for name, one in self.clusters.items() if not one.is_idle]
        for run in self._runs:
            assert run.manager is not None
            assert run.cluster is not None
            name = f"controller on {run.home.name}"
            if not run.manager.is_ready:
                busy.append(f"{name} is not ready {run.manager.problems()}")
            elif not run.manager.is_settled:
                busy.append(f"{name} has work")
            elif not run.cluster.is_current(_revisions(run.home)):
                busy.append(f"{name} has not seen every change")
        return busy


def _revisions(home: FleetCluster) -> Callable[[Resource], dict[Key, int]]:
    """(resource) -> the revision of every live object, by key."""

    core = home.instance.core

    def revisions(resource: Resource) -> dict[Key, int]:
        served = core.registry.by_kind(resource.group, resource.kind) if resource.is_guess else None
        live = core.store.table(str(resource) if served is None else served.table).live
        return {Key(*_split(key)): stored.revision for key, stored in live.items()}

    return revisions


def _split(key: str) -> tuple[str, str]:
    namespace, _, name = key.rpartition("/")
    return namespace, name
