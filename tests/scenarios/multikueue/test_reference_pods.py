"""Reference scenarios of pods and of what is made of pods: E1 to E4, E10, I28, I29."""

from collections.abc import AsyncIterator
from random import Random

import pytest
import pytest_asyncio
from tests.support import apps, leader_workers, shared_world, simulated
from tests.support import kueue as objects
from tests.support.dispatching import Side
from tests.support.fault_jobs import PODS, Family, pod_of
from tests.support.shared_world import READY, SharedWorld, delete, for_queue

from fleetqueue.api.kueue import admission_status as status
from fleetqueue.base import paths
from fleetqueue.jobs.resources import DEPLOYMENT, STATEFUL_SET
from fleetqueue.kube.resources import Object, Resource
from fleetqueue.runtime.controllers import deployment, replica_set, stateful_set
from fleetqueue.runtime.kinds import POD
from fleetqueue.runtime.operators import leader_worker_set

pytestmark = pytest.mark.asyncio(loop_scope="module")
GATE = "kueue.x-k8s.io/admission"
LWS = Resource(
    "leaderworkerset.x-k8s.io", "v1", "leaderworkersets", "LeaderWorkerSet", namespaced=True
)
SERVING = Family(
    ("deployment", "statefulset", "leaderworkerset.x-k8s.io/leaderworkerset"),
    ("leaderworkersets",),
    (
        deployment.OPERATOR,
        replica_set.OPERATOR,
        stateful_set.OPERATOR,
        leader_worker_set.OPERATOR,
    ),
    tuple(leader_worker_set.WEBHOOKS),
    (),
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world() -> AsyncIterator[SharedWorld]:
    async with shared_world.start(PODS, SERVING) as made:
        yield made


def serving(kind: str, replicas: int) -> Object:
    made = for_queue(apps.workload(kind, replicas=replicas))
    template = made["spec"]["template"]
    template["metadata"]["annotations"] = {"fleetqueue.io/sim-run-seconds": "never"}
    template["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
    return made


async def gates(side: Side) -> set[str]:
    """The gates that all pods there have."""
    found = [set(simulated.gates_of(each)) for each in await side.all(POD)]
    return set.intersection(*found) if found else set()


@pytest.mark.rule("E1", "I28", "POD-1", "POD-3", "KIND-1", "FLOW-45")
async def test_a_pod_runs_there_and_ends_here(world: SharedWorld) -> None:
    """E1, I28."""
    await world.begin()
    await world.submit(pod_of("one", Random(0), run_seconds="10"))
    await world.passes(seconds=4)
    assert await world.check("one") == ("Ready", READY("worker1"))
    assert GATE in await gates(world.manager)
    assert await gates(world.workers["worker1"]) == set()
    assert (await world.manager.get(POD, "one"))["status"]["phase"] == "Running"
    assert await world.sites() == ["worker1"]

    await world.passes(seconds=15)
    pod = await world.manager.get(POD, "one")
    assert GATE in await gates(world.manager)
    assert pod["status"]["phase"] == "Succeeded"
    found = {
        each["type"]: (each["status"], each.get("reason")) for each in pod["status"]["conditions"]
    }
    assert found == {
        "PodReadyToStartContainers": ("False", None),
        "Initialized": ("True", "PodCompleted"),
        "Ready": ("False", "PodCompleted"),
        "ContainersReady": ("False", "PodCompleted"),
        "PodScheduled": ("True", None),
    }
    assert (await world.conditions("one"))["Finished"][:2] == ("True", "Succeeded")
    assert await world.is_clean()


@pytest.mark.rule("E4", "I29", "POD-5", "NAME-5")
async def test_a_group_of_pods_goes_together(world: SharedWorld) -> None:
    """E4, I29."""
    await world.begin()
    names = {"kueue.x-k8s.io/pod-group-name": "group"}
    total = {"kueue.x-k8s.io/pod-group-total-count": "2"}
    for name in ("a", "b"):
        member = pod_of(name, Random(0), run_seconds="10", labels=names, annotations=total)
        await world.submit(member)
    await world.passes(seconds=4)
    [workload] = await world.manager.workloads()
    assert workload["metadata"]["name"] == "group"
    assert await world.check("a") == ("Ready", READY("worker1"))
    assert len(await world.pods(world.workers["worker1"])) == 2
    assert GATE in await gates(world.manager)

    await world.passes(seconds=15)
    phases = [each["status"]["phase"] for each in await world.pods(world.manager)]
    assert phases == ["Succeeded", "Succeeded"]
    assert (await world.conditions("a"))["Finished"] == (
        "True",
        "Succeeded",
        "Pods succeeded: 2/2.",
    )
    assert await world.is_clean()


@pytest.mark.rule("E2", "DEP-1", "DEP-2", "LIM-8", "S003-30")
async def test_a_deployment_is_served_by_its_pods_elsewhere(world: SharedWorld) -> None:
    """E2; the pods are spread where no worker has room for all."""
    await world.begin(workers="2")
    await world.submit(serving("Deployment", 3))
    for size in (3, 4, 2):
        await world.manager.patch(DEPLOYMENT, "web", {"spec": {"replicas": size}})
        await world.passes(seconds=8)
        here = await world.manager.get(DEPLOYMENT, "web")
        assert here["status"]["readyReplicas"] == size
        told = objects.conditions_of(here)
        assert told["Available"][:2] == ("True", "MinimumReplicasAvailable")
        assert told["Progressing"][:2] == ("True", "NewReplicaSetAvailable")
        pods = {str(each["metadata"]["name"]) for each in await world.pods(world.manager)}
        assert len(pods) == size
        assert GATE in await gates(world.manager)
        running = [pod for side in world.workers.values() for pod in await world.pods(side)]
        assert {str(each["metadata"]["name"]) for each in running} == pods
        for name in pods:
            cluster = (await world.told(name))["clusterName"]
            assert await world.check(name) == ("Ready", READY(cluster))
            assert (await world.workers[cluster].get(POD, name))["status"]["phase"] == "Running"

    await delete(world.manager, DEPLOYMENT, "web")
    await world.passes(seconds=40)
    assert await world.is_clean()


@pytest.mark.rule("E3", "STS-1", "STS-2", "STS-3", "STS-5")
async def test_a_stateful_set_runs_there(world: SharedWorld) -> None:
    """E3."""
    await world.begin()
    await world.submit(serving("StatefulSet", 3))
    await world.passes(seconds=15)
    [workload] = await world.manager.workloads()
    assert workload["status"]["admissionChecks"][0]["message"] == READY("worker1")
    mirror = await world.workers["worker1"].get(STATEFUL_SET, "web")
    assert mirror["status"]["readyReplicas"] == 3
    assert GATE in await gates(world.manager)

    await delete(world.manager, STATEFUL_SET, "web")
    await world.passes(seconds=40)
    assert await world.is_clean()


@pytest.mark.rule("E10", "LWS-1", "LWS-2", "LWS-3", "LWS-5", "LWS-6")
async def test_all_groups_of_a_leader_worker_set_are_on_one_worker(world: SharedWorld) -> None:
    """E10; the others follow the first at once, though another worker has room for them too."""
    await world.begin(workers={"worker1": "0", "worker2": "8"})
    container = {"name": "main", "image": "one", "resources": {"requests": {"cpu": "1"}}}
    workers = {"workerTemplate": {"spec": {"containers": [container]}}}
    whole = leader_workers.lws(replicas=2, size=2, template=workers)
    await world.submit(for_queue(whole))
    name = str(whole["metadata"]["name"])
    await world.set_quota(world.workers["worker1"], "8")
    await world.passes(seconds=15)

    found = await world.manager.workloads()
    assert len(found) == 2
    assert all(status.is_admitted(each) for each in found)
    assert {each["status"]["clusterName"] for each in found} == {"worker2"}
    mirror = await world.workers["worker2"].get(LWS, name)
    assert mirror["status"]["readyReplicas"] == 2
    assert await world.sites() == ["worker2"]
    assert GATE in await gates(world.manager)

    await delete(world.manager, LWS, name)
    await world.passes(seconds=40)
    assert await world.is_clean()
    assert await world.manager.workloads() == []


@pytest.mark.rule("STS-3", "LWS-6", "POD-1", "ROLE-1")
@pytest.mark.parametrize("kind", [STATEFUL_SET, LWS], ids=lambda kind: kind.kind)
async def test_pods_of_a_set_that_changes_stay_gated_here(
    world: SharedWorld, kind: Resource
) -> None:
    """Those of the revision before too, which are let go where a set runs at home."""
    await world.begin()
    container = {"name": "main", "image": "one", "resources": {"requests": {"cpu": "1"}}}
    workers = {"workerTemplate": {"spec": {"containers": [container]}}}
    leaders = for_queue(leader_workers.lws(replicas=2, size=2, name="web", template=workers))
    await world.submit(leaders if kind == LWS else serving("StatefulSet", 2))
    await world.passes(seconds=15)
    here = await world.manager.get(kind, "web")
    path = "template" if kind == STATEFUL_SET else "leaderWorkerTemplate.workerTemplate"
    changed = paths.with_value(here, f"spec.{path}.spec.containers", [{**container, "image": "2"}])
    await world.manager.client.update(dict(changed))
    await world.passes(seconds=15)
    assert GATE in await gates(world.manager)
    assert not [pod for pod in await world.manager.all(POD) if pod["spec"].get("nodeName")]
    assert len(await world.pods(world.workers["worker1"])) == (2 if kind == STATEFUL_SET else 4)
    await delete(world.manager, kind, "web")
    await world.passes(seconds=40)
    assert await world.is_clean()


@pytest.mark.rule("POD-3", "DEP-2", "FLOW-57")
async def test_a_pod_that_is_put_out_does_not_go_on_to_say_that_it_runs(
    world: SharedWorld,
) -> None:
    await world.begin()
    await world.submit(pod_of("solo", Random(0), run_seconds="never"), serving("Deployment", 1))
    await world.passes(seconds=15)
    assert (await world.manager.get(DEPLOYMENT, "web"))["status"]["readyReplicas"] == 1
    await world.stop_queue(world.manager, "HoldAndDrain")
    await world.passes(seconds=30)
    found = await world.manager.all(POD)
    assert [pod["status"]["phase"] for pod in found] == ["Pending", "Pending"]
    assert "readyReplicas" not in (await world.manager.get(DEPLOYMENT, "web"))["status"]
    assert await world.is_clean()


@pytest.mark.rule("STS-4")
async def test_a_set_comes_back_from_zero_at_once_each_time(
    world: SharedWorld,
) -> None:
    await world.begin()
    await world.submit(serving("StatefulSet", 1))
    await world.passes(seconds=15)
    for _ in range(4):
        await world.manager.patch(STATEFUL_SET, "web", {"spec": {"replicas": 0}})
        await world.passes(seconds=30)
        held = await world.told("web")
        assert "clusterName" not in held
        assert held["admissionChecks"][0]["state"] == "Pending"
        await world.manager.patch(STATEFUL_SET, "web", {"spec": {"replicas": 1}})
        await world.passes(seconds=5)
        assert await world.workers["worker1"].find(STATEFUL_SET, "web") is not None
    told = await world.told("web")
    assert not told["admissionChecks"][0].get("retryCount")
    assert "Evicted" not in {each["type"] for each in told["conditions"]}
