"""Reference scenarios of Ray's kinds (E16, I25, I26), of kinds that only the configuration names
(I32), and of those for which there is no adapter (I31).
"""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from tests.support import dispatching, ray, shared_world, simulated
from tests.support import kueue as objects
from tests.support.dispatching import LOCAL_QUEUE
from tests.support.fault_jobs import Family
from tests.support.shared_world import READY, SharedWorld, for_queue

from fleetqueue import kueue
from fleetqueue.api.kueue import admission_status as status
from fleetqueue.jobs import registry
from fleetqueue.kube.late_kinds import LateKinds
from fleetqueue.kube.resources import Object, Resource
from fleetqueue.multikueue import kinds
from fleetqueue.runtime.operators import ray_cluster, ray_job
from fleetqueue.runtime.operators.ray_job_draft import Settings
from fleetqueue.testing import Fleet

pytestmark = pytest.mark.asyncio(loop_scope="module")
KINDS = {kind.resource.kind: kind.resource for kind in registry.all_kinds()}
RAY = Family(
    ("ray.io/rayjob", "ray.io/raycluster"),
    ("rayjobs",),
    (
        ray_cluster.OPERATOR,
        ray_job.ray_job_operator(ray.FakeRay(), Settings(has_ray=lambda image: False)),
    ),
    (),
    (),
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world() -> AsyncIterator[SharedWorld]:
    async with shared_world.start(RAY) as made:
        yield made


@pytest.mark.rule("I26", "RAY-2", "RAY-3")
async def test_a_ray_cluster_is_seen_here(world: SharedWorld) -> None:
    """I26."""
    await world.begin()
    await world.submit(for_queue(ray.ray_cluster_of(ray.worker_group(replicas=2), name="one")))
    await world.passes(seconds=10)
    assert await world.check("one") == ("Ready", READY("worker1"))
    here = await world.manager.get(KINDS["RayCluster"], "one")
    mirror = await world.workers["worker1"].get(KINDS["RayCluster"], "one")
    names = ("desiredWorkerReplicas", "readyWorkerReplicas", "availableWorkerReplicas", "state")
    assert {name: here["status"].get(name) for name in names} == {
        name: mirror["status"].get(name) for name in names
    }
    assert here["status"]["desiredWorkerReplicas"] == here["status"]["readyWorkerReplicas"] == 2
    assert here["status"]["state"] == "ready"
    assert await world.pods(world.manager) == []
    assert not status.is_finished(await world.workload("one"))


@pytest.mark.rule("E16", "I25", "MB-1", "MB-5", "KIND-6")
async def test_a_ray_job_runs_there(world: SharedWorld) -> None:
    """E16, I25: nobody has Ray here, so its submitter is the run."""
    await world.begin()
    made = ray.ray_job_of(
        ray.worker_group(),
        name="one",
        shutdownAfterJobFinishes=True,
        submitterPodTemplate=submitter(run_seconds="10"),
    )
    await world.submit(for_queue(made))
    kind = KINDS["RayJob"]
    assert (await world.manager.get(kind, "one"))["spec"]["managedBy"] == kinds.CONTROLLER
    await world.passes(seconds=8)
    assert await world.check("one") == ("Ready", READY("worker1"))
    here = await world.manager.get(kind, "one")
    mirror = await world.workers["worker1"].get(kind, "one")
    assert here["status"]["jobDeploymentStatus"] == "Running"
    assert here["status"] == mirror["status"]
    assert here["spec"]["suspend"] is False
    assert "managedBy" not in mirror["spec"]
    sets = [each["name"] for each in (await world.workload("one"))["spec"]["podSets"]]
    assert sets == ["head", "small", "submitter"]

    await world.passes(seconds=30)
    here = await world.manager.get(kind, "one")
    assert here["status"]["jobDeploymentStatus"] == "Complete"
    assert here["status"]["jobStatus"] == "SUCCEEDED"
    assert (await world.conditions("one"))["Finished"][:2] == ("True", "Succeeded")
    assert await world.is_clean()
    assert await world.pods(world.manager) == []


def submitter(run_seconds: str) -> Object:
    return simulated.template(
        name="ray-job-submitter", run_seconds=run_seconds, restartPolicy="Never"
    )


@pytest.mark.rule("I31", "CFG-1", "FLOW-6", "LIM-15")
async def test_a_kind_without_adapter_is_refused(world: SharedWorld) -> None:
    """I31: somebody else queues MPIJobs here, which dispatching does not know."""
    await world.begin()
    made = objects.workload("foreign", queue=LOCAL_QUEUE)
    owner = {"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "name": "pi", "uid": "u"}
    made["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
    await world.submit(made)
    await world.passes(seconds=3)
    found = await world.manager.get(kinds.WORKLOAD, "foreign")
    [check] = found["status"]["admissionChecks"]
    assert (check["state"], check["message"]) == (
        "Rejected",
        'No multikueue adapter found for owner kind "kubeflow.org/v2beta1, Kind=MPIJob",'
        ' Previously: "Pending"',
    )
    assert await world.is_clean()
    await world.manager.delete(kinds.WORKLOAD, "foreign")


EXTERNAL = "multiKueue: {externalFrameworks: [{name: RayCluster.v1.ray.io}]}\n"


def _install(manager: Any, options: Any, settings: Any, connect: Any) -> Any:
    made = kueue.install(manager, options)
    return kueue.install_dispatching(manager, options, made, connect)


@pytest.mark.asyncio(loop_scope="function")
@pytest.mark.rule("I32", "EXT-1", "EXT-2")
async def test_a_kind_of_the_configuration_is_sent(fleet: Fleet) -> None:
    """I32: the test is the controller that queues it here, and the operator there."""
    world = await dispatching.start(fleet, config=EXTERNAL, groups=["ray.io"], install=_install)
    await world.join()
    await world.set_up()
    kind = Resource("ray.io", "v1", "rayclusters", "RayCluster")
    made = for_queue(ray.ray_cluster_of(ray.worker_group(), name="one"))
    made["spec"]["managedBy"] = kinds.CONTROLLER
    local = await world.manager.client.create(made)
    workload = objects.workload("of-one", queue=LOCAL_QUEUE)
    workload["metadata"]["ownerReferences"] = [_owner(local)]
    await world.manager.client.create(workload)
    await world.passes(seconds=5)

    found = await world.manager.get(kinds.WORKLOAD, "of-one")
    assert found["status"]["clusterName"] == "worker1"
    mirror = await world.workers["worker1"].get(kind, "one")
    assert "managedBy" not in mirror["spec"]
    assert "ownerReferences" not in mirror["metadata"]
    told = {"state": "ready", "desiredWorkerReplicas": 1}
    await world.workers["worker1"].patch(kind, "one", {"status": told}, "status")
    await world.passes(seconds=3)
    here = await world.manager.get(kind, "one")
    assert {name: here["status"][name] for name in told} == told


@pytest.mark.asyncio(loop_scope="function")
@pytest.mark.rule("EXT-1", "EXT-2")
async def test_a_kind_whose_plural_nobody_could_guess_is_sent(fleet: Fleet) -> None:
    """Its definition comes after the controllers have started."""
    text = "multiKueue: {externalFrameworks: [{name: Ox.v1.example.com}]}\n"
    world = await dispatching.start(fleet, config=text, install=_install_late)
    for side in (world.manager, *world.workers.values()):
        await side.client.create(OXEN)
    await world.passes(minutes=2)
    await world.join()
    await world.set_up()
    metadata = {"name": "one", "namespace": "default"}
    made: Object = {"apiVersion": "example.com/v1", "kind": "Ox", "metadata": metadata}
    made["spec"] = {"managedBy": kinds.CONTROLLER, "load": 3}
    local = await world.manager.client.create(made)
    workload = objects.workload("of-one", queue=LOCAL_QUEUE)
    workload["metadata"]["ownerReferences"] = [_owner(local)]
    await world.manager.client.create(workload)
    await world.passes(seconds=5)

    there = world.workers["worker1"]
    mirror = await there.get(OX, "one")
    assert mirror["spec"] == {"load": 3}
    await there.patch(OX, "one", {"status": {"furrows": 2}}, "status")
    await world.passes(seconds=3)
    assert (await world.manager.get(OX, "one"))["status"] == {"furrows": 2}
    await world.manager.client.delete(OX, "one", "default")
    await world.passes(seconds=5)
    assert await there.all(OX) == []


def _install_late(manager: Any, options: Any, settings: Any, connect: Any) -> Any:
    made = _install(manager, options, settings, connect)
    cluster = manager.cluster
    late = LateKinds(cluster, lambda kind: kind.is_guess, random=cluster.random)
    for kind in settings.external:
        cluster.hold(kind)
    manager.add_task("kinds", late.run)
    return made


OX = Resource("example.com", "v1", "oxen", "Ox")
_ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
OXEN: Object = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "oxen.example.com"},
    "spec": {
        "group": "example.com",
        "names": {"kind": "Ox", "plural": "oxen", "singular": "ox", "listKind": "OxList"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {"spec": _ANYTHING, "status": _ANYTHING},
                    }
                },
            }
        ],
    },
}


def _owner(obj: Object) -> Object:
    metadata = obj["metadata"]
    reference = {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "name": metadata["name"]}
    return {**reference, "uid": metadata["uid"], "controller": True}
