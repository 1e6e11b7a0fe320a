"""A manager and its workers, each an API server of its own with the whole of Kueue, joined by
kubeconfig Secrets; the links between them can be cut, hang and be repaired.

    async with await dispatching.start(fleet) as world:
        await world.join()
        await world.set_up(quota="8", worker_quota="4")
        await world.manager.create(job("one", cpu="1"))
        await world.settle()
"""

import base64
from collections.abc import Callable, Iterable, Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from random import Random
from typing import Any

from tests.support import kueue as objects
from tests.support import simulated
from tests.support.links import Link, connector
from tests.support.recorder import Recorder
from tests.support.whole import CONFIGURATION, RECORDED, Whole

from fleetqueue import kueue
from fleetqueue.api.crds import all_crds
from fleetqueue.embedded.job_blueprints import BLUEPRINTS
from fleetqueue.kube.client import Client
from fleetqueue.kube.errors import NotFound
from fleetqueue.kube.frame import Operator
from fleetqueue.kube.kubeconfig import Access
from fleetqueue.kube.manager import Manager
from fleetqueue.kube.resources import EVENTS, Object, Resource
from fleetqueue.kueue import KueueOptions
from fleetqueue.multikueue import kinds, parts
from fleetqueue.multikueue.adapter import prebuilt_key
from fleetqueue.multikueue.connections import Connections, install_connections
from fleetqueue.multikueue.settings import DispatchSettings, read_settings
from fleetqueue.runtime.controllers import job as job_controller
from fleetqueue.runtime.kinds import JOB
from fleetqueue.runtime.nodes import NodeSpec
from fleetqueue.testing import Fleet, FleetCluster, named, namespace

API = objects.API
SYSTEM = "kueue-system"
SPACE = "default"
CHECK = "multikueue"
CONFIG = "two-workers"
CLUSTER_QUEUE = "cluster-queue"
LOCAL_QUEUE = "user-queue"
WORKERS = ("worker1", "worker2")
TOKEN = "token-of-"
NOBODY = "https://127.0.0.1:1"
"""An address that refuses connections."""
SEEN = (*RECORDED, kinds.CLUSTER, kinds.CONFIG)

Install = Callable[[Manager, KueueOptions, DispatchSettings, Callable[[Access], Client]], Any]
"""Puts the parts of dispatching into the manager that runs on the manager cluster."""


class Side(Whole):
    """One cluster, with what a test asks of it most."""

    def __init__(self, fleet: Fleet, cluster: FleetCluster, space: str) -> None:
        super().__init__(fleet, cluster, space)
        self.seen = Recorder(cluster.client, SEEN)
        self.name = cluster.name
        self.restart: Callable[[], Any] | None = None
        """Kueue on this cluster starts again, as after a crash."""

    async def find(self, kind: Resource, name: str) -> Object | None:
        try:
            return await self.get(kind, name)
        except NotFound:
            return None

    async def all(self, kind: Resource) -> list[Object]:
        space = self.space if kind.namespaced else ""
        return list((await self.client.list(kind, space)).items)

    async def workloads(self) -> list[Object]:
        return await self.all(kinds.WORKLOAD)

    async def condition(self, kind: Resource, name: str, type: str) -> tuple[str, str, str] | None:
        """Status, reason and message."""
        return objects.conditions_of(await self.get(kind, name)).get(type)

    async def events(self, name: str) -> list[tuple[str, str, str]]:
        """Type, reason and message of the events about an object, oldest first."""
        found = (await self.client.list(EVENTS, "")).items
        about = [each for each in found if each["involvedObject"]["name"] == name]
        return [(each["type"], each["reason"], each["message"]) for each in about]


class Dispatching:
    """The manager, its workers by name, and the links to them."""

    def __init__(self, fleet: Fleet, manager: Side, workers: Mapping[str, Side]) -> None:
        self.fleet = fleet
        self.manager = manager
        self.workers = dict(workers)
        self.links = {name: Link(side.cluster, TOKEN + name) for name, side in workers.items()}
        self.installed: Any = None
        """What the last start of the manager put in place."""
        self.install: Install = install_links_only
        """What the next start of the manager does."""
        self.random = Random(f"{fleet.seed}/links")
        self._recording = AsyncExitStack()

    async def __aenter__(self) -> "Dispatching":
        for side in (self.manager, *self.workers.values()):
            await self._recording.enter_async_context(side)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._recording.aclose()

    @property
    def connections(self) -> Connections:
        """Of the manager that runs now."""
        found = self.installed
        return found if isinstance(found, Connections) else found.connections

    def connect(self, access: Access) -> Client:
        by_server = {server_of(name): link for name, link in self.links.items()}
        return connector(by_server, self.random)(access)

    # Links

    def cut(self, worker: str) -> None:
        self.links[worker].cut()

    def hang(self, worker: str) -> None:
        self.links[worker].hang()

    def restore(self, worker: str) -> None:
        self.links[worker].restore()

    # Objects

    async def join(self, *workers: str) -> None:
        """Secret and MultiKueueCluster of these workers, or of all."""
        for name in workers or self.workers:
            await self.manager.client.create(kubeconfig_secret(name))
            await self.manager.client.create(cluster(name))
        await self.fleet.settle()

    async def set_up(
        self,
        *,
        quota: Any = "8",
        worker_quota: Any = "4",
        clusters: Iterable[str] = (),
        check: str = CHECK,
        **queue: Any,
    ) -> None:
        """Queues everywhere, under the same names, and the check on the manager's. `queue`: more
        of the manager's ClusterQueue."""
        strategy = {"admissionChecks": [{"name": check}]}
        flavors = ["default"] if isinstance(quota, str) else list(quota)
        await self.manager.create(
            config(*(clusters or self.workers)),
            admission_check(check),
            *(objects.flavor(each) for each in flavors),
            objects.cluster_queue(
                CLUSTER_QUEUE, quota, **{"admissionChecksStrategy": strategy, **queue}
            ),
            objects.local_queue(LOCAL_QUEUE, CLUSTER_QUEUE),
        )
        for side in self.workers.values():
            amount = worker_quota[side.name] if isinstance(worker_quota, dict) else worker_quota
            await side.create(*worker_queues(amount))
        await self.settle()

    async def write_secret(self, worker: str, **changes: str) -> None:
        """The worker's kubeconfig says something else from now on: its server, its token."""
        data = kubeconfig_secret(worker, **changes)["data"]
        await self.manager.client.patch(kinds.SECRET, secret_name(worker), {"data": data}, SYSTEM)
        await self.fleet.settle()

    async def settle(self) -> None:
        await self.fleet.settle()

    async def passes(self, **span: float) -> None:
        await self.fleet.passes(**span)
        await self.fleet.settle()

    # What people see

    async def activity(self, cluster: str) -> tuple[str, str, str] | None:
        return await self.manager.condition(kinds.CLUSTER, cluster, "Active")

    async def check_activity(self, check: str = CHECK) -> tuple[str, str, str] | None:
        return await self.manager.condition(kinds.ADMISSION_CHECK, check, "Active")


def install_links_only(
    manager: Manager,
    options: KueueOptions,
    settings: DispatchSettings,
    connect: Callable[[Access], Client],
) -> Connections:
    """Kueue and the connections, without anything that sends workloads."""
    kueue.install(manager, options)
    followed = {JOB: lambda mirror: prebuilt_key(mirror, settings)}
    return install_connections(manager, settings, followed, connect)


def install_dispatch(
    manager: Manager,
    options: KueueOptions,
    settings: DispatchSettings,
    connect: Callable[[Access], Client],
) -> Any:
    """Kueue, and all that sends workloads to workers."""
    metrics = kueue.install(manager, options).metrics
    return parts.install(manager, settings, connect, metrics, lambda kind: True)


async def start(
    fleet: Fleet,
    *,
    workers: Iterable[str] = WORKERS,
    config: str = "",
    worker_config: str = "",
    gates: Mapping[str, bool] | None = None,
    frameworks: Iterable[str] = ("batch/job",),
    operators: Iterable[Operator] = (),
    groups: Iterable[str] = (),
    settings: Mapping[str, Any] | None = None,
    install: Install = install_links_only,
    space: str = SPACE,
) -> Dispatching:
    """`config`, `worker_config`: what the configuration files say besides; `gates`: of the manager;
    `operators` and `groups`: further controllers and kinds everywhere; `settings`: fields of the
    DispatchSettings that no file can say.
    """
    frameworks, operators = list(frameworks), list(operators)
    kinds_of = ["kueue.x-k8s.io", *groups]
    text = CONFIGURATION % ", ".join(frameworks)
    options = kueue.read_options(text + config, gates, BLUEPRINTS)
    simple = kueue.read_options(text + worker_config, None, BLUEPRINTS)
    manager = await _side(fleet, "manager", options, kinds_of, operators, space)
    await manager.client.create(namespace(SYSTEM))
    sides = {}
    for name in workers:
        sides[name] = side = await _side(fleet, name, simple, kinds_of, operators, space)
        side.restart = fleet.run_all(lambda made: kueue.install(made, simple), on=side.cluster)
    world = Dispatching(fleet, manager, sides)
    read = read_settings(options.config, options.gates, options.jobs)
    wanted = replace(read, **(settings or {}))

    world.install = install

    def install_all(made: Manager) -> None:
        world.installed = world.install(made, options, wanted, world.connect)

    manager.restart = fleet.run_all(install_all, on=manager.cluster)
    await fleet.settle()
    return world


async def _side(
    fleet: Fleet,
    name: str,
    options: KueueOptions,
    groups: Iterable[str],
    operators: Iterable[Operator],
    space: str,
) -> Side:
    made = await simulated.start(
        fleet,
        job_controller.job_operator(),
        job_controller.ORPHANS,
        *operators,
        groups=groups,
        webhooks=kueue.webhooks(options),
        nodes=(NodeSpec("one", mode="simulated"), NodeSpec("two", mode="simulated")),
        name=name,
    )
    if space != "default":
        await made.client.create(namespace(space))
    return Side(fleet, made.cluster, space)


# Objects


def server_of(worker: str) -> str:
    return f"https://{worker}:6443"


def secret_name(worker: str) -> str:
    return f"{worker}-secret"


def kubeconfig(worker: str, *, server: str = "", token: str = "") -> str:
    return f"""
apiVersion: v1
kind: Config
clusters:
- name: default-cluster
  cluster:
    server: {server or server_of(worker)}
    certificate-authority-data: {base64.b64encode(b"an authority").decode()}
users:
- name: default-user
  user:
    token: {token or TOKEN + worker}
contexts:
- name: default-context
  context: {{cluster: default-cluster, user: default-user}}
current-context: default-context
"""


def kubeconfig_secret(worker: str, text: str = "", **changes: str) -> Object:
    """The Secret that the MultiKueueCluster of that name refers to; `text` is another content."""
    content = base64.b64encode((text or kubeconfig(worker, **changes)).encode()).decode()
    return named("Secret", "v1", secret_name(worker), SYSTEM, data={"kubeconfig": content})


def cluster(name: str, *, location: str = "", type: str = "Secret", **metadata: Any) -> Object:
    source = {"kubeConfig": {"location": location or secret_name(name), "locationType": type}}
    spec = {"clusterSource": source}
    return named("MultiKueueCluster", API, name, spec=spec, **metadata)


def profile_cluster(name: str, profile: str) -> Object:
    spec = {"clusterSource": {"clusterProfileRef": {"name": profile}}}
    return named("MultiKueueCluster", API, name, spec=spec)


def config(*clusters: str, name: str = CONFIG, **spec: Any) -> Object:
    return named("MultiKueueConfig", API, name, spec={"clusters": list(clusters), **spec})


def admission_check(name: str = CHECK, config: str = CONFIG) -> Object:
    parameters = {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": config}
    spec = {"controllerName": kinds.CONTROLLER, "parameters": parameters}
    return named("AdmissionCheck", API, name, spec=spec)


def worker_queues(quota: Any) -> list[Object]:
    flavors = ["default"] if isinstance(quota, str) else list(quota)
    return [
        *(objects.flavor(each) for each in flavors),
        objects.cluster_queue(CLUSTER_QUEUE, quota),
        objects.local_queue(LOCAL_QUEUE, CLUSTER_QUEUE),
    ]


def job(name: str, *, cpu: str = "1", run_seconds: str = "never", **spec: Any) -> Object:
    """A Job for the queue; its pods run that long."""
    labels = {"kueue.x-k8s.io/queue-name": LOCAL_QUEUE}
    template = simulated.template(cpu=cpu, run_seconds=run_seconds, restartPolicy="Never")
    body = {"parallelism": 1, "completions": 1, "suspend": True, "template": template, **spec}
    return named("Job", "batch/v1", name, SPACE, labels=labels, spec=body)


def profile_crd() -> Object:
    """ClusterProfile as the cluster inventory API has it, so far as anybody here looks."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1alpha1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }
    names = {"kind": "ClusterProfile", "plural": "clusterprofiles", "singular": "clusterprofile"}
    spec = {
        "group": "multicluster.x-k8s.io",
        "scope": "Namespaced",
        "names": names,
        "versions": [version],
    }
    found = [crd for crd in all_crds() if crd["spec"]["group"] == spec["group"]]
    api = "apiextensions.k8s.io/v1"
    name = "clusterprofiles.multicluster.x-k8s.io"
    return found[0] if found else named("CustomResourceDefinition", api, name, spec=spec)
