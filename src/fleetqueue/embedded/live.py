"""What makes an API server a cluster: nodes, a scheduler, pods and controllers, in its process."""

import asyncio
import logging
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fleetqueue.apiserver.access.users import User
from fleetqueue.apiserver.instance import Instance
from fleetqueue.apiserver.request import Request
from fleetqueue.base.clock import Clock
from fleetqueue.embedded import furniture, parts
from fleetqueue.embedded.connections import Connections
from fleetqueue.embedded.places import places_in
from fleetqueue.embedded.webhooks import DeclaredHook
from fleetqueue.kube.client import Client
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.manager import Manager
from fleetqueue.kube.resources import Object
from fleetqueue.kube.transport import InProcessTransport
from fleetqueue.runtime.addresses import AddressPool
from fleetqueue.runtime.binder import Binder
from fleetqueue.runtime.controllers.volume_directories import VolumeDirectories
from fleetqueue.runtime.frame import controller_of
from fleetqueue.runtime.gpus import Gpu, GpuAllocator, find_gpus
from fleetqueue.runtime.images import ImageTable
from fleetqueue.runtime.kinds import NODE
from fleetqueue.runtime.machine import Machine, read_machine
from fleetqueue.runtime.modes import is_simulated
from fleetqueue.runtime.node_keeper import NodeKeeper
from fleetqueue.runtime.node_lifecycle import NodeLifecycle
from fleetqueue.runtime.nodes import NodeSpec, Site, default_nodes
from fleetqueue.runtime.pod_keeper import PodKeeper
from fleetqueue.runtime.pod_worker import Tools
from fleetqueue.runtime.process_preparation import ProcessPreparation, Surrounding
from fleetqueue.runtime.service_keeper import ServiceKeeper
from fleetqueue.runtime.shepherded import ShepherdedProcesses
from fleetqueue.runtime.simulated import SimulatedPods
from fleetqueue.runtime.surroundings import RestartBackoff
from fleetqueue.runtime.taint_eviction import TaintEviction
from fleetqueue.runtime.without_ray import without_ray

logger = logging.getLogger(__name__)

HOST_ADDRESS = "127.0.0.1"
CONTROLLERS = User(
    "system:kube-controller-manager", groups=("system:masters", "system:authenticated")
)


@dataclass(frozen=True, slots=True)
class LiveOptions:
    """What kind of cluster it is."""

    directory: Path
    nodes: Sequence[NodeSpec] = ()
    """Without any, this machine is the one node."""
    simulates: bool = False
    """Whether the one node is simulated."""
    gpus: int | None = None
    images: ImageTable | None = None
    number: int = 1
    """Among the clusters of this machine: its pods and Services have addresses 127.<number>.x.y."""
    api_host: str = "127.0.0.1"
    api_port: int = 6443

    @property
    def pod_network(self) -> str:
        return f"127.{self.number}.0.0/17"

    @property
    def service_network(self) -> str:
        return f"127.{self.number}.255.0/24"

    @property
    def api_service_address(self) -> str:
        return f"127.{self.number}.255.1"


class Live:
    """The parts of one cluster that run beside its API server."""

    def __init__(
        self, instance: Instance, clock: Clock, source: random.Random, options: LiveOptions
    ) -> None:
        self._instance = instance
        self._options = options
        transport = InProcessTransport(
            instance.handle, request=Request, user=CONTROLLERS, headers={"user-agent": "fleetqueue"}
        )
        # Warnings are for users; what these parts do on purpose needs none.
        self.client = Client(
            transport, random=source, field_manager="fleetqueue", on_warning=lambda text: None
        )
        self.cluster = Cluster(self.client, clock=clock, random=source)
        self._manager = Manager(self.cluster, random=source)
        gpus = () if options.simulates else find_gpus()
        machine = read_machine(options.directory, gpus)
        self._images = options.images or ImageTable()
        self._site = Site(machine, gpu_count=options.gpus)
        self._keeper = NodeKeeper(self.cluster, self._specs(machine), self._site)
        self._machine = machine
        self._processes: ShepherdedProcesses | None = None
        self._pods: PodKeeper | None = None
        self._task: asyncio.Task[None] | None = None

    def _specs(self, machine: Machine) -> Sequence[NodeSpec]:
        if self._options.nodes:
            return self._options.nodes
        if self._options.simulates:
            return [NodeSpec("simulated", mode="simulated")]
        return default_nodes(machine)

    async def start(self) -> None:
        core = self._instance.core
        await furniture.ensure(self._instance)
        for webhook in parts.webhooks():
            core.hooks.add(DeclaredHook(webhook, core, self._instance.gate))
        volumes = self._options.directory / "volumes"
        for operator in parts.operators(volumes, self._images):
            self._manager.add(controller_of(operator)(self.cluster))
        for controller in (
            self._keeper,
            NodeLifecycle(self.cluster),
            TaintEviction(self.cluster),
            SimulatedPods(self.cluster),
            Binder(self.cluster),
            VolumeDirectories(self.cluster, volumes),
        ):
            self._manager.add(controller)
        await self._start_pods()
        await self._keeper.register()
        self._task = asyncio.create_task(self._manager.run(), name="controllers")
        await self._manager.wait_ready()
        await self._preparation.sweep()

    async def _start_pods(self) -> None:
        """Those that run as processes; a cluster of simulated nodes alone has none."""
        options, clock = self._options, self.cluster.clock
        self._processes = await ShepherdedProcesses.open(options.directory / "runtime", clock)
        devices = self._machine.gpus
        if options.gpus is not None:
            devices = tuple(Gpu(index) for index in range(options.gpus))
        around = Surrounding(
            directory=options.directory / "runtime",
            images=self._images,
            addresses=AddressPool(options.pod_network),
            host_address=HOST_ADDRESS,
            api_host=options.api_host,
            api_port=options.api_port,
            gpus=GpuAllocator(devices),
            gpus_are_real=bool(self._machine.gpus),
        )
        self._preparation = preparation = ProcessPreparation(self.cluster, clock, around)
        tools = Tools(
            self.cluster, self._processes, preparation, clock, RestartBackoff(), self._as_run
        )
        self._pods = PodKeeper(tools, self._is_process)
        self._manager.add(self._pods)
        self._manager.add_task("volumes", preparation.keep_fresh)
        api = (options.api_host, options.api_port)
        services = ServiceKeeper(self.cluster, [HOST_ADDRESS], api)
        self._manager.add_task("services", services.run)
        core = self._instance.core
        core.runtime = Connections(places_in(core, self._pods.find, preparation.directory_of))

    def _as_run(self, spec: Object) -> Object:
        image = str(spec["containers"][0].get("image") or "")
        return spec if parts.has_ray(self._images, image) else without_ray(spec)

    def _is_process(self, pod: Object) -> bool:
        node = self.cluster.cached(NODE, pod["spec"].get("nodeName") or "")
        return node is not None and self._keeper.has_declared(node) and not is_simulated(pod, node)

    async def stop(self) -> None:
        if self._task is not None:
            self._manager.stop()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._pods is not None:
            await self._pods.stop()
        if self._processes is not None:
            await self._processes.close()
