"""What makes an API server a cluster: nodes, a scheduler, pods and controllers, in its process."""

import asyncio
import logging
import random
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

from fleetqueue import kueue
from fleetqueue.admission.parts import Admission
from fleetqueue.apiserver.access.users import User
from fleetqueue.apiserver.instance import Instance
from fleetqueue.apiserver.request import Request
from fleetqueue.base.clock import Clock
from fleetqueue.embedded import built_in, furniture, hubs, parts
from fleetqueue.embedded.connections import Connections
from fleetqueue.embedded.job_blueprints import BLUEPRINTS
from fleetqueue.embedded.options import LiveOptions
from fleetqueue.embedded.placed_jobs import spared
from fleetqueue.embedded.places import places_in
from fleetqueue.embedded.reach.parts import Reach
from fleetqueue.embedded.webhooks import DeclaredHook
from fleetqueue.kube import kubeconfig
from fleetqueue.kube.calls import Selection
from fleetqueue.kube.client import Client
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.frame import Caches, controller_of
from fleetqueue.kube.manager import Manager
from fleetqueue.kube.resources import Object, Resource
from fleetqueue.kube.transport import InProcessTransport
from fleetqueue.kube.webhook_rules import Webhook
from fleetqueue.metrics.registry import Metrics
from fleetqueue.multikueue.kinds import CLUSTER_PROFILE
from fleetqueue.multikueue.workers import Workers
from fleetqueue.provisioning.kinds import REQUEST as PROVISIONING_REQUEST
from fleetqueue.runtime.addresses import AddressPool
from fleetqueue.runtime.binder import Binder
from fleetqueue.runtime.controllers.volume_directories import VolumeDirectories
from fleetqueue.runtime.gpus import Gpu, GpuAllocator, find_gpus
from fleetqueue.runtime.images import ImageTable
from fleetqueue.runtime.machine import Machine, read_machine
from fleetqueue.runtime.node_keeper import NodeKeeper
from fleetqueue.runtime.node_lifecycle import NodeLifecycle
from fleetqueue.runtime.nodes import HOSTS_FILE, SUBSTITUTION, NodeSpec, Site, default_nodes
from fleetqueue.runtime.pod_keeper import PodKeeper
from fleetqueue.runtime.pod_worker import Tools
from fleetqueue.runtime.process_preparation import ProcessPreparation, Surrounding
from fleetqueue.runtime.remote_shell_access import Access
from fleetqueue.runtime.remote_shell_server import RemoteShellServer
from fleetqueue.runtime.service_keeper import ServiceKeeper
from fleetqueue.runtime.shepherded import ShepherdedProcesses
from fleetqueue.runtime.simulated import SimulatedPods
from fleetqueue.runtime.surroundings import RestartBackoff
from fleetqueue.runtime.taint_eviction import TaintEviction
from fleetqueue.runtime.without_ray import without_ray
from fleetqueue.runtime.without_ssh import without_ssh

logger = logging.getLogger(__name__)

__all__ = ["Live", "LiveOptions"]

HOST_ADDRESS = "127.0.0.1"
CONTROLLERS = User(
    "system:kube-controller-manager", groups=("system:masters", "system:authenticated")
)


class Live:
    """The parts of one cluster that run beside its API server."""

    def __init__(
        self, instance: Instance, clock: Clock, source: random.Random, options: LiveOptions
    ) -> None:
        self._instance = instance
        self._options = options
        self.client = self._client(source, "fleetqueue")
        self.cluster = Cluster(self.client, clock=clock, random=source)
        self._manager = Manager(self.cluster, random=source)
        gpus = () if options.simulates else find_gpus()
        machine = read_machine(options.directory, gpus)
        self._images = options.images or ImageTable()
        self._keeper: NodeKeeper
        self._machine = machine
        self._processes: ShepherdedProcesses | None = None
        self._pods: PodKeeper | None = None
        self._task: asyncio.Task[None] | None = None
        self.admission: Admission | None = None
        self._reach = Reach(options.directory, self.cluster)
        self.workers: Workers | None = None
        """The clusters that jobs are sent to."""
        self._is_prepared = False

    def _client(self, source: random.Random, manager: str) -> Client:
        transport = InProcessTransport(
            self._instance.handle,
            request=Request,
            user=CONTROLLERS,
            headers={"user-agent": manager},
        )
        # Warnings are for users; what these parts do on purpose needs none.
        return Client(transport, random=source, field_manager=manager, on_warning=lambda text: None)

    def _specs(self, machine: Machine) -> Sequence[NodeSpec]:
        if self._options.nodes:
            return self._options.nodes
        if self._options.simulates:
            return [NodeSpec("simulated", mode="simulated")]
        return default_nodes(machine)

    async def prepare(self) -> None:
        """The kinds and what is asked before they are written: all that has to be there before
        anybody is served. Does so once.
        """
        if self._is_prepared:
            return
        self._is_prepared = True
        core = self._instance.core
        await furniture.ensure(self._instance, hubs.crds(self._options, core))
        await furniture.make_all(self._instance, hubs.objects(self._options))
        for webhook in (*parts.webhooks(), *self._queue()):
            core.hooks.add(DeclaredHook(webhook, core, self._instance.gate))
        if self._options.kueue is not None:
            home = kueue.home(self._options.kueue)
            await furniture.make_all(self._instance, [home, *kueue.cluster_roles()])
        self._join_fleets()

    def _join_fleets(self) -> None:
        """As a hub, where it is one, and as a member, where it becomes one."""
        if self.admission is not None:
            metrics = self.admission.metrics
        else:
            metrics = Metrics()
            self._instance.pages.metrics.append(metrics.exposed)
        hubs.install(self._options, self._manager, self._instance.core, metrics)
        hubs.follow_hub(self._options, self._manager, self._connect, self._as_member, metrics)

    def _as_member(self) -> Cluster:
        """This cluster as the agent of a member sees it."""
        source = self.cluster.random
        client = self._client(source, "work-api-agent")
        return Cluster(client, clock=self.cluster.clock, random=source)

    async def start(self) -> None:
        await self.prepare()
        self._processes = await self._open_processes()
        self._keeper = self._make_keeper(self._processes)
        volumes = self._options.directory / "volumes"
        for operator in parts.operators(volumes, self._images, self._place_of):
            self._manager.add(controller_of(spared(operator))(self.cluster))
        for controller in (
            self._keeper,
            NodeLifecycle(self.cluster),
            TaintEviction(self.cluster),
            SimulatedPods(self.cluster),
            Binder(self.cluster),
            VolumeDirectories(self.cluster, volumes),
        ):
            self._manager.add(controller)
        await self._start_pods(self._processes)
        await self._keeper.register()
        await self.start_controllers()
        self._reach.sweep()
        await self._preparation.sweep()

    async def start_controllers(self) -> None:
        """Those that are there by now; `prepare` makes all that know nothing of pods."""
        await self._follow_late_kinds()
        self._task = asyncio.create_task(self._manager.run(), name="controllers")
        await self._manager.wait_ready()

    def _queue(self) -> Iterable[Webhook]:
        """Jobs are queued from now on; what their webhooks are."""
        if self._options.kueue is None:
            return ()
        is_placed = hubs.placed(self._options, self.cluster)
        options = replace(self._options.kueue, blueprints=BLUEPRINTS, is_placed=is_placed)
        self.admission = kueue.install(self._manager, options)
        workers = kueue.install_dispatching(
            self._manager,
            options,
            self.admission,
            self._connect,
            is_served=lambda kind: True,
            farewell=self._reach.farewell,
        )
        if workers is not None:
            self._reach.open(self._instance.core, options, workers)
        self.workers = workers
        kueue.install_late_provisioning(self._manager, options)
        for group in kueue.served_groups(options, self.admission):
            self._instance.core.extensions.add(group)
        self._instance.pages.metrics.append(self.admission.metrics.exposed)
        return (*built_in.webhooks(), *kueue.webhooks(options))

    async def _follow_late_kinds(self) -> None:
        """Kinds of others, which people define once the cluster runs: those that only the
        configuration names, the autoscaler's, and the profiles of clusters.
        """
        awaited = list(filter(_may_come_late, self.cluster.kinds()))
        if not awaited:
            return
        from fleetqueue.kube.late_kinds import LateKinds

        # To read all definitions takes long, and a guess does not know the name of its own.
        is_one = awaited == [PROVISIONING_REQUEST]
        late = LateKinds(
            self.cluster,
            _may_come_late,
            random=self.cluster.random,
            selection=Selection(field_selector=f"metadata.name={awaited[0]}") if is_one else None,
        )
        await late.look()
        self._manager.add_task("kinds", late.run)

    def _connect(self, access: kubeconfig.Access) -> Client:
        """To another cluster; most have none, and never load what that takes."""
        from fleetqueue.kube.connect import connect_to

        return connect_to(access, clock=self.cluster.clock, random=self.cluster.random)

    async def _open_processes(self) -> ShepherdedProcesses:
        """What pods mount, such as Secrets and tokens, is nobody else's to read."""
        options = self._options
        directory = options.directory / "runtime"
        directory.mkdir(parents=True, exist_ok=True)
        directory.chmod(0o700)
        return await ShepherdedProcesses.open(
            directory, self.cluster.clock, namespaces=options.namespaces
        )

    def _make_keeper(self, processes: ShepherdedProcesses) -> NodeKeeper:
        way = HOSTS_FILE if processes.has_namespaces else SUBSTITUTION
        site = Site(self._machine, gpu_count=self._options.gpus, name_resolution=way)
        return NodeKeeper(self.cluster, self._specs(self._machine), site)

    async def _start_pods(self, processes: ShepherdedProcesses) -> None:
        """Those that run as processes; a cluster of simulated nodes alone has none."""
        options, clock = self._options, self.cluster.clock
        devices = self._machine.gpus
        if options.gpus is not None:
            devices = tuple(Gpu(index) for index in range(options.gpus))
        access = Access(processes.directory / "remote-shell", secrets.token_bytes(32))
        around = Surrounding(
            directory=options.directory / "runtime",
            images=self._images,
            addresses=AddressPool(options.pod_network),
            host_address=HOST_ADDRESS,
            api_host=options.api_host,
            api_port=options.api_port,
            gpus=GpuAllocator(devices),
            gpus_are_real=bool(self._machine.gpus),
            why_no_namespaces=processes.isolation.why_not,
            extras=partial(access.variables, source=Caches(self.cluster)),
        )
        self._preparation = preparation = ProcessPreparation(self.cluster, clock, around)
        tools = Tools(self.cluster, processes, preparation, clock, RestartBackoff(), self._as_run)
        self._pods = PodKeeper(tools, self._keeper.runs_as_process)
        self._manager.add(self._pods)
        self._manager.add_task("volumes", preparation.keep_fresh)
        remote_shell = RemoteShellServer(self.cluster, access, self._pods.find_by_uid)
        remote_shell.open()
        self._manager.add_task("remote shell", remote_shell.run)
        api = (options.api_host, options.api_port)
        services = ServiceKeeper(self.cluster, [HOST_ADDRESS], api, preparation.place_of)
        self._manager.add_task("services", services.run)
        core = self._instance.core
        core.runtime = Connections(places_in(core, self._pods.find, preparation.directory_of))

    def _place_of(self, address: str, port: int) -> tuple[str, int]:
        """Known once pods are started, which is before anybody asks."""
        return self._preparation.place_of(address, port)

    def _as_run(self, spec: Object) -> Object:
        image = str(spec["containers"][0].get("image") or "")
        return without_ssh(spec if parts.has_ray(self._images, image) else without_ray(spec))

    async def stop(self) -> None:
        if self._task is not None:
            self._manager.stop()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._pods is not None:
            await self._pods.stop()
            self._preparation.close()
        if self._processes is not None:
            await self._processes.close()


def _may_come_late(kind: Resource) -> bool:
    return kind.is_guess or kind in (PROVISIONING_REQUEST, CLUSTER_PROFILE)
