"""What users rely on when pods, and kinds that are made of pods, are queued, as far as gates,
finalizers and controllers show it. The test puts gates on pods and takes them away, as queues do.
"""

from typing import Any

import pytest
from tests.support import apps, leader_workers, simulated
from tests.support.operated import conditions
from tests.support.simulated import World, gates_of, scheduled, template

from fleetqueue.kube.errors import NotFound
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.controllers import deployment, replica_set, stateful_set
from fleetqueue.runtime.kinds import DEPLOYMENT, LEADER_WORKER_SET, POD, STATEFUL_SET
from fleetqueue.runtime.operators import leader_worker_set
from fleetqueue.testing import Fleet

pytestmark = pytest.mark.rule("jobs A.18")

ADMISSION, TOPOLOGY = "kueue.x-k8s.io/admission", "kueue.x-k8s.io/topology"
GATES = [{"name": ADMISSION}, {"name": TOPOLOGY}]
MANAGED = "kueue.x-k8s.io/managed"
BLOCKED = ("False", "SchedulingGated", "Scheduling is blocked due to non-empty scheduling gates")


def queued_pod(name: str, run_seconds: str = "never", **spec: Any) -> Object:
    """As it is stored after the queue's webhook."""
    made = template(run_seconds=run_seconds, restartPolicy="Never", schedulingGates=GATES, **spec)
    metadata = {
        **made["metadata"],
        "name": name,
        "namespace": "default",
        "labels": {MANAGED: "true", "kueue.x-k8s.io/queue-name": "lq"},
        "finalizers": [MANAGED],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": made["spec"]}


async def phases(world: World) -> list[str]:
    return [pod["status"]["phase"] for pod in await world.pods()]


def gated_template(**labels: str) -> Object:
    return {**template(schedulingGates=GATES, labels=labels or {"app": "web"})}


@pytest.mark.rule("jobs C.2")
async def test_scenario_16_a_gated_pod_waits_runs_and_is_taken_away(fleet: Fleet) -> None:
    world = await simulated.start(fleet)
    await world.create(queued_pod("p"))
    await world.passes(minutes=5)
    assert scheduled(await world.pod("p")) == BLOCKED
    await world.ungate("p", gates=(ADMISSION,))
    assert scheduled(await world.pod("p")) == BLOCKED
    patch = {"spec": {"nodeSelector": {"kubernetes.io/hostname": "sim"}}}
    await world.client.patch(POD, "p", patch, "default")
    await world.ungate("p", gates=(TOPOLOGY,))
    running = await world.pod("p")
    assert (running["status"]["phase"], scheduled(running)[0]) == ("Running", "True")

    reason, message = "WorkloadEvictedDueToPreempted", "Preempted to accommodate a workload"
    await world.mark("p", "TerminationTarget", reason, message)
    await world.delete(POD, "p")
    ended = await world.pod("p")
    assert ended["metadata"]["deletionTimestamp"]
    assert ended["status"]["phase"] == "Failed"
    assert conditions(ended)["TerminationTarget"] == ("True", reason, message)
    await world.release("p")
    with pytest.raises(NotFound):
        await world.pod("p")


async def test_scenario_17_a_group_runs_when_the_gates_of_all_are_gone(fleet: Fleet) -> None:
    world = await simulated.start(fleet)
    for name in ("a", "b"):
        await world.create(queued_pod(name))
    await world.passes(minutes=5)
    assert await phases(world) == ["Pending", "Pending"]
    await world.create(queued_pod("c"))
    await world.ungate("a", "b", "c")
    assert await phases(world) == ["Running"] * 3


async def test_scenario_18_a_failed_pod_of_a_group_stays_until_it_is_replaced(
    fleet: Fleet,
) -> None:
    world = await simulated.start(fleet)
    failing = queued_pod("a", run_seconds="5")
    failing["metadata"]["annotations"]["fleetqueue.io/sim-exit-code"] = "3"
    for pod in (failing, queued_pod("b")):
        await world.create(pod)
    await world.ungate("a", "b")
    await world.passes(seconds=6)
    assert await phases(world) == ["Failed", "Running"]
    await world.delete(POD, "a")
    assert (await world.pod("a"))["status"]["phase"] == "Failed"
    await world.create(queued_pod("c"))
    await world.ungate("c")
    await world.release("a")
    assert await world.names(POD) == ["b", "c"]
    assert await phases(world) == ["Running", "Running"]


async def test_scenario_19_a_pod_too_many_goes_without_ever_having_run(fleet: Fleet) -> None:
    world = await simulated.start(fleet)
    for name in "abcd":
        await world.create(queued_pod(name))
    await world.ungate("a", "b", "c")
    await world.release("d")
    await world.delete(POD, "d")
    assert await world.names(POD) == ["a", "b", "c"]
    assert await phases(world) == ["Running"] * 3
    assert ("Scheduled", "Successfully assigned default/d to sim") not in await world.events("Pod")


@pytest.mark.rule("jobs B.2")
async def test_scenario_20_a_deployment_grows_pod_by_pod(fleet: Fleet) -> None:
    world = await simulated.start(fleet, deployment.OPERATOR, replica_set.OPERATOR)
    made = apps.workload("Deployment", replicas=3, template=gated_template())
    await world.create(made)
    names = await world.names(POD)
    assert len(names) == 3
    await world.ungate(*names[:2])
    status = (await world.get(DEPLOYMENT, "web"))["status"]
    assert (status["readyReplicas"], status["unavailableReplicas"]) == (2, 1)
    told = await world.conditions(DEPLOYMENT, "web")
    assert (told["Progressing"][1], told["Available"][0]) == ("ReplicaSetUpdated", "False")
    await world.passes(seconds=605)
    told = await world.conditions(DEPLOYMENT, "web")
    assert told["Progressing"][:2] == ("False", "ProgressDeadlineExceeded")

    await world.change(DEPLOYMENT, "web", replicas=2)
    left = await world.pods()
    assert [pod["metadata"]["name"] for pod in left] == names[:2]
    await world.change(DEPLOYMENT, "web", replicas=4)
    waiting = [pod["metadata"]["name"] for pod in await world.pods() if gates_of(pod)]
    assert len(waiting) == 2
    for ready, name in enumerate(waiting, 3):
        await world.ungate(name)
        status = (await world.get(DEPLOYMENT, "web"))["status"]
        assert status["readyReplicas"] == ready
    told = await world.conditions(DEPLOYMENT, "web")
    assert told["Available"][:2] == ("True", "MinimumReplicasAvailable")


@pytest.mark.rule("jobs B.2")
@pytest.mark.parametrize("policy", ["OrderedReady", "Parallel"])
async def test_scenario_21_a_stateful_set_comes_from_zero_and_goes_back(
    fleet: Fleet, policy: str
) -> None:
    world = await simulated.start(fleet, stateful_set.OPERATOR)
    spec = {"replicas": 0, "serviceName": "web", "podManagementPolicy": policy}
    await world.create(apps.workload("StatefulSet", **spec, template=gated_template()))
    assert (await world.get(STATEFUL_SET, "web"))["status"]["replicas"] == 0
    await world.change(STATEFUL_SET, "web", replicas=3)
    if policy == "Parallel":
        assert await world.names(POD) == ["web-0", "web-1", "web-2"]
        await world.ungate("web-0", "web-1", "web-2")
    for ordinal in range(3 if policy == "OrderedReady" else 0):
        # The next one is made when this one is ready, which its gate prevents.
        await world.passes(minutes=1)
        assert await world.names(POD) == [f"web-{each}" for each in range(ordinal + 1)]
        await world.ungate(f"web-{ordinal}")
    status = (await world.get(STATEFUL_SET, "web"))["status"]
    assert (status["replicas"], status["readyReplicas"]) == (3, 3)
    await world.change(STATEFUL_SET, "web", replicas=0)
    assert await world.pods() == []
    status = (await world.get(STATEFUL_SET, "web"))["status"]
    assert (status["replicas"], status.get("readyReplicas", 0)) == (0, 0)


@pytest.mark.rule("jobs B.8")
async def test_scenario_22_the_groups_of_a_leader_worker_set_start_one_by_one(
    fleet: Fleet,
) -> None:
    world = await simulated.start(
        fleet,
        stateful_set.OPERATOR,
        leader_worker_set.OPERATOR,
        groups=(leader_workers.GROUP,),
        webhooks=leader_worker_set.WEBHOOKS,
    )
    templates = {
        "leaderTemplate": gated_template(role="leader"),
        "workerTemplate": gated_template(role="worker"),
    }
    await world.create(leader_workers.lws(2, 4, template=templates))
    found = await world.pods()
    roles = {pod["metadata"]["name"]: pod["metadata"]["labels"]["role"] for pod in found}
    for group in ("0", "1"):
        workers = {f"serve-{group}-{number}": "worker" for number in (1, 2, 3)}
        assert {f"serve-{group}": "leader", **workers}.items() <= roles.items()
    assert len(roles) == 8
    assert {scheduled(pod) for pod in found} == {BLOCKED}
    key = "leaderworkerset.sigs.k8s.io/group-index"
    for ready, group in enumerate(("1", "0"), 1):
        members = [
            pod["metadata"]["name"] for pod in found if pod["metadata"]["labels"][key] == group
        ]
        assert len(members) == 4
        await world.ungate(*members)
        status = (await world.get(LEADER_WORKER_SET, "serve"))["status"]
        assert status["readyReplicas"] == ready
    told = await world.conditions(LEADER_WORKER_SET, "serve")
    assert told["Available"] == ("True", "AllGroupsReady", "All replicas are ready")
