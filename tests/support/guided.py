"""A hub and three members, each with Kueue, a Job controller and simulated nodes: the fleet that
the guide to placed jobs speaks of, in virtual time.
"""

from dataclasses import replace
from typing import Any

from tests.support import placement_guide as guide
from tests.support import placing, simulated
from tests.support.placing import MEMBERS, Side, World

from fleetqueue import kueue
from fleetqueue.embedded.placed_jobs import spared
from fleetqueue.fleet import kinds
from fleetqueue.fleet.hub.placed import Placed
from fleetqueue.fleet.settings import MemberSettings
from fleetqueue.kube.manager import Manager
from fleetqueue.kube.resources import Object, Resource
from fleetqueue.runtime.controllers import job as job_controller
from fleetqueue.runtime.controllers import ttl_after_finished
from fleetqueue.runtime.kinds import JOB, POD
from fleetqueue.runtime.nodes import NodeSpec
from fleetqueue.testing import Fleet, namespace

SPACE = "compute-jobs"
RP = kinds.NAMESPACED.placement
CRP = kinds.CLUSTER_SCOPE.placement
WORKLOADS = Resource("kueue.x-k8s.io", "v1beta2", "workloads", "Workload")
OPTIONS = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
integrations: {frameworks: [batch/job]}
"""
RUNS = "fleetqueue.io/sim-run-seconds"
SECONDS = {"mock-workload": "30", "model-evaluation": "15"}
"""How long the guide's scripts take."""


class Guided:
    """The fleet, and what a reader of the guide does with it."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.hub = world.hub

    async def type(self, *texts: str, side: Side | None = None, **spec: Any) -> None:
        """`kubectl apply -f`; `spec`: what Jobs say besides."""
        for obj in (each for text in texts for each in guide.read(text)):
            await self.submit(obj, side=side, **spec)
        await self.world.settle()

    async def submit(self, obj: Object, side: Side | None = None, **spec: Any) -> Object:
        if obj["kind"] == "Job":
            template = {**obj["spec"]["template"]}
            name = obj["metadata"]["name"]
            template["metadata"] = {"annotations": {RUNS: SECONDS.get(name, "30")}}
            obj = {**obj, "spec": {**obj["spec"], "template": template, **spec}}
        return dict(await (side or self.hub).client.create(obj))

    async def up_to_jobs(self, **spec: Any) -> None:
        await self.type(*guide.STEPS, guide.CLUSTER_PLACEMENT, guide.LOCAL_QUEUE)
        await self.type(guide.JOBS, **spec)

    async def place(self, aware: str = "", **strategy: Any) -> None:
        """The placements of the queue and of the jobs; `strategy`: what the latter say besides."""
        for obj in guide.read(guide.PLACEMENTS):
            if aware:
                obj["metadata"]["annotations"] = {"fleetqueue.io/kueue-aware": aware}
            if strategy and obj["metadata"]["name"] != "queue-placement":
                obj["spec"]["strategy"].update(strategy)
            await self.submit(obj)
        await self.world.settle()

    async def placement(self, name: str = "job1-placement") -> Object:
        return await self.hub.get(RP, name, SPACE)

    async def entry(self, name: str = "job1-placement") -> Object:
        (found,) = (await self.placement(name))["status"]["placementStatuses"]
        return dict(found)

    async def chosen(self, name: str = "job1-placement") -> Side:
        return self.world.members[(await self.entry(name))["clusterName"]]

    async def job(self, side: Side, name: str = "mock-workload") -> Object | None:
        return await side.find(JOB, name, SPACE)

    async def pods(self, side: Side) -> list[Object]:
        return await side.all(POD, SPACE)


async def start(fleet: Fleet, *, is_job_aware: bool = True) -> Guided:
    world = World(fleet, await _hub(fleet), {})
    await world.hub.create(namespace(kinds.SYSTEM_NAMESPACE))
    settings = replace(placing.IMMEDIATE, is_job_aware=is_job_aware, observes_all_versions=True)
    world.run_hub(settings)
    for name in MEMBERS:
        world.members[name] = Side(await _cluster(fleet, name, kueue.read_options(OPTIONS)))
        told = MemberSettings(name, provider="fleetqueue", is_job_aware=is_job_aware)
        world.run_member(name, told)
        await world.hub.create(placing.member_cluster(name))
    await world.settle()
    return Guided(world)


async def _hub(fleet: Fleet) -> Side:
    known: list[Placed] = []
    options = kueue.read_options(OPTIONS)
    options = replace(options, is_placed=lambda kind, obj: known[-1].selects(kind, obj))
    return Side(await _cluster(fleet, "hub", options, known))


async def _cluster(
    fleet: Fleet, name: str, options: kueue.KueueOptions, known: list[Placed] | None = None
) -> Any:
    capacity = {"cpu": "9", "memory": "36Gi", "pods": "110"}
    world = await simulated.start(
        fleet,
        *map(spared, (job_controller.job_operator(), ttl_after_finished.OPERATOR)),
        groups=["kueue.x-k8s.io", *placing.GROUPS],
        webhooks=kueue.webhooks(options),
        nodes=(NodeSpec("node", mode="simulated", capacity=capacity),),
        name=name,
    )

    def install(manager: Manager) -> None:
        if known is not None:
            known.append(Placed(manager.cluster))
        kueue.install(manager, options)

    fleet.run_all(install, on=world.cluster)
    return world.cluster
