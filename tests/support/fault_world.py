"""A manager and five workers that all kinds of harm is done to: links cut and hung, controllers and
servers killed, tokens changed, bad weather everywhere, clocks that disagree.
"""

import asyncio
import contextlib
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from tests.support import dispatching, fault_jobs
from tests.support import kueue as objects
from tests.support.dispatching import CHECK, CLUSTER_QUEUE, LOCAL_QUEUE, TOKEN
from tests.support.fault_checkers import MANAGER, Rows, Seen, is_ours
from tests.support.links import Link, connector
from tests.support.simulated import SITE
from tests.support.whole import CONFIGURATION

from fleetqueue import kueue
from fleetqueue.api.crds import all_crds
from fleetqueue.apiserver.instance import Instance
from fleetqueue.apiserver.log import Row
from fleetqueue.embedded.job_blueprints import BLUEPRINTS
from fleetqueue.embedded.webhooks import DeclaredHook
from fleetqueue.kube.errors import AlreadyExists, KubeError, NotFound
from fleetqueue.kube.frame import controller_of
from fleetqueue.kube.manager import Manager
from fleetqueue.kube.resources import NAMESPACES, Object, Resource, uid_of
from fleetqueue.multikueue import kinds
from fleetqueue.multikueue.session import SYSTEM_NAMESPACE
from fleetqueue.runtime.binder import Binder
from fleetqueue.runtime.controllers.job import ORPHANS, job_operator
from fleetqueue.runtime.kinds import JOB, NODE, POD
from fleetqueue.runtime.node_keeper import NodeKeeper
from fleetqueue.runtime.nodes import NodeSpec, node_object
from fleetqueue.runtime.simulated import SimulatedPods
from fleetqueue.testing import CALM, Fleet, FleetCluster, Weather, namespace

WORKERS = tuple(f"worker{number}" for number in range(1, 6))
MANAGER_QUOTA, WORKER_QUOTA = 24, 6
GC_SECONDS, LOST_SECONDS = 20, 45
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
"""
ROUGH = Weather(
    delay=0.15,
    delay_seconds_max=1.0,
    lost_request=0.02,
    lost_answer=0.02,
    conflict=0.04,
    busy=0.02,
    cut_watch=0.03,
    late_watch=0.15,
)
NODE_SPEC = NodeSpec("node", mode="simulated")
FOREIGN = 3
REST_SECONDS_MAX = 4 * 3600.0
_FURNISHED: dict[tuple[str, ...], tuple[str, list[Row]]] = {}
"""By the kinds that were added: the log of a server that has them, and what names its cluster."""


@dataclass(slots=True)
class Lasting:
    """A fault that ends by itself."""

    until: float
    end: Callable[[], Any]


class World:
    """Everybody who does something, and the checkers."""

    def __init__(self, fleet: Fleet, count: int) -> None:
        self.fleet = fleet
        self.random = random.Random(f"{fleet.seed}/world")
        self.families = fault_jobs.chosen(fleet.seed)
        self.wishes = {each.name: each for each in fault_jobs.wishes(fleet.seed, count)}
        quota = dict.fromkeys(WORKERS, WORKER_QUOTA) | {MANAGER: MANAGER_QUOTA}
        self.seen = Seen(self.wishes, quota)
        self.clusters: dict[str, FleetCluster] = {}
        self.links: dict[str, Link] = {}
        self.rows: dict[str, Rows] = {}
        self.foreign: dict[tuple[str, str], tuple[Resource, str]] = {}
        """By worker and name: its kind and uid."""
        self._left = [obj for wish in self.wishes.values() for obj in wish.objects]
        self._restarts: dict[str, list[Callable[[], Any]]] = {}
        self._lasting: list[Lasting] = []
        self._locals = 0
        self._inactive: set[str] = set()
        frameworks = [name for family in self.families for name in family.frameworks]
        text = CONFIGURATION % ", ".join(frameworks)
        dispatcher = DISPATCHERS[fleet.seed % len(DISPATCHERS)]
        more = SETTINGS.format(gc=GC_SECONDS, lost=LOST_SECONDS, dispatcher=dispatcher)
        self._options = kueue.read_options(text, None, BLUEPRINTS)
        self._dispatching = kueue.read_options(text + more, None, BLUEPRINTS)

    @property
    def manager(self) -> FleetCluster:
        return self.clusters[MANAGER]

    # Building

    async def start(self) -> None:
        for name in (MANAGER, *WORKERS):
            await self._add_cluster(name)
        await self._join()
        self._run_all()
        await self._make_foreign()
        await asyncio.sleep(5)

    async def _add_cluster(self, name: str) -> None:
        skew = self.random.choice((0.0, 0.0, self.random.uniform(-90, 90)))
        cluster = await self.fleet.add_cluster(name, skew_seconds=skew)
        self.clusters[name] = cluster
        self.links[name] = Link(cluster, TOKEN + name)
        await self._furnish(cluster)
        self.rows[name] = Rows(cluster.log.rows, name, self.seen)
        cluster.log.rows = self.rows[name]
        if name != MANAGER:
            await cluster.client.create(node_object(NODE_SPEC, SITE))
            # Nobody runs here who would see that the node is ready.
            await cluster.client.patch(NODE, NODE_SPEC.name, {"spec": {"taints": None}})
            policy = {"withinClusterQueue": "LowerPriority"}
            made = objects.cluster_queue(CLUSTER_QUEUE, str(WORKER_QUOTA), preemption=policy)
            await cluster.client.create(made)
            await cluster.client.create(objects.local_queue(LOCAL_QUEUE, CLUSTER_QUEUE))

    async def _furnish(self, cluster: FleetCluster) -> None:
        """All that servers have in common is made once, since that takes longest; the others get
        its log, in which nothing but the cluster's own name is another.
        """
        cluster.furnish = self._hook
        wanted = tuple(sorted({crd for family in self.families for crd in family.crds}))
        own = uid_of(await cluster.client.get(NAMESPACES, SYSTEM_NAMESPACE))
        if wanted not in _FURNISHED:
            await self._make_common(cluster, wanted)
            _FURNISHED[wanted] = (own, list(cluster.log.rows.values()))
            return
        theirs, rows = _FURNISHED[wanted]
        await cluster.kill()
        names = (theirs.encode(), own.encode())
        cluster.log.rows = {
            row.revision: row._replace(value=row.value.replace(*names)) for row in rows
        }
        await cluster.start()

    async def _make_common(self, cluster: FleetCluster, plurals: tuple[str, ...]) -> None:
        for crd in crds(*plurals):
            await cluster.client.create(crd)
        await asyncio.sleep(1)
        self._hook(cluster.instance)
        for obj in fault_jobs.furniture(self.families):
            await cluster.client.create(obj)
        await cluster.client.create(objects.priority_class("high", 100))
        await cluster.client.create(objects.flavor())

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

    def _run_all(self) -> None:
        run = self.fleet.run_all
        for name, cluster in self.clusters.items():
            install = self._install_manager if name == MANAGER else self._install_worker
            runtime = partial(self._install_runtime, name)
            self._restarts[name] = [run(install, on=cluster), run(runtime, on=cluster)]

    def _install_worker(self, manager: Manager) -> None:
        kueue.install(manager, self._options)

    def _install_manager(self, manager: Manager) -> None:
        made = kueue.install(manager, self._dispatching)
        kueue.install_dispatching(manager, self._dispatching, made, self._connect)

    def _install_runtime(self, name: str, manager: Manager) -> None:
        given = {each.name: each for family in self.families for each in family.operators}
        for operator in (job_operator(), ORPHANS, *given.values()):
            manager.add(controller_of(operator)(manager.cluster))
        if name != MANAGER:
            # Nobody looks at the leases here.
            keeper = NodeKeeper(manager.cluster, [NODE_SPEC], SITE, renew_seconds=1e6)
            for controller in (Binder(manager.cluster), SimulatedPods(manager.cluster), keeper):
                manager.add(controller)

    def _connect(self, access: Any) -> Any:
        by_server = {dispatching.server_of(name): link for name, link in self.links.items()}
        return connector(by_server, self.random)(access)

    async def _make_foreign(self) -> None:
        """Namesakes of some jobs, on some workers, before anything is sent there."""
        single = [
            each
            for each in self.wishes.values()
            if each.kind in ("Job", "Pod") and len(each.objects) == 1
        ]
        for wish in self.random.sample(single, min(FOREIGN, len(single))):
            for worker in self.random.sample(WORKERS, 2):
                made = await self.clusters[worker].client.create(fault_jobs.foreign(wish))
                kind = POD if wish.kind == "Pod" else JOB
                self.foreign[worker, wish.name] = (kind, made["metadata"]["uid"])

    # Living

    @property
    def is_over(self) -> bool:
        return not self._left

    async def round(self) -> None:
        for _ in range(self.random.randint(0, 6)):
            await self._try(self._create())
        for _ in range(self.random.randint(0, 2)):
            await self._try(self.random.choice(self._users())())
        for _ in range(self.random.randint(0, 3)):
            await self._try(self.random.choice(self._faults())())
        await asyncio.sleep(self.random.uniform(0.0, 12.0))
        await self._end_faults()

    async def _try(self, doing: Any) -> None:
        """What somebody wants is wanted again later where a server is down."""
        try:
            await doing
        except NotFound:
            pass
        except KubeError:
            assert not all(each.is_up for each in self.clusters.values())

    async def _create(self) -> None:
        if self._left:
            try:
                await self.manager.client.create(self._left[0])
            except AlreadyExists:
                """The answer of before was lost, not what was asked."""
            del self._left[0]

    def _users(self) -> list[Callable[[], Any]]:
        return [self._delete_job, self._deactivate, self._activate, self._make_local]

    async def _delete_job(self) -> None:
        made = [name for name in self.wishes if name not in {job_of(obj) for obj in self._left}]
        if not made or self.random.random() < 0.7:
            return
        wish = self.wishes[self.random.choice(made)]
        self.seen.deleted.add(wish.name)
        for obj in wish.objects:
            kind = next(k for k in self._kinds() if k.kind == obj["kind"])
            try:
                await self.manager.client.delete(kind, obj["metadata"]["name"], "default")
            except NotFound:
                continue

    async def _deactivate(self) -> None:
        found = (await self.manager.client.list(kinds.WORKLOAD, "default")).items
        if found:
            name = self.random.choice(found)["metadata"]["name"]
            self._inactive.add(name)
            await self._set_active(name, False)

    async def _activate(self) -> None:
        for name in sorted(self._inactive):
            with contextlib.suppress(NotFound):
                await self._set_active(name, True)
            self._inactive.discard(name)

    async def _set_active(self, name: str, is_active: bool) -> None:
        patch = {"spec": {"active": is_active}}
        await self.manager.client.patch(kinds.WORKLOAD, name, patch, "default")

    async def _make_local(self) -> None:
        """A user of a worker is more urgent: copies there may be put out."""
        self._locals += 1
        cpu, seconds = self.random.choice(("2", "4")), self.random.choice(("5", "40"))
        made = fault_jobs.local(f"local-{self._locals}", cpu, seconds)
        await self._worker().client.create(made)

    # Harm

    def _faults(self) -> list[Callable[[], Any]]:
        return [
            self._cut, self._cut, self._hang, self._drop_watches, self._reset, self._bad_weather,
            self._kill_controllers, self._kill_controllers, self._kill_server, self._crash_server,
            self._crash_server, self._expire_token,
        ]  # fmt: skip

    async def _cut(self) -> None:
        link = self._link()
        link.cut()
        self._for_a_while(link.restore)

    async def _hang(self) -> None:
        link = self._link()
        link.hang()
        self._for_a_while(link.restore)

    async def _drop_watches(self) -> None:
        self._link().drop_watches()

    async def _reset(self) -> None:
        self._link().reset()

    async def _bad_weather(self) -> None:
        cluster = self._any()
        cluster.set_weather(ROUGH)
        self._for_a_while(partial(cluster.set_weather, CALM))

    async def _kill_controllers(self) -> None:
        """All in one process, or one of two."""
        name = self._any().name
        for restart in self.random.choice((self._restarts[name], self._restarts[name][:1])):
            await restart()

    async def _kill_server(self) -> None:
        cluster = self._any()
        await cluster.kill()
        self._for_a_while(partial(self._revive, cluster))

    async def _crash_server(self) -> None:
        """At one of the next writes."""
        cluster = self._any()
        if cluster.is_up:
            cluster.log.writes_left = self.random.randint(1, 20)
            self._for_a_while(partial(self._revive, cluster))

    async def _expire_token(self) -> None:
        worker = self._worker().name
        token = f"{TOKEN}{worker}-{self.random.random()}"
        self.links[worker].token = token
        # A connection that is open goes on; whoever asks again is refused.
        self.links[worker].reset()
        self._for_a_while(partial(self._renew_token, worker))

    async def _renew_token(self, worker: str) -> None:
        token = self.links[worker].token
        data = dispatching.kubeconfig_secret(worker, token=token)["data"]
        name = dispatching.secret_name(worker)
        await self.manager.client.patch(kinds.SECRET, name, {"data": data}, dispatching.SYSTEM)

    async def _revive(self, cluster: FleetCluster) -> None:
        cluster.log.writes_left = None
        if not cluster.is_up:
            await cluster.restart()

    def _for_a_while(self, end: Callable[[], Any]) -> None:
        seconds = self.random.choice((1.0, 5.0, 20.0, 90.0)) * self.random.uniform(0.5, 1.5)
        now = asyncio.get_running_loop().time()
        self._lasting.append(Lasting(now + seconds, end))

    async def _end_faults(self, *, all: bool = False) -> None:
        now = asyncio.get_running_loop().time()
        for each in list(self._lasting):
            if all or each.until <= now:
                try:
                    result = each.end()
                    if result is not None:
                        await result
                except KubeError:
                    assert not self.manager.is_up
                    continue
                self._lasting.remove(each)

    # The end

    async def come_to_rest(self) -> None:
        """Nothing bad happens any more: everything has to end."""
        for cluster in self.clusters.values():
            cluster.set_weather(CALM)
            await self._revive(cluster)
        await self._end_faults(all=True)
        assert not self._lasting
        await self._activate()
        await self._wait(self._is_finished_but_for_foreign)
        await self._remove_foreign()
        await self._wait(self._is_finished)
        await asyncio.sleep(2 * GC_SECONDS)

    async def _wait(self, is_enough: Callable[[], bool]) -> None:
        deadline = asyncio.get_running_loop().time() + REST_SECONDS_MAX
        while not is_enough():
            if asyncio.get_running_loop().time() > deadline:
                raise AssertionError(f"never finished: {self._unfinished()}")
            await asyncio.sleep(10)

    def _is_finished(self) -> bool:
        return not self._unfinished()

    def _is_finished_but_for_foreign(self) -> bool:
        return self._unfinished() <= {name for _, name in self.foreign}

    def _unfinished(self) -> set[str]:
        return self.wishes.keys() - self.seen.finished.keys() - self.seen.deleted

    async def _remove_foreign(self) -> None:
        for (worker, name), (kind, uid) in self.foreign.items():
            client = self.clusters[worker].client
            found = await client.get(kind, name, "default")
            assert found["metadata"]["uid"] == uid, f"{name} on {worker} is another one"
            assert not found["metadata"].get("deletionTimestamp")
            assert not is_ours(found)
            await client.delete(kind, name, "default", propagation="Background")

    def leftovers(self) -> list[str]:
        """Of what managers sent, on all workers; pods that were made of it, too."""
        return [
            f"{worker}: {obj['kind']} {obj['metadata']['name']}"
            for worker in WORKERS
            for obj in self.rows[worker].objects()
            if is_ours(obj) or obj["kind"] == "Workload" or obj["kind"] == "Pod"
            if "local-" not in obj["metadata"]["name"]
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

    # Whom it hits

    def _any(self) -> FleetCluster:
        if self.random.random() < 0.3:
            return self.manager
        return self._worker()

    def _worker(self) -> FleetCluster:
        return self.clusters[self.random.choice(WORKERS)]

    def _link(self) -> Link:
        return self.links[self.random.choice(WORKERS)]

    def _kinds(self) -> Iterator[Resource]:
        from fleetqueue.jobs import registry

        return (kind.resource for kind in registry.enabled_kinds(self._options.jobs))


def job_of(obj: Object) -> str:
    return str(obj["metadata"]["name"])[:5]


@cache
def crds(*plurals: str) -> list[Object]:
    wanted = set(plurals)
    return [
        crd
        for crd in all_crds()
        if crd["spec"]["group"] == "kueue.x-k8s.io" or crd["spec"]["names"]["plural"] in wanted
    ]
