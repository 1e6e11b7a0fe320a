"""Deployments, StatefulSets and LeaderWorkerSets before a queue that really admits."""

from typing import Any

import pytest
from tests.support import apps, kueue
from tests.support.queued import conditions, message
from tests.support.queued_pods import K, QueuedPods, gates_of, start

from fleetqueue.jobs.resources import DEPLOYMENT, LEADER_WORKER_SET, STATEFUL_SET, WORKLOAD
from fleetqueue.kube.errors import KubeError
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.controllers import deployment, replica_set, stateful_set
from fleetqueue.runtime.operators import leader_worker_set
from fleetqueue.testing import Fleet

pytestmark = pytest.mark.rule("jobs A.13")
LWS = "leaderworkerset.x-k8s.io"


def serving(kind: str, replicas: int, **spec: Any) -> Object:
    made = apps.workload(kind, replicas=replicas, **spec)
    made["metadata"]["labels"] = {f"{K}/queue-name": "main"}
    requests = {"requests": {"cpu": "1"}}
    made["spec"]["template"]["spec"]["containers"][0]["resources"] = requests
    return made


async def gated(here: QueuedPods) -> dict[str, bool]:
    """By pod, whether it waits."""
    return {pod["metadata"]["name"]: bool(gates_of(pod)) for pod in await here.pods()}


async def run_free(here: QueuedPods) -> None:
    free = [
        pod["metadata"]["name"]
        for pod in await here.pods()
        if not gates_of(pod) and not pod["metadata"].get("deletionTimestamp")
    ]
    await here.run(*free)


# Deployments


async def deployments(fleet: Fleet, quota: str = "2", **more: Any) -> QueuedPods:
    operators = [deployment.OPERATOR, replica_set.OPERATOR]
    return await start(fleet, quota, operators=operators, **more)


@pytest.mark.rule("jobs A.13.1")
@pytest.mark.rule("jobs A.18")
async def test_the_pods_of_a_deployment_are_queued_one_by_one(fleet: Fleet) -> None:
    here = await deployments(fleet)
    made = await here.create(serving("Deployment", 3))
    template = made["spec"]["template"]["metadata"]
    assert template["annotations"] == {f"{K}/pod-suspending-parent": "deployment"}
    assert template["labels"] == {
        "app": "web",
        f"{K}/managed": "true",
        f"{K}/queue-name": "main",
    }
    assert sorted((await gated(here)).values()) == [False, False, True]
    found = await here.workloads()
    assert len(found) == 3
    assert all(each["metadata"]["name"].startswith("pod-web-") for each in found)
    assert all("finalizers" not in pod["metadata"] for pod in await here.pods())

    await here.patch(DEPLOYMENT, "web", {"spec": {"replicas": 1}})
    await here.end_deleted()
    await here.patch(DEPLOYMENT, "web", {"spec": {"replicas": 2}})
    assert list((await gated(here)).values()) == [False, False]


@pytest.mark.rule("jobs A.1")
async def test_pods_are_looked_after_for_the_sake_of_their_parents_alone(fleet: Fleet) -> None:
    here = await deployments(fleet, frameworks=["deployment"])
    await here.create(serving("Deployment", 1))
    assert list((await gated(here)).values()) == [False]
    assert len(await here.workloads()) == 1
    plain = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "plain",
            "namespace": "default",
            "labels": {f"{K}/queue-name": "main"},
        },
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    made = await here.create(plain)
    assert gates_of(made) == []
    assert len(await here.workloads()) == 1


@pytest.mark.rule("jobs A.13.1")
async def test_the_queue_of_a_deployment_changes_only_while_nothing_is_ready(fleet: Fleet) -> None:
    here = await deployments(fleet)
    await here.create(serving("Deployment", 1))
    with pytest.raises(KubeError, match="field is immutable"):
        await here.patch(DEPLOYMENT, "web", {"metadata": {"labels": {f"{K}/queue-name": None}}})
    other = {"metadata": {"labels": {f"{K}/queue-name": "other"}}}
    await run_free(here)
    with pytest.raises(KubeError, match="field is immutable"):
        await here.patch(DEPLOYMENT, "web", other)
    assert (await here.read(DEPLOYMENT, "web"))["status"]["readyReplicas"] == 1


# StatefulSets


async def stateful_sets(fleet: Fleet, quota: str = "3", **more: Any) -> QueuedPods:
    return await start(fleet, quota, operators=[stateful_set.OPERATOR], **more)


async def up(here: QueuedPods, count: int) -> None:
    for _ in range(count):
        await run_free(here)


@pytest.mark.rule("jobs A.13.2")
@pytest.mark.rule("jobs A.18")
@pytest.mark.rule("jobs A.19")
async def test_a_stateful_set_is_queued_as_a_whole(fleet: Fleet) -> None:
    here = await stateful_sets(fleet)
    made = await here.create(serving("StatefulSet", 0, serviceName="web"))
    template = made["spec"]["template"]["metadata"]
    assert template["annotations"] == {f"{K}/pod-suspending-parent": "statefulset"}
    assert template["labels"] == {"app": "web"}
    assert await here.workloads() == []

    await here.patch(STATEFUL_SET, "web", {"spec": {"replicas": 3}})
    workload = await here.workload()
    name = workload["metadata"]["name"]
    assert name.startswith("statefulset-web-")
    uid = made["metadata"]["uid"]
    assert workload["metadata"]["labels"] == {f"{K}/job-uid": uid}
    assert workload["metadata"]["annotations"] == {
        f"{K}/is-group-workload": "true",
        f"{K}/job-owner-gvk": "apps/v1, Kind=StatefulSet",
        f"{K}/job-owner-name": "web",
    }
    owner = workload["metadata"]["ownerReferences"][0]
    assert owner == {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": uid}
    [pod_set] = workload["spec"]["podSets"]
    assert (pod_set["name"], pod_set["count"]) == ("main", 3)
    assert pod_set["template"]["metadata"] == {}
    assert pod_set["topologyRequest"] == {"podIndexLabel": "apps.kubernetes.io/pod-index"}

    await up(here, 3)
    assert await gated(here) == {"web-0": False, "web-1": False, "web-2": False}
    first = await here.pod("web-0")
    assert "finalizers" not in first["metadata"]
    annotations = first["metadata"]["annotations"]
    assert annotations[f"{K}/pod-group-name"] == name
    assert annotations[f"{K}/pod-group-total-count"] == "3"
    assert annotations[f"{K}/role-hash"] == "main"
    assert annotations[f"{K}/pod-group-serving"] == "true"
    assert first["metadata"]["labels"][f"{K}/queue-name"] == "main"
    assert conditions(await here.workload())["PodsReady"] == ("True", "Started")

    with pytest.raises(KubeError, match=r"spec\.replicas: Invalid value: 1: field is immutable"):
        await here.patch(STATEFUL_SET, "web", {"spec": {"replicas": 1}})
    with pytest.raises(KubeError, match=r"spec\.replicas: Invalid value: 5: field is immutable"):
        await here.patch(STATEFUL_SET, "web", {"spec": {"replicas": 5}}, "scale")
    await here.patch(STATEFUL_SET, "web", {"spec": {"replicas": 0}}, "scale")
    for _ in range(3):
        await here.end_deleted()
    assert await here.pods() == []
    workload = await here.workload()
    assert conditions(workload)["QuotaReserved"] == ("False", "OnHold")
    assert message(workload, "QuotaReserved") == "StatefulSet scaled to zero; workload on hold"

    await here.patch(STATEFUL_SET, "web", {"spec": {"replicas": 2}})
    workload = await here.workload()
    assert workload["spec"]["podSets"][0]["count"] == 2
    assert conditions(workload)["QuotaReserved"][0] == "True"
    await up(here, 2)
    assert await gated(here) == {"web-0": False, "web-1": False}


@pytest.mark.rule("jobs A.13.2")
async def test_a_stateful_set_that_does_not_fit_waits_as_a_whole(fleet: Fleet) -> None:
    here = await stateful_sets(fleet, quota="2")
    await here.create(serving("StatefulSet", 3, serviceName="web", podManagementPolicy="Parallel"))
    assert list((await gated(here)).values()) == [True, True, True]
    [workload] = await here.workloads()
    assert workload["spec"]["podSets"][0]["count"] == 3


@pytest.mark.rule("jobs A.13.2")
async def test_an_evicted_stateful_set_comes_back(fleet: Fleet) -> None:
    here = await stateful_sets(fleet)
    await here.create(serving("StatefulSet", 2, serviceName="web", podManagementPolicy="Parallel"))
    await run_free(here)
    await here.evict("Preempted", "make room")
    for name in ("web-0", "web-1"):
        told = conditions(await here.pod(name))["TerminationTarget"]
        assert told == ("True", "WorkloadEvictedDueToPreempted")
    await here.end_deleted()
    assert await gated(here) == {"web-0": False, "web-1": False}
    assert conditions(await here.workload())["Requeued"] == ("True", "Preempted")


@pytest.mark.rule("jobs A.13.2")
async def test_the_queue_of_a_waiting_stateful_set_reaches_its_pods(fleet: Fleet) -> None:
    here = await stateful_sets(fleet, quota="1")
    await here.create(serving("StatefulSet", 2, serviceName="web", podManagementPolicy="Parallel"))
    await here.patch(STATEFUL_SET, "web", {"metadata": {"labels": {f"{K}/queue-name": "other"}}})
    assert (await here.workload())["spec"]["queueName"] == "other"
    for pod in await here.pods():
        assert pod["metadata"]["labels"][f"{K}/queue-name"] == "other"


@pytest.mark.rule("jobs A.13.2")
async def test_pods_of_the_old_revision_are_let_go_in_an_update(fleet: Fleet) -> None:
    here = await stateful_sets(fleet, quota="1")
    await here.create(serving("StatefulSet", 2, serviceName="web", podManagementPolicy="Parallel"))
    assert list((await gated(here)).values()) == [True, True]
    image = {"spec": {"containers": [{"name": "main", "image": "two", "resources": {}}]}}
    image["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
    await here.patch(STATEFUL_SET, "web", {"spec": {"template": image}})
    status = (await here.read(STATEFUL_SET, "web"))["status"]
    assert status["currentRevision"] != status["updateRevision"]
    for pod in await here.pods():
        revision = pod["metadata"]["labels"]["controller-revision-hash"]
        assert bool(gates_of(pod)) == (revision != status["currentRevision"])


@pytest.mark.rule("jobs A.13.2")
@pytest.mark.rule("kueue 3.10")
async def test_the_workload_of_a_deleted_stateful_set_is_over(fleet: Fleet) -> None:
    here = await stateful_sets(fleet)
    await here.create(serving("StatefulSet", 1, serviceName="web"))
    await run_free(here)
    await here.delete(STATEFUL_SET, "web", propagation="Background")
    workload = await here.workload()
    assert conditions(workload)["Finished"] == ("True", "OwnerNotFound")
    assert "finalizers" not in workload["metadata"]


@pytest.mark.rule("jobs A.13.2")
async def test_a_deleted_workload_of_a_stateful_set_is_made_again(fleet: Fleet) -> None:
    here = await stateful_sets(fleet)
    await here.create(serving("StatefulSet", 1, serviceName="web"))
    await run_free(here)
    before = await here.workload()
    await here.delete(WORKLOAD, before["metadata"]["name"])
    await here.end_deleted()
    after = await here.workload()
    assert after["metadata"]["uid"] != before["metadata"]["uid"]
    assert await gated(here) == {"web-0": False}


@pytest.mark.rule("jobs A.13.2", "jobs A.5", "kueue 2.4")
async def test_the_gate_of_a_stateful_set_holds_until_it_goes(fleet: Fleet) -> None:
    here = await stateful_sets(fleet)
    gate = f"{K}/admission-gated-by"
    made = serving("StatefulSet", 2, serviceName="web", podManagementPolicy="Parallel")
    made["metadata"]["annotations"] = {gate: "a.io/b"}
    await here.create(made)
    assert await gated(here) == {"web-0": True, "web-1": True}
    assert (await here.workload())["metadata"]["annotations"][gate] == "a.io/b"
    assert await here.admitted() == []

    await here.patch(STATEFUL_SET, "web", {"metadata": {"annotations": {gate: None}}})
    assert await gated(here) == {"web-0": False, "web-1": False}
    assert gate not in (await here.workload())["metadata"]["annotations"]


@pytest.mark.rule("jobs A.13.2", "jobs A.5", "kueue 2.1")
async def test_another_class_of_a_stateful_set_is_told_once(fleet: Fleet) -> None:
    here = await stateful_sets(fleet)
    for name, value in (("low", 1), ("high", 2)):
        await here.create(kueue.priority_class(name, value))
    made = serving("StatefulSet", 2, serviceName="web", podManagementPolicy="Parallel")
    made["metadata"]["labels"][f"{K}/priority-class"] = "low"
    await here.create(made)
    await run_free(here)
    await here.patch(STATEFUL_SET, "web", {"metadata": {"labels": {f"{K}/priority-class": "high"}}})
    found = await here.workload()
    assert (found["spec"]["priorityClassRef"]["name"], found["spec"]["priority"]) == ("high", 2)
    told = [reason for kind in ("StatefulSet", "Pod") for reason, _ in await here.events(kind)]
    assert told.count("UpdatedWorkload") == 1


# LeaderWorkerSets


async def leader_worker_sets(fleet: Fleet, quota: str = "8") -> QueuedPods:
    return await start(
        fleet,
        quota,
        groups=[LWS],
        operators=[leader_worker_set.OPERATOR, stateful_set.OPERATOR],
        others=leader_worker_set.WEBHOOKS,
    )


def lws(replicas: int, size: int, *, leader: bool = True) -> Object:
    container = {
        "name": "main",
        "image": "one",
        "resources": {"requests": {"cpu": "1"}},
    }
    template: Object = {"workerTemplate": {"spec": {"containers": [container]}}, "size": size}
    if leader:
        template["leaderTemplate"] = {"spec": {"containers": [dict(container)]}}
    return {
        "apiVersion": f"{LWS}/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {
            "name": "serve",
            "namespace": "default",
            "labels": {f"{K}/queue-name": "main"},
        },
        "spec": {"replicas": replicas, "leaderWorkerTemplate": template},
    }


@pytest.mark.rule("jobs A.13.3")
@pytest.mark.rule("jobs A.18")
async def test_each_replica_of_a_leader_worker_set_has_a_workload(fleet: Fleet) -> None:
    here = await leader_worker_sets(fleet, quota="6")
    made = await here.create(lws(2, 4))
    for name in ("leaderTemplate", "workerTemplate"):
        metadata = made["spec"]["leaderWorkerTemplate"][name]["metadata"]
        assert metadata["labels"] == {f"{K}/queue-name": "main"}
        assert (
            metadata["annotations"].items()
            >= {
                f"{K}/pod-suspending-parent": f"{LWS}/leaderworkerset",
                f"{K}/pod-group-serving": "true",
            }.items()
        )
    worker = made["spec"]["leaderWorkerTemplate"]["workerTemplate"]["metadata"]
    assert worker["annotations"][f"{K}/pod-index-offset"] == "1"

    found = await here.workloads()
    indexes = [each["metadata"]["annotations"][f"{K}/component-workload-index"] for each in found]
    assert sorted(indexes) == ["0", "1"]
    for each in found:
        assert each["metadata"]["name"].startswith("leaderworkerset-serve-")
        sets = {one["name"]: one["count"] for one in each["spec"]["podSets"]}
        assert sets == {"leader": 1, "worker": 3}
        leader, workers = each["spec"]["podSets"]
        assert "topologyRequest" not in leader
        index = "leaderworkerset.sigs.k8s.io/worker-index"
        assert workers["topologyRequest"] == {"podIndexLabel": index}
    assert len(await here.admitted()) == 1
    waits = await gated(here)
    assert len(waits) == 8
    assert sum(waits.values()) == 4
    roles = {pod["metadata"]["annotations"][f"{K}/role-hash"] for pod in await here.pods()}
    assert roles == {"leader", "worker"}


@pytest.mark.rule("jobs A.13.3")
async def test_a_set_without_leaders_and_its_size(fleet: Fleet) -> None:
    here = await leader_worker_sets(fleet)
    await here.create(lws(1, 2, leader=False))
    [workload] = await here.workloads()
    assert {one["name"]: one["count"] for one in workload["spec"]["podSets"]} == {"main": 2}
    assert list((await gated(here)).values()) == [False, False]

    await here.patch(LEADER_WORKER_SET, "serve", {"spec": {"replicas": 3}})
    assert len(await here.workloads()) == 3
    await here.patch(LEADER_WORKER_SET, "serve", {"spec": {"replicas": 1}})
    await here.end_deleted()
    assert len(await here.workloads()) == 1
    size = {"spec": {"leaderWorkerTemplate": {"size": 3}}}
    with pytest.raises(KubeError, match="size: Invalid value: 3: field is immutable"):
        await here.patch(LEADER_WORKER_SET, "serve", size)


@pytest.mark.rule("jobs A.13.3")
async def test_pods_that_outlive_their_set_are_let_go(fleet: Fleet) -> None:
    here = await leader_worker_sets(fleet, quota="1")
    await here.create(lws(1, 2))
    assert list((await gated(here)).values()) == [True, True]
    await here.delete(LEADER_WORKER_SET, "serve", propagation="Orphan")
    assert not any((await gated(here)).values())
    for workload in await here.workloads():
        assert conditions(workload)["Finished"] == ("True", "OwnerNotFound")
