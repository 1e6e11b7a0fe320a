"""Pod groups before a queue that really admits; the test plays the kubelet and the user."""

import asyncio
from typing import Any

import pytest
from tests.support.queued import conditions, message
from tests.support.queued_pods import K, QueuedPods, gates_of, member, pod, start

from fleetqueue.api.kueue import admission_status as status_of
from fleetqueue.jobs.resources import WORKLOAD
from fleetqueue.kube.errors import NotFound
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.kinds import POD
from fleetqueue.testing import Fleet

pytestmark = [pytest.mark.rule("jobs A.12.4"), pytest.mark.rule("jobs A.12")]
NAMES = ("g-1", "g-2", "g-3")


async def make(here: QueuedPods, *names: str, **more: Any) -> None:
    for name in names:
        await here.create(member(name, **more))


async def group(here: QueuedPods) -> Object:
    return await here.read(WORKLOAD, "grp")


@pytest.mark.rule("jobs A.18")
@pytest.mark.rule("jobs A.19")
async def test_a_group_waits_for_all_its_pods_and_runs_together(fleet: Fleet) -> None:
    here = await start(fleet)
    await make(here, "g-1", "g-2")
    assert await here.workloads() == []
    assert await here.events("Pod") == [
        ("ErrWorkloadCompose", "'grp' group has fewer runnable pods than expected"),
    ]
    await make(here, "g-3")
    workload = await here.workload()
    assert workload["metadata"]["name"] == "grp"
    assert workload["metadata"]["annotations"] == {f"{K}/is-group-workload": "true"}
    assert "labels" not in workload["metadata"]
    owners = workload["metadata"]["ownerReferences"]
    assert [owner["name"] for owner in owners] == list(NAMES)
    assert all(owner.keys() == {"apiVersion", "kind", "name", "uid"} for owner in owners)
    [pod_set] = workload["spec"]["podSets"]
    assert (pod_set["name"], pod_set["count"]) == ("4b0469f7", 3)
    for name in NAMES:
        found = await here.pod(name)
        assert gates_of(found) == []
        assert found["metadata"]["labels"][f"{K}/podset"] == "4b0469f7"
        assert found["metadata"]["annotations"][f"{K}/workload"] == "grp"

    await here.run(*NAMES)
    assert conditions(await group(here))["PodsReady"] == ("True", "Started")
    await here.run("g-1", phase="Succeeded")
    workload = await group(here)
    assert workload["status"]["reclaimablePods"] == [{"name": "4b0469f7", "count": 1}]
    assert conditions(workload)["PodsReady"] == ("True", "Started")
    await here.run("g-2", "g-3", phase="Succeeded")
    workload = await group(here)
    assert conditions(workload)["Finished"] == ("True", "Succeeded")
    assert message(workload, "Finished") == "Pods succeeded: 3/3."
    assert "finalizers" not in workload["metadata"]
    for name in NAMES:
        assert "finalizers" not in (await here.pod(name))["metadata"]
    told = await here.events("Pod")
    assert told.count(("Started", "Admitted by clusterQueue queue")) == 3
    assert ("CreatedWorkload", "Created Workload: default/grp") in told
    assert ("FinishedWorkload", "Workload 'default/grp' is declared finished") in told


async def test_a_group_is_all_or_nothing(fleet: Fleet) -> None:
    here = await start(fleet, quota="2")
    await make(here, *NAMES)
    assert len(await here.workloads()) == 1
    for name in NAMES:
        assert gates_of(await here.pod(name)) == ["admission", "topology"]


@pytest.mark.rule("jobs A.18")
async def test_a_failed_pod_is_replaced(fleet: Fleet) -> None:
    here = await start(fleet)
    await make(here, *NAMES)
    await here.run(*NAMES)
    await here.run("g-2", phase="Failed")
    told = conditions(await group(here))
    assert told["WaitingForReplacementPods"] == ("True", "PodsFailed")
    assert message(await group(here), "WaitingForReplacementPods") == (
        "Some Failed pods need replacement"
    )
    assert told["PodsReady"] == ("False", "WaitForRecovery")
    assert (await here.pod("g-2"))["metadata"]["finalizers"] == [f"{K}/managed"]

    await make(here, "g-4")
    assert gates_of(await here.pod("g-4")) == []
    assert "finalizers" not in (await here.pod("g-2"))["metadata"]
    assert conditions(await group(here))["WaitingForReplacementPods"] == ("False", "PodsReady")
    assert ("OwnerReferencesAdded", "Added 1 owner reference(s)") in await here.events("Workload")
    await here.run("g-4")
    assert conditions(await group(here))["PodsReady"] == ("True", "Recovered")
    await here.run("g-1", "g-3", "g-4", phase="Succeeded")
    assert message(await group(here), "Finished") == "Pods succeeded: 3/3."


@pytest.mark.rule("jobs A.18")
async def test_a_group_that_is_replaced_whole_keeps_its_workload(fleet: Fleet) -> None:
    """The old pods go at once when they are let go; nobody else would own the Workload then."""
    here = await start(fleet)
    await make(here, *NAMES)
    await here.run(*NAMES)
    before = await group(here)
    for name in NAMES:
        await here.delete(POD, name, grace_period_seconds=0)
    await here.run(*NAMES, phase="Failed")
    news = ("n-1", "n-2", "n-3")
    await asyncio.gather(*(here.client.create(member(name)) for name in news))
    await fleet.settle()
    assert (await group(here))["metadata"]["uid"] == before["metadata"]["uid"]
    assert [each["metadata"]["name"] for each in await here.pods()] == list(news)
    for name in news:
        assert gates_of(await here.pod(name)) == []


@pytest.mark.rule("jobs A.18")
async def test_a_pod_too_many_is_deleted(fleet: Fleet) -> None:
    here = await start(fleet)
    await make(here, *NAMES)
    await here.run(*NAMES)
    await make(here, "g-0")
    with pytest.raises(NotFound):
        await here.pod("g-0")
    assert ("ExcessPodDeleted", "Excess pod deleted") in await here.events("Pod")
    assert (await group(here))["spec"]["podSets"][0]["count"] == 3


async def test_pods_too_many_are_deleted_before_there_is_a_workload(fleet: Fleet) -> None:
    here = await start(fleet, config="manageJobsWithoutQueueName: false")
    for name in ("g-1", "g-2", "g-3", "g-4"):
        await here.client.create(member(name))
        await fleet.passes(seconds=0)
    await fleet.settle()
    assert len(await here.pods()) == 3
    assert len((await group(here))["metadata"]["ownerReferences"]) >= 3


async def test_a_group_of_several_roles(fleet: Fleet) -> None:
    here = await start(fleet)
    await make(here, "g-1", "g-2")
    await make(here, "g-3", cpu="2")
    sizes = {each["name"]: each["count"] for each in (await group(here))["spec"]["podSets"]}
    assert sorted(sizes.values()) == [1, 2]
    assert list(sizes) == sorted(sizes)
    big = await here.pod("g-3")
    assert (
        big["metadata"]["labels"][f"{K}/podset"] == big["metadata"]["annotations"][f"{K}/role-hash"]
    )
    assert sizes[big["metadata"]["labels"][f"{K}/podset"]] == 1


@pytest.mark.rule("kueue 3.4")
async def test_an_evicted_group_waits_for_new_pods(fleet: Fleet) -> None:
    here = await start(fleet)
    await make(here, *NAMES)
    await here.run(*NAMES)
    await here.evict("Preempted", "make room")
    for name in NAMES:
        found = await here.pod(name)
        assert found["metadata"]["deletionTimestamp"]
        assert conditions(found)["TerminationTarget"] == ("True", "WorkloadEvictedDueToPreempted")
        assert found["metadata"]["finalizers"] == [f"{K}/managed"]
    assert conditions(await group(here))["QuotaReserved"][0] == "True"

    await here.run(*NAMES, phase="Failed")
    told = conditions(await group(here))
    assert told["QuotaReserved"] == ("False", "PendingEvaluation")
    assert told["Requeued"] == ("True", "Preempted")
    assert told["WaitingForReplacementPods"] == ("True", "Preempted")

    await here.end_deleted()
    await make(here, "h-1", "h-2", "h-3")
    for name in ("h-1", "h-2", "h-3"):
        assert gates_of(await here.pod(name)) == []
    assert conditions(await group(here))["WaitingForReplacementPods"] == ("False", "PodsReady")
    assert [each["metadata"]["name"] for each in await here.pods()] == ["h-1", "h-2", "h-3"]


async def test_the_quota_of_a_group_is_free_when_its_pods_have_had_their_time(fleet: Fleet) -> None:
    here = await start(fleet)
    await make(here, *NAMES)
    await here.run(*NAMES)
    await here.evict("Preempted", "make room")
    assert "Requeued" not in conditions(await group(here))
    await fleet.passes(seconds=61)
    await fleet.settle()
    assert conditions(await group(here))["Requeued"] == ("True", "Preempted")


async def test_quota_that_is_released_fast(fleet: Fleet) -> None:
    here = await start(fleet, gates={"FastQuotaReleaseInPodIntegration": True})
    await make(here, *NAMES)
    await here.run(*NAMES)
    await here.evict("Preempted", "make room")
    assert conditions(await group(here))["Requeued"] == ("True", "Preempted")


async def test_a_group_that_is_not_retriable_ends_with_its_last_pod(fleet: Fleet) -> None:
    here = await start(fleet)
    await make(here, *NAMES)
    await here.run(*NAMES)
    await here.run("g-1", phase="Succeeded")
    annotations = {f"{K}/retriable-in-group": "false"}
    await here.patch(POD, "g-2", {"metadata": {"annotations": annotations}})
    await here.run("g-2", phase="Failed")
    assert "Finished" not in conditions(await group(here))
    await here.run("g-3", phase="Failed")
    assert conditions(await group(here))["Finished"] == ("True", "Succeeded")
    assert message(await group(here), "Finished") == "Pods succeeded: 1/3."


async def test_pods_go_with_the_workload_of_their_group(fleet: Fleet) -> None:
    here = await start(fleet)
    await make(here, *NAMES)
    await here.run("g-1")
    await here.delete(WORKLOAD, "grp")
    [left] = await here.pods()
    assert left["metadata"]["name"] == "g-1"
    assert conditions(left)["TerminationTarget"] == ("True", "WorkloadDeleted")
    assert "finalizers" not in left["metadata"]
    await here.end_deleted()
    assert await here.workloads() == []


async def test_the_workload_of_a_group_without_pods_is_over(fleet: Fleet) -> None:
    here = await start(fleet, quota="1")
    await make(here, *NAMES)
    for name in NAMES:
        patch = {"metadata": {"finalizers": None}}
        await here.client.patch(POD, name, patch, "default")
        await here.client.delete(POD, name, "default")
    await fleet.settle()
    for found in await here.workloads():
        assert conditions(found)["Finished"] == ("True", "OwnerNotFound")
        assert "finalizers" not in found["metadata"]


async def test_a_workload_that_is_not_the_groups(fleet: Fleet) -> None:
    here = await start(fleet)
    spec = {"queueName": "elsewhere", "podSets": [{"name": "main", "count": 1, "template": {}}]}
    template = {"spec": pod("x")["spec"]}
    spec["podSets"][0]["template"] = template  # type: ignore[index]
    other = {
        "apiVersion": f"{K}/v1beta2",
        "kind": "Workload",
        "metadata": {"name": "grp", "namespace": "default"},
        "spec": spec,
    }
    await here.create(other)
    await make(here, *NAMES)
    for name in NAMES:
        assert gates_of(await here.pod(name)) == ["admission", "topology"]
    message = (
        'A Workload named "grp" already exists but is not a pod group workload;'
        " this pod group cannot be admitted"
    )
    assert ("WorkloadNameConflict", message) in await here.events("Pod")


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (
            member("g-2", total=2, labels={"queue-name": "other"}),
            "pods 'g-1' and 'g-2' has different queue names: main!=other",
        ),
        (
            member("g-2", total=1),
            f"pods 'g-1' and 'g-2' has different '{K}/pod-group-total-count' values: 2!=1",
        ),
    ],
    ids=["queues", "totals"],
)
async def test_pods_that_do_not_agree(fleet: Fleet, other: Object, expected: str) -> None:
    here = await start(fleet)
    await here.create(member("g-1", total=2))
    await here.create(other)
    assert ("ErrWorkloadCompose", expected) in await here.events("Pod")
    assert await here.workloads() == []


async def test_a_group_that_is_admitted_before_it_is_whole(fleet: Fleet) -> None:
    here = await start(fleet)
    fast = {"pod-group-fast-admission": "true"}
    await make(here, "g-1", annotations=fast)
    workload = await group(here)
    assert workload["spec"]["podSets"][0]["count"] == 3
    assert gates_of(await here.pod("g-1")) == []
    await make(here, "g-2", annotations=fast)
    assert gates_of(await here.pod("g-2")) == []


async def test_labels_are_copied_where_pods_agree(fleet: Fleet) -> None:
    config = "  labelKeysToCopy: [team]"
    here = await start(fleet, config=config)
    for name in NAMES:
        made = member(name)
        made["metadata"]["labels"]["team"] = "x"
        await here.create(made)
    assert (await group(here))["metadata"]["labels"] == {"team": "x"}


async def test_a_group_waits_for_the_workload_that_it_names(fleet: Fleet) -> None:
    here = await start(fleet)
    await make(here, *NAMES, annotations={"prebuilt-workload-name": "grp"})
    assert await here.workloads() == []
    sets = [{"name": "4b0469f7", "count": 3, "template": {"spec": pod("x")["spec"]}}]
    ready_made = {
        "apiVersion": f"{K}/v1beta2",
        "kind": "Workload",
        "metadata": {"name": "grp", "namespace": "default"},
        "spec": {"queueName": "main", "podSets": sets},
    }
    await here.create(ready_made)
    for name in NAMES:
        assert gates_of(await here.pod(name)) == []
    assert len((await group(here))["metadata"]["ownerReferences"]) == 3


async def test_a_group_whose_class_is_missing_waits_for_it(fleet: Fleet) -> None:
    here = await start(fleet)
    await make(here, *NAMES, labels={"priority-class": "high"})
    assert await here.workloads() == []
    told = ("WorkloadPriorityClassNotFound", 'WorkloadPriorityClass "high" not found')
    assert told in await here.events("Pod")
    api = {"apiVersion": f"{K}/v1beta2", "kind": "WorkloadPriorityClass"}
    await here.create({**api, "metadata": {"name": "high"}, "value": 7})
    await fleet.passes(seconds=6)
    await fleet.settle()
    assert (await group(here))["spec"]["priority"] == 7


async def test_a_group_that_the_queue_gave_up_is_deleted_after_a_while(fleet: Fleet) -> None:
    retention = "objectRetentionPolicies: {workloads: {afterDeactivatedByKueue: 1m}}"
    here = await start(fleet, config=retention)
    await make(here, *NAMES)
    await here.run(*NAMES)
    await here.patch(WORKLOAD, "grp", {"spec": {"active": False}})
    found = await group(here)
    now = fleet.clock.now()
    await here.write(status_of.evict(found, "Deactivated", "m", now, cause="Test"))
    await here.run(*NAMES, phase="Failed")
    await fleet.passes(seconds=70)
    await fleet.settle()
    told = [event for event in await here.events("Pod") if event[0] == "Deleted"]
    assert told == [("Deleted", "Deleted job: deactivation retention period expired")]
    for found in await here.pods():
        assert found["metadata"]["deletionTimestamp"]


async def test_the_queue_of_a_group_that_waits_can_change(fleet: Fleet) -> None:
    here = await start(fleet, quota="1")
    await make(here, *NAMES)
    for name in NAMES:
        patch = {"metadata": {"labels": {f"{K}/queue-name": "other"}}}
        await here.patch(POD, name, patch)
    assert (await group(here))["spec"]["queueName"] == "other"
