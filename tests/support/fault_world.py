"""A manager and five workers with the whole of Kueue, simulated pods, and clocks that disagree;
everything that a server stores is looked at.
"""

import asyncio
import random
from collections.abc import Callable, Set
from datetime import timedelta
from functools import cache
from typing import Any
from uuid import UUID

from tests.support import dispatching, fault_families, fault_jobs
from tests.support import kueue as objects
from tests.support.dispatching import CHECK, CLUSTER_QUEUE, LOCAL_QUEUE, TOKEN
from tests.support.fault_checkers import MANAGER, Rows, Seen, is_ours, job_name
from tests.support.fault_harm import Harm
from tests.support.fault_story import Story
from tests.support.fault_users import Users
from tests.support.furnished import Furnished
from tests.support.links import Link, connector
from tests.support.simulated import SITE
from tests.support.whole import CONFIGURATION

from fleetqueue import kueue
from fleetqueue.api.crds import all_crds
from fleetqueue.api.kueue import admission_status as status
from fleetqueue.apiserver.instance import Instance
from fleetqueue.embedded.job_blueprints import BLUEPRINTS
from fleetqueue.embedded.webhooks import DeclaredHook
from fleetqueue.jobs import controller as queueing
from fleetqueue.jobs import registry
from fleetqueue.jobs.kind import JobKind
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.events import EventRecorder
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.frame import controller_of
from fleetqueue.kube.manager import Manager
from fleetqueue.kube.resources import Object, Resource, uid_of
from fleetqueue.multikueue.connections import Connections
from fleetqueue.runtime.binder import Binder
from fleetqueue.runtime.controllers.job import ORPHANS, job_operator
from fleetqueue.runtime.kinds import NODE
from fleetqueue.runtime.node_keeper import NodeKeeper
from fleetqueue.runtime.nodes import NodeSpec, node_object
from fleetqueue.runtime.simulated import SimulatedPods
from fleetqueue.testing import Fleet, FleetCluster, namespace

WORKERS = tuple(f"worker{number}" for number in range(1, 6))
MANAGER_QUOTA, WORKER_QUOTA = 24, 6
GC_SECONDS, LOST_SECONDS = 20, 45
SKEW_SECONDS_MAX = 90
DISPATCHERS = (
    "kueue.x-k8s.io/multikueue-dispatcher-all-at-once",
    "kueue.x-k8s.io/multikueue-dispatcher-incremental",
    "fleetqueue.dev/dispatcher-best-fit",
)
SETTINGS = """
multiKueue:
  gcInterval: {gc}s
  workerLostTimeout: {lost}s
  dispatcherName: {dispatcher}
  externalFrameworks: [{external}]
"""
NODE_SPEC = NodeSpec("node", mode="simulated")
FOREIGN = 3
"""So many jobs have namesakes on workers."""
NAMESAKES = ("Job", "Pod", "StatefulSet", "LeaderWorkerSet", "RayCluster", "RayService")
REST_SECONDS_MAX = 3600.0
BEGIN_SECONDS = 10.0
QUEUEING = (objects.priority_class("high", 100), objects.flavor())
LEFT_OUT = {
    "kueue-localqueue-controller",
    "kueue-resourceflavor-controller",
    "kueue-workload-slice-ungater",
    "NodeFailures",
}
"""Controllers that only count, or have nothing to do here."""


_FURNISHED: dict[tuple[str, ...], Furnished] = {}
"""By the kinds that were added."""


class Silence(EventRecorder):
    """Events tell nobody anything here, and would be a third of all writes."""

    def record(self, *_: Any, **__: Any) -> None:
        """Says nothing."""


class World:
    """Everybody who does something, and the checkers."""

    def __init__(self, fleet: Fleet, count: int) -> None:
        self.fleet = fleet
        self.random = random.Random(f"{fleet.seed}/world")
        self.families = fault_families.chosen(fleet.seed)
        self.wishes = {each.name: each for each in fault_families.wishes(fleet.seed, count)}
        quota = dict.fromkeys(WORKERS, WORKER_QUOTA) | {MANAGER: MANAGER_QUOTA}
        self.seen = Seen(self.wishes, quota, self._is_given_up)
        self._connections: Connections | None = None
        self.clusters: dict[str, FleetCluster] = {}
        self.links: dict[str, Link] = {}
        self.rows: dict[str, Rows] = {}
        self.restarts: dict[str, list[Callable[[], Any]]] = {}
        self._foreign: dict[tuple[str, str], tuple[Resource, str]] = {}
        """By worker and name: its kind and uid."""
        frameworks = [name for family in self.families for name in family.frameworks]
        text = CONFIGURATION % ", ".join(frameworks)
        dispatcher = DISPATCHERS[fleet.seed % len(DISPATCHERS)]
        external = [f"{{name: {name}}}" for family in self.families for name in family.external]
        more = SETTINGS.format(
            gc=GC_SECONDS,
            lost=LOST_SECONDS,
            dispatcher=dispatcher,
            external=", ".join(external),
        )
        self._options = kueue.read_options(text, None, BLUEPRINTS)
        self._dispatching = kueue.read_options(text + more, None, BLUEPRINTS)
        self._kinds = {
            kind.resource.kind: kind.resource
            for kind in (*registry.enabled_kinds(self._options.jobs), *self._queued())
        }

    @property
    def manager(self) -> FleetCluster:
        return self.clusters[MANAGER]

    @property
    def workers(self) -> list[FleetCluster]:
        return [self.clusters[name] for name in WORKERS]

    @property
    def story(self) -> Story:
        return self.seen.story

    async def start(self) -> None:
        common = await self._common()
        # Whoever makes what is common needs some time for it; what follows must not depend on that.
        await asyncio.sleep(BEGIN_SECONDS - asyncio.get_running_loop().time())
        for name in (MANAGER, *WORKERS):
            await self._add_cluster(name, common)
        await self._join()
        for name, cluster in self.clusters.items():
            parts: list[Callable[[Manager], None]] = [self._install_worker]
            if name == MANAGER:
                parts = [self._install_manager, self._install_runtime]
            self.restarts[name] = [self.fleet.run_all(part, on=cluster) for part in parts]
        await self._make_foreign()
        await asyncio.sleep(5)
        self.harm = Harm(self, self.random)
        self.users = Users(self.manager, self.workers, self.seen, self._kinds, self.random)

    def _queued(self) -> list[JobKind]:
        """Kinds that a controller of their own queues."""
        return [kind for family in self.families for kind in family.queued]

    # Clusters

    async def _add_cluster(self, name: str, common: Furnished) -> None:
        limit = SKEW_SECONDS_MAX
        skew = self.random.choice((0.0, 0.0, self.random.uniform(-limit, limit)))
        rows = common.rows_for(str(UUID(int=self.random.getrandbits(128), version=4)))
        self.rows[name] = Rows(rows, name, self.seen)
        cluster = await self.fleet.add_cluster(
            name, skew_seconds=skew, rows=self.rows[name], furnish=self._hook
        )
        self.clusters[name] = cluster
        if name != MANAGER:
            self.links[name] = Link(cluster, TOKEN + name)
            await cluster.client.create(node_object(NODE_SPEC, SITE))
            # Nobody runs here who would see that the node is ready.
            await cluster.client.patch(NODE, NODE_SPEC.name, {"spec": {"taints": None}})
            policy = {"withinClusterQueue": "LowerPriority"}
            made = objects.cluster_queue(CLUSTER_QUEUE, str(WORKER_QUOTA), preemption=policy)
            await cluster.client.create(made)
            await cluster.client.create(objects.local_queue(LOCAL_QUEUE, CLUSTER_QUEUE))

    async def _common(self) -> Furnished:
        """All that servers have in common is made once, since that takes longest, by one that is
        none of the fleet's.
        """
        wanted = tuple(sorted({crd for family in self.families for crd in family.crds}))
        if wanted not in _FURNISHED:
            made = FleetCluster("template", self.fleet.clock, "template")
            await made.start()
            for crd in crds(*wanted):
                await made.client.create(crd)
            await asyncio.sleep(1)
            self._hook(made.instance)
            furniture = [obj for family in self.families for obj in family.furniture]
            for obj in (*furniture, *QUEUEING):
                await made.client.create(obj)
            _FURNISHED[wanted] = await Furnished.of(made)
            await made.kill()
        return _FURNISHED[wanted]

    def _hook(self, instance: Instance) -> None:
        given = [webhook for family in self.families for webhook in family.webhooks]
        for webhook in (*given, *kueue.webhooks(self._options)):
            instance.core.hooks.add(DeclaredHook(webhook, instance.core, instance.gate))

    async def _join(self) -> None:
        client = self.manager.client
        await client.create(namespace(dispatching.SYSTEM))
        for name in WORKERS:
            await client.create(dispatching.kubeconfig_secret(name))
            await client.create(dispatching.cluster(name))
        await client.create(dispatching.config(*WORKERS))
        await client.create(dispatching.admission_check())
        strategy = {"admissionChecks": [{"name": CHECK}]}
        queue = objects.cluster_queue(
            CLUSTER_QUEUE, str(MANAGER_QUOTA), admissionChecksStrategy=strategy
        )
        await client.create(queue)
        await client.create(objects.local_queue(LOCAL_QUEUE, CLUSTER_QUEUE))

    def _install_worker(self, manager: Manager) -> None:
        """One process for queueing and for what runs jobs: that saves every other cache."""
        _silence(manager.cluster)
        kueue.install(manager, self._options)
        self._install_queued(manager)
        self._install_runtime(manager)
        # Nobody looks at the leases here.
        keeper = NodeKeeper(manager.cluster, [NODE_SPEC], SITE, renew_seconds=1e6)
        for controller in (Binder(manager.cluster), SimulatedPods(manager.cluster), keeper):
            manager.add(controller)
        _leave_out(manager, LEFT_OUT)

    def _install_manager(self, manager: Manager) -> None:
        _silence(manager.cluster)
        made = kueue.install(manager, self._dispatching)
        self._install_queued(manager)
        self._connections = kueue.install_dispatching(
            manager, self._dispatching, made, self._connect
        )
        # Whoever chooses a worker reads what its queues have left, but nobody reads that here.
        _leave_out(manager, {*LEFT_OUT, "kueue-clusterqueue-controller"})

    def _install_queued(self, manager: Manager) -> None:
        for operator in queueing.operators(self._queued(), self._options.jobs):
            manager.add(controller_of(operator)(manager.cluster))

    def _install_runtime(self, manager: Manager) -> None:
        _silence(manager.cluster)
        given = {each.name: each for family in self.families for each in family.operators}
        for operator in (job_operator(), ORPHANS, *given.values()):
            manager.add(controller_of(operator)(manager.cluster))

    def _connect(self, access: Any) -> Any:
        by_server = {dispatching.server_of(name): link for name, link in self.links.items()}
        return connector(by_server, self.random)(access)

    def _is_given_up(self, worker: str) -> bool:
        assert self._connections is not None
        since = self._connections.lost_since(worker)
        lost = self.manager.clock.now() - since if since is not None else timedelta()
        return lost >= timedelta(seconds=LOST_SECONDS)

    async def _make_foreign(self) -> None:
        """Namesakes of some jobs, on some workers, before anything is sent there."""
        single = [
            each
            for each in self.wishes.values()
            if each.kind in NAMESAKES and len(each.objects) == 1
        ]
        for wish in self.random.sample(single, min(FOREIGN, len(single))):
            for worker in self.random.sample(self.workers, 2):
                made = await worker.client.create(fault_jobs.foreign(wish))
                self._foreign[worker.name, wish.name] = (self._kinds[wish.kind], uid_of(made))

    # Its life

    @property
    def is_over(self) -> bool:
        return not self.users.left

    async def round(self) -> None:
        for _ in range(self.random.randint(0, 6)):
            await self.users.create()
        for _ in range(self.random.randint(0, 2)):
            await self.users.do_something()
        for _ in range(self.random.randint(0, 3)):
            await self.harm.do_something()
        await asyncio.sleep(self.random.uniform(0.0, 12.0))
        await self.harm.end()

    async def come_to_rest(self) -> None:
        """Nothing bad happens any more: everything has to end."""
        await self.harm.end(all=True)
        await self.users.activate()
        await self.users.take_back()
        await self.users.scale_up()
        await self._wait({name for _, name in self._foreign})
        await self._remove_foreign()
        await self._wait(set())
        if serving := self.serving():
            self.seen.problems += [f"{each} is lost" for each in self.lost()]
            self.seen.deleted |= serving
            await self.users.take_back()
        await asyncio.sleep(2 * GC_SECONDS)

    async def _wait(self, but: set[str]) -> None:
        """Until all are finished but these, or serve."""
        deadline = asyncio.get_running_loop().time() + REST_SECONDS_MAX
        while left := self.unfinished() - but:
            if asyncio.get_running_loop().time() > deadline:
                raise AssertionError(self.story.of(f"{name} never finished" for name in left))
            await asyncio.sleep(10)

    async def _remove_foreign(self) -> None:
        """They are what they were; and who waits for their names can have them now."""
        for (worker, name), (kind, uid) in self._foreign.items():
            client = self.clusters[worker].client
            found = await client.get(kind, name, "default")
            assert uid_of(found) == uid, f"{name} on {worker} is another one"
            assert not found["metadata"].get("deletionTimestamp")
            assert not is_ours(found)
            await client.delete(kind, name, "default", propagation="Background")
        # Whoever was refused again and again would try again in a quarter of an hour only.
        await self.restarts[MANAGER][0]()

    # What came of it

    def unfinished(self) -> set[str]:
        """Of those that serve, the ones that do not yet."""
        done = {name for name in self.serving() if self.seen.serves(name)}
        return self.wishes.keys() - self.seen.over - done

    def serving(self) -> set[str]:
        """Jobs that have to go on."""
        return {wish.name for wish in self.wishes.values() if wish.serves} - self.seen.deleted

    def leftovers(self) -> list[str]:
        """Of what managers sent, on all workers, and of what was made of it; on the manager, of
        jobs that served, and what was deleted and does not go.
        """
        there = [
            (worker, obj)
            for worker in WORKERS
            for obj in self.rows[worker].objects()
            if "local-" not in obj["metadata"]["name"]
        ]
        here = [
            (MANAGER, obj)
            for obj in self.rows[MANAGER].objects()
            if self.wishes[job_name(obj["metadata"]["name"])].serves or is_deleting(obj)
            if not (obj["kind"] == "Workload" and status.is_finished(obj))
        ]
        return [
            f"{cluster}: {obj['kind']} {obj['metadata']['name']}" for cluster, obj in there + here
        ]

    def lost(self) -> list[str]:
        """Jobs that are not there any more, though nobody took them away."""
        found = {(obj["kind"], obj["metadata"]["name"]) for obj in self.rows[MANAGER].objects()}
        wanted = [
            (obj["kind"], obj["metadata"]["name"])
            for wish in self.wishes.values()
            if wish.name not in self.seen.deleted
            for obj in wish.objects
        ]
        return [f"{kind} {name}" for kind, name in wanted if (kind, name) not in found]


def _silence(cluster: Cluster) -> None:
    cluster.events = Silence(cluster.client, "", clock=cluster.clock, random=cluster.random)


def _leave_out(manager: Manager, names: Set[str]) -> None:
    for loop in manager.loops():
        if loop.controller.name in names:
            loop.controller.workers = 0


@cache
def crds(*plurals: str) -> list[Object]:
    wanted = set(plurals)
    return [
        crd
        for crd in all_crds()
        if crd["spec"]["group"] == "kueue.x-k8s.io" or crd["spec"]["names"]["plural"] in wanted
    ]
