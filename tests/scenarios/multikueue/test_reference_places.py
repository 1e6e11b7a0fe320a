"""Reference scenarios in which workers place pods, ask for nodes, resize jobs and count devices:
E19, I33, I36, I37, I39.
"""

from typing import Any

import pytest
from tests.support import kueue as objects
from tests.support import shared_world
from tests.support.dispatching import Side, job
from tests.support.shared_world import READY

from fleetqueue import testing
from fleetqueue.api.kueue import admission_status as status
from fleetqueue.kube.frame import controller_of
from fleetqueue.kube.resources import Object, Resource
from fleetqueue.multikueue import kinds
from fleetqueue.provisioning import controller as provisioning
from fleetqueue.provisioning.kinds import CONTROLLER as PROVISIONING
from fleetqueue.provisioning.kinds import REQUEST
from fleetqueue.runtime.kinds import JOB
from fleetqueue.testing import named

HOSTNAME = "kubernetes.io/hostname"
ELASTIC = {"kueue.x-k8s.io/elastic-job": "true"}
DEVICES = """
resources:
  deviceClassMappings:
  - {name: example.com/gpus, deviceClassNames: [gpu.example.com]}
"""
TIMES = "multiKueue: {workerLostTimeout: 60s, gcInterval: 30s}\n"
TEMPLATES = Resource(
    "resource.k8s.io", "v1", "resourceclaimtemplates", "ResourceClaimTemplate", namespaced=True
)


def elastic(name: str, parallelism: int, completions: int = 20, **more: Any) -> Object:
    made = job(name, parallelism=parallelism, completions=completions, **more)
    made["metadata"]["annotations"] = ELASTIC
    return made


@pytest.mark.rule("E19", "I39", "TAS-1", "TAS-2", "TAS-3", "TAS-4")
async def test_the_worker_alone_places_the_pods() -> None:
    """E19 and I39; the manager has a topology with no node at all in it (TAS-4)."""
    levels = {"levels": [{"nodeLabel": HOSTNAME}]}
    topology = named("Topology", objects.API, "hosts", spec=levels)
    spec = {"nodeLabels": {"kubernetes.io/os": "linux"}, "topologyName": "hosts"}
    flavor = objects.flavor("default", **spec)
    async with shared_world.start(furniture=[topology], flavors=[flavor]) as world:
        for node in (await world.manager.client.list(_NODE)).items:
            gone = {"metadata": {"labels": {"kubernetes.io/os": "plan9"}}}
            await world.manager.client.patch(_NODE, node["metadata"]["name"], gone)
        await world.begin()
        made = job("one", parallelism=2, completions=2, run_seconds="20")
        template = made["spec"]["template"]
        template["metadata"]["annotations"]["kueue.x-k8s.io/podset-required-topology"] = HOSTNAME
        await world.submit(made)
        await world.passes(seconds=5)

        assert await world.check("one") == ("Ready", READY("worker1"))
        told = await world.told("one")
        assert told["clusterName"] == "worker1"
        [here] = told["admission"]["podSetAssignments"]
        assert here["delayedTopologyRequest"] == "Ready"
        assert "topologyAssignment" not in here
        copy = await world.workload("one", world.workers["worker1"])
        [there] = copy["status"]["admission"]["podSetAssignments"]
        assigned = there["topologyAssignment"]
        assert assigned["levels"] == [HOSTNAME]
        assert len(assigned["slices"]) == 1
        assert (await world.manager.get(JOB, "one"))["status"]["active"] == 2
        nodes = {each["spec"]["nodeName"] for each in await world.pods(world.workers["worker1"])}
        assert len(nodes) == 1

        await world.passes(seconds=30)
        assert (await world.conditions("one"))["Finished"][:2] == ("True", "Succeeded")
        assert await world.is_clean()


_NODE = Resource("", "v1", "nodes", "Node", namespaced=False)


@pytest.mark.rule("EL-9", "I36")
async def test_a_slice_that_was_replaced_while_it_waited_is_nowhere() -> None:
    async with shared_world.start(config=TIMES) as world:
        await world.begin(quota="16", workers="1")
        await world.submit(elastic("one", 2))
        await world.passes(seconds=3)
        await world.manager.patch(JOB, "one", {"spec": {"parallelism": 3}})
        await world.passes(seconds=3)
        await world.set_quota(world.workers["worker2"], "4")
        await world.passes(seconds=5)
        assert (await world.workers["worker2"].get(JOB, "one"))["spec"]["parallelism"] == 3
        await world.set_quota(world.workers["worker1"], "4")
        await world.passes(seconds=120)

        assert await world.workers["worker1"].workloads() == []
        assert len(await world.workers["worker2"].workloads()) == 1


@pytest.mark.rule("EL-9", "FLOW-54")
@pytest.mark.parametrize("sizes", [(2, 3), (2, 3, 4)])
async def test_of_a_job_that_grew_nothing_is_left(sizes: tuple[int, ...]) -> None:
    async with shared_world.start(config=TIMES) as world:
        await world.begin(quota="16", workers="8")
        await world.submit(elastic("one", sizes[0], 4, run_seconds="30"))
        await world.passes(seconds=3)
        for size in sizes[1:]:
            await world.manager.patch(JOB, "one", {"spec": {"parallelism": size}})
            await world.passes(seconds=5)
        [there] = [side for side in world.workers.values() if await side.workloads()]
        assert (await there.get(JOB, "one"))["spec"]["parallelism"] == sizes[-1]
        await world.passes(seconds=120)

        assert "Complete" in objects.conditions_of(await world.manager.get(JOB, "one"))
        assert await world.is_clean()


@pytest.mark.rule("LOST-2", "EL-9")
async def test_a_job_that_grows_while_its_worker_is_lost_runs_elsewhere() -> None:
    async with shared_world.start(config=TIMES) as world:
        await world.begin(quota="16", workers="8")
        await world.submit(elastic("one", 2))
        await world.passes(seconds=3)
        world.world.cut("worker1")
        await world.passes(seconds=5)
        await world.manager.patch(JOB, "one", {"spec": {"parallelism": 3}})
        await world.passes(seconds=50)
        assert await world.workers["worker2"].all(JOB) == []
        await world.passes(seconds=20)
        assert (await world.workers["worker2"].get(JOB, "one"))["spec"]["parallelism"] == 3
        world.world.restore("worker1")
        await world.passes(minutes=10)
        assert await world.workers["worker1"].all(JOB) == []
        assert await world.workers["worker1"].workloads() == []
        assert (await world.workers["worker2"].get(JOB, "one"))["status"]["active"] == 3


@pytest.mark.rule("EL-2", "EL-3")
async def test_a_slice_is_tried_although_another_job_of_its_size_did_not_fit() -> None:
    async with shared_world.start(config=TIMES) as world:
        await world.begin(quota="16", workers={"worker1": "4", "worker2": "0"})
        for name, size in (("one", 2), ("two", 3)):
            await world.submit(elastic(name, size))
            await world.passes(seconds=3)
        await world.manager.patch(JOB, "one", {"spec": {"parallelism": 3}})
        await world.passes(seconds=60)

        assert (await world.workers["worker1"].get(JOB, "one"))["spec"]["parallelism"] == 3


@pytest.mark.rule("I33", "PV-1", "FLOW-11")
async def test_a_worker_may_ask_its_autoscaler_first() -> None:
    """I33: the other worker keeps its copy until this one has nodes."""
    async with shared_world.start() as world:
        asks = world.workers["worker2"]
        await asks.client.create(testing.crd("autoscaling.x-k8s.io", "ProvisioningRequest"))
        await world.fleet.settle()
        for operator in provisioning.operators():
            world.fleet.run(controller_of(operator), on=asks.cluster)
        parameters = {
            "apiGroup": "kueue.x-k8s.io",
            "kind": "ProvisioningRequestConfig",
            "name": "config",
        }
        spec = {"controllerName": PROVISIONING, "parameters": parameters}
        await asks.create(
            named(
                "ProvisioningRequestConfig",
                objects.API,
                "config",
                spec={"provisioningClassName": "queued.example.com"},
            ),
            named("AdmissionCheck", objects.API, "prov", spec=spec),
        )
        await world.begin(workers={"worker1": "0", "worker2": None})
        checks = {"admissionChecksStrategy": {"admissionChecks": [{"name": "prov"}]}}
        await world.add(asks, *shared_world.queues("4", **checks))
        await world.submit(job("one"))
        await world.passes(seconds=3)

        [request] = await asks.all(REQUEST)
        copy = await world.workload("one", asks)
        assert status.has_quota(copy)
        assert not status.is_admitted(copy)
        assert await world.sites() == ["worker1", "worker2"]
        assert await world.check("one") == ("Pending", "")

        at = world.fleet.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
        said = {"reason": "Provisioned", "message": "", "lastTransitionTime": at}
        conditions = [
            {"type": "Accepted", "status": "True", **said},
            {"type": "Provisioned", "status": "True", **said},
        ]
        patch = {"status": {"conditions": conditions}}
        await asks.patch(REQUEST, request["metadata"]["name"], patch, "status")
        await world.passes(seconds=5)
        copy = await world.workload("one", asks)
        assert copy["status"]["admissionChecks"][0]["state"] == "Ready"
        assert status.is_admitted(copy)
        assert await world.check("one") == ("Ready", READY("worker2"))
        assert status.is_admitted(await world.workload("one"))
        assert await world.sites() == ["worker2"]


@pytest.mark.rule("I36", "EL-1", "EL-2", "EL-3", "EL-5", "EL-9")
async def test_an_elastic_job_grows_and_shrinks_where_it_is() -> None:
    """I36."""
    async with shared_world.start() as world:
        await world.begin(workers="4")
        made = job("one", parallelism=1, completions=8)
        made["metadata"]["annotations"] = ELASTIC
        await world.submit(made)
        await world.passes(seconds=3)
        worker, other = world.workers["worker1"], world.workers["worker2"]
        [before] = await world.manager.workloads()

        await world.set_quota(worker, "1")
        await world.manager.patch(JOB, "one", {"spec": {"parallelism": 3}})
        await world.passes(seconds=3)
        assert (await worker.get(JOB, "one"))["spec"]["parallelism"] == 1
        assert await other.workloads() == []
        old = await worker.get(kinds.WORKLOAD, str(before["metadata"]["name"]))
        assert status.is_admitted(old)

        await world.set_quota(worker, "4")
        await world.passes(seconds=5)
        assert (await worker.get(JOB, "one"))["spec"]["parallelism"] == 3
        slices = await _unfinished(world.manager)
        assert len(slices) == 1
        assert slices[0]["status"]["clusterName"] == "worker1"

        await world.manager.patch(JOB, "one", {"spec": {"parallelism": 2}})
        await world.passes(seconds=5)
        assert (await worker.get(JOB, "one"))["spec"]["parallelism"] == 2
        after = await _unfinished(world.manager)
        assert [_uid(each) for each in after] == [_uid(each) for each in slices]
        assert after[0]["spec"]["podSets"][0]["count"] == 2
        there = await _unfinished(worker)
        assert [each["spec"]["podSets"][0]["count"] for each in there] == [2]
        assert await other.all(JOB) == await other.workloads() == []


async def _unfinished(side: Side) -> list[Object]:
    return [each for each in await side.workloads() if not status.is_finished(each)]


def _uid(obj: Object) -> Any:
    return obj["metadata"]["uid"]


@pytest.mark.rule("I37", "DRA-1", "DRA-2", "DRA-3")
async def test_every_cluster_counts_devices_by_its_own_templates() -> None:
    """I37; a worker without the template admits nothing that claims by it (DRA-2)."""
    async with shared_world.start(config=DEVICES, worker_config=DEVICES) as world:
        room = {"default": {"cpu": "8", "example.com/gpus": "4"}}
        await world.begin(quota=room, workers=dict.fromkeys(world.workers, room))
        await world.manager.client.create(template(1))
        await world.fleet.settle()
        await world.manager.client.create(claiming("one"))
        await world.fleet.passes(seconds=10)
        told = await world.told("one")
        [here] = told["admission"]["podSetAssignments"]
        assert here["resourceUsage"] == {"cpu": "1", "example.com/gpus": "1"}
        assert await world.check("one") == ("Pending", "")
        assert "clusterName" not in told
        for side in world.workers.values():
            assert await side.all(TEMPLATES) == []
            assert not status.has_quota(await world.workload("one", side))

        await world.workers["worker2"].client.create(template(2))
        await world.fleet.passes(seconds=10)
        assert await world.check("one") == ("Ready", READY("worker2"))
        copy = await world.workload("one", world.workers["worker2"])
        [there] = copy["status"]["admission"]["podSetAssignments"]
        assert there["resourceUsage"] == {"cpu": "1", "example.com/gpus": "2"}
        assert copy["spec"] == (await world.workload("one"))["spec"]


def template(count: int) -> Object:
    request = {"name": "r", "exactly": {"deviceClassName": "gpu.example.com", "count": count}}
    spec = {"spec": {"devices": {"requests": [request]}}}
    return named("ResourceClaimTemplate", "resource.k8s.io/v1", "gpus", "default", spec=spec)


def claiming(name: str) -> Object:
    made = job(name)
    claims = [{"name": "device", "resourceClaimTemplateName": "gpus"}]
    made["spec"]["template"]["spec"]["resourceClaims"] = claims
    return made
