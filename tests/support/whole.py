"""A cluster with the whole of Kueue: admission, jobs, the Job controller and simulated pods."""

from collections.abc import Iterable
from types import TracebackType

from tests.support import simulated
from tests.support.recorder import Recorder

from fleetqueue import kueue
from fleetqueue.admission import kinds
from fleetqueue.api.kueue import admission_status as status_of
from fleetqueue.kube.frame import Operator
from fleetqueue.kube.manager import Manager
from fleetqueue.kube.resources import Object, Resource
from fleetqueue.runtime.controllers import job as job_controller
from fleetqueue.runtime.kinds import JOB, POD
from fleetqueue.runtime.nodes import NodeSpec
from fleetqueue.testing import Fleet, FleetCluster, namespace

RECORDED = (
    kinds.CLUSTER_QUEUE,
    kinds.LOCAL_QUEUE,
    kinds.WORKLOAD,
    kinds.ADMISSION_CHECK,
    kinds.RESOURCE_FLAVOR,
    JOB,
    POD,
)
CONFIGURATION = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
integrations:
  frameworks: [%s]
"""


class Whole:
    """One cluster and all that was seen of it; `async with` ends the recording."""

    def __init__(self, fleet: Fleet, cluster: FleetCluster, space: str) -> None:
        self.fleet = fleet
        self.cluster = cluster
        self.client = cluster.client
        self.space = space
        self.seen = Recorder(cluster.client, RECORDED)

    async def __aenter__(self) -> "Whole":
        await self.seen.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.seen.__aexit__(kind, value, trace)

    async def create(self, *objects: Object) -> None:
        """One after the other, each when all is quiet; in our namespace."""
        for obj in objects:
            if "namespace" in obj["metadata"]:
                obj = {**obj, "metadata": {**obj["metadata"], "namespace": self.space}}
            await self.client.create(obj)
            await self.fleet.settle()

    async def passes(self, **span: float) -> None:
        await self.fleet.passes(**span)
        await self.fleet.settle()

    async def patch(self, kind: Resource, name: str, patch: Object, subresource: str = "") -> None:
        space = self.space if kind.namespaced else ""
        await self.client.patch(kind, name, patch, space, subresource=subresource)
        await self.fleet.settle()

    async def names(self, kind: Resource) -> list[str]:
        found = (await self.client.list(kind, self.space)).items
        return sorted(str(each["metadata"]["name"]) for each in found)

    async def workload(self) -> Object:
        """The only one that is not finished."""
        found = (await self.client.list(kinds.WORKLOAD, self.space)).items
        [one] = [each for each in found if not status_of.is_finished(each)]
        return one

    async def delete(self, kind: Resource, name: str) -> None:
        await self.client.delete(kind, name, self.space if kind.namespaced else "")
        await self.fleet.settle()

    async def get(self, kind: Resource, name: str) -> Object:
        return dict(await self.client.get(kind, name, self.space if kind.namespaced else ""))


async def start(
    fleet: Fleet,
    space: str,
    *,
    frameworks: Iterable[str] = ("batch/job",),
    operators: Iterable[Operator] = (),
    config: str = "",
) -> Whole:
    """`config`: what the configuration file says besides."""
    options = kueue.read_options(CONFIGURATION % ", ".join(frameworks) + config)
    world = await simulated.start(
        fleet,
        job_controller.job_operator(),
        *operators,
        groups=["kueue.x-k8s.io"],
        webhooks=kueue.webhooks(options),
        nodes=(NodeSpec("one", mode="simulated"), NodeSpec("two", mode="simulated")),
    )

    def install(manager: Manager) -> None:
        kueue.install(manager, options)

    fleet.run_all(install, on=world.cluster)
    await world.client.create(namespace(space))
    return Whole(fleet, world.cluster, space)
