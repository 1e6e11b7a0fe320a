"""Jobs and their workloads, with everything in place: made, matched, started, stopped, let go."""

from typing import Any

import pytest
from tests.support import golden, whole
from tests.support.recorder import plain
from tests.support.whole import Whole

from fleetqueue.admission import kinds
from fleetqueue.api.times import format_time
from fleetqueue.kube.resources import EVENTS, Object
from fleetqueue.runtime.kinds import JOB
from fleetqueue.testing import Fleet, namespace, owner_reference
from support.kueue import admission_check, cluster_queue, flavor, local_queue, workload

pytestmark = pytest.mark.rule("kueue 13.6")

PREBUILT = "kueue.x-k8s.io/prebuilt-workload-name"
ELASTIC = {"kueue.x-k8s.io/elastic-job": "true"}


async def start(fleet: Fleet, *objects: Object, **more: Any) -> Whole:
    here = await whole.start(fleet, "team", **more)
    queue = cluster_queue()
    await here.create(flavor(nodeLabels={"zone": "a"}), queue, local_queue(), *objects)
    return here


def job(name: str = "sample", queue: str = "main", **more: Any) -> Object:
    return golden.job(name, queue, "1", "team", **more)


async def is_suspended(here: Whole, name: str = "sample") -> bool:
    return bool((await here.get(JOB, name))["spec"]["suspend"])


async def selector(here: Whole) -> Object:
    spec = (await here.get(JOB, "sample"))["spec"]["template"]["spec"]
    return dict(spec.get("nodeSelector") or {})


async def told(here: Whole, name: str = "sample") -> list[tuple[str, str]]:
    """Reasons and messages of our events about a job."""
    await here.passes(seconds=1)
    found = (await here.client.list(EVENTS, "team")).items
    return [
        (each["reason"], plain(each["message"]))
        for each in found
        if each["involvedObject"]["name"] == name
        and each["reportingComponent"] == "batch/job-kueue-controller"
    ]


async def check(here: Whole, **more: Any) -> None:
    """The check of the only workload says something."""
    found = await here.workload()
    said = {
        "name": "check",
        "message": "",
        "lastTransitionTime": format_time(here.fleet.clock.now()),
        **more,
    }
    patch = {"status": {"admissionChecks": [said]}}
    await here.patch(kinds.WORKLOAD, found["metadata"]["name"], patch, "status")


async def with_check(fleet: Fleet) -> Whole:
    here = await start(fleet, admission_check("check", "example.com/it"))
    active = {
        "type": "Active",
        "status": "True",
        "reason": "Active",
        "message": "",
        "lastTransitionTime": format_time(fleet.clock.now()),
    }
    await here.patch(kinds.ADMISSION_CHECK, "check", {"status": {"conditions": [active]}}, "status")
    checks = {"admissionChecksStrategy": {"admissionChecks": [{"name": "check"}]}}
    await here.patch(kinds.CLUSTER_QUEUE, "queue", {"spec": checks})
    return here


@pytest.mark.rule("kueue 9.3")
@pytest.mark.rule("kueue 9.4")
@pytest.mark.rule("kueue 9.5")
async def test_jr1_a_workload_is_made_and_made_again(fleet: Fleet) -> None:
    here = await start(fleet)
    await here.create(job(queue="elsewhere"))
    first = await here.workload()
    [owner] = first["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["controller"]) == ("Job", "sample", True)
    assert await selector(here) == {}

    # Its queue may change while it is suspended; once admitted it goes to its flavor's nodes.
    moved = {"metadata": {"labels": {golden.QUEUE_NAME: "main"}}}
    await here.patch(JOB, "sample", moved)
    assert (await here.workload())["spec"]["queueName"] == "main"
    assert not await is_suspended(here)
    assert await selector(here) == {"zone": "a"}

    await here.patch(kinds.CLUSTER_QUEUE, "queue", {"spec": {"stopPolicy": "HoldAndDrain"}})
    await here.passes(seconds=2)
    assert await is_suspended(here)
    assert await selector(here) == {}

    await here.delete(kinds.WORKLOAD, first["metadata"]["name"])
    await here.passes(seconds=2)
    second = await here.workload()
    assert second["metadata"]["uid"] != first["metadata"]["uid"]
    events = [reason for reason, _ in await told(here)]
    assert events.count("CreatedWorkload") == 1
    assert [event for event in events if event != "CreatedWorkload"] == ["Started", "Stopped"]


@pytest.mark.rule("kueue 9.2")
async def test_jr2_a_child_follows_its_parent(fleet: Fleet) -> None:
    here = await start(fleet)
    await here.patch(kinds.CLUSTER_QUEUE, "queue", {"spec": {"stopPolicy": "Hold"}})
    await here.create(job("parent"))
    child = job("child")
    child["metadata"]["labels"] = {}
    child["metadata"]["ownerReferences"] = [owner_reference(await here.get(JOB, "parent"))]
    child["spec"]["suspend"] = False

    await here.create(child)

    assert len(await here.names(kinds.WORKLOAD)) == 1
    assert await is_suspended(here, "child")
    assert ("Suspended", "Kueue managed child job suspended") in await told(here, "child")

    await here.patch(kinds.CLUSTER_QUEUE, "queue", {"spec": {"stopPolicy": "None"}})
    await here.patch(JOB, "child", {"spec": {"suspend": False}})
    assert not await is_suspended(here, "child")


@pytest.mark.rule("kueue 9.4")
async def test_jr3_a_job_waits_for_the_workload_it_names(fleet: Fleet) -> None:
    here = await start(fleet)
    await here.create(job(labels={PREBUILT: "mine"}))
    assert await here.names(kinds.WORKLOAD) == []
    assert await is_suspended(here)

    spec = (await here.get(JOB, "sample"))["spec"]["template"]["spec"]
    sets = [{"name": "main", "count": 1, "template": {"metadata": {}, "spec": spec}}]
    await here.create(workload("mine", sets=sets))
    await here.passes(seconds=30)

    found = await here.workload()
    [owner] = found["metadata"]["ownerReferences"]
    assert (owner["name"], owner["controller"]) == ("sample", True)
    uid = (await here.get(JOB, "sample"))["metadata"]["uid"]
    assert found["metadata"]["labels"]["kueue.x-k8s.io/job-uid"] == uid
    assert not await is_suspended(here)


@pytest.mark.rule("kueue 9.5")
async def test_jr4_what_a_check_adds_reaches_the_pods(fleet: Fleet) -> None:
    here = await with_check(fleet)
    await here.create(job())
    added = {"labels": {"from": "check"}, "annotations": {"note": "check"}}
    await check(here, state="Ready", podSetUpdates=[{"name": "main", **added}])

    metadata = (await here.get(JOB, "sample"))["spec"]["template"]["metadata"]
    assert metadata["labels"]["from"] == "check"
    assert metadata["annotations"]["note"] == "check"
    assert not await is_suspended(here)


@pytest.mark.rule("kueue 9.5")
@pytest.mark.parametrize("part", ["labels", "annotations"])
async def test_jr4_what_contradicts_the_template_ends_the_workload(fleet: Fleet, part: str) -> None:
    here = await with_check(fleet)
    mine = job()
    mine["spec"]["template"]["metadata"].setdefault(part, {})["from"] = "job"
    await here.create(mine)
    name = (await here.workload())["metadata"]["name"]
    await check(here, state="Ready", podSetUpdates=[{"name": "main", part: {"from": "check"}}])

    found = (await here.get(kinds.WORKLOAD, name))["status"]["conditions"]
    [finished] = [each for each in found if each["type"] == "Finished"]
    assert (finished["reason"], finished["message"]) == (
        "FailedToStart",
        f"invalid admission check PodSetUpdate: conflict for {part}: "
        "conflict for key=from, value1=job, value2=check",
    )
    assert await is_suspended(here)


@pytest.mark.rule("kueue 9.4")
async def test_jr5_a_suspended_job_that_changes_changes_its_workload(fleet: Fleet) -> None:
    here = await start(fleet)
    await here.create(job(queue="elsewhere", pods=3))
    before = await here.workload()

    await here.patch(JOB, "sample", {"spec": {"parallelism": 2}})

    after = await here.workload()
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["spec"]["podSets"][0]["count"] == 2
    updated = "Updated not matching Workload for suspended job: team/job-sample-*"
    assert ("UpdatedWorkload", updated) in await told(here)


@pytest.mark.rule("kueue 3.10")
async def test_jr6_a_job_that_goes_lets_its_workload_go(fleet: Fleet) -> None:
    here = await start(fleet)
    await here.create(job())
    assert len(await here.names(kinds.WORKLOAD)) == 1

    await here.client.delete(JOB, "sample", "team", propagation="Background")
    await here.passes(seconds=2)

    assert await here.names(JOB) == []
    assert await here.names(kinds.WORKLOAD) == []


@pytest.mark.rule("kueue 3.6")
async def test_jr7_a_workload_switched_off_suspends_its_job(fleet: Fleet) -> None:
    here = await start(fleet)
    await here.create(job())
    name = (await here.workload())["metadata"]["name"]
    await here.patch(kinds.WORKLOAD, name, {"spec": {"active": False}})
    await here.passes(minutes=5)
    assert await is_suspended(here)

    await here.patch(kinds.WORKLOAD, name, {"spec": {"active": True}})
    await here.passes(seconds=2)
    assert not await is_suspended(here)


@pytest.mark.rule("kueue 9.4")
async def test_jr8_without_its_priority_class_a_job_gets_no_workload(fleet: Fleet) -> None:
    here = await start(fleet)
    await here.create(job(labels={"kueue.x-k8s.io/priority-class": "none"}))
    await here.passes(seconds=2)

    assert await here.names(kinds.WORKLOAD) == []
    missing = 'WorkloadPriorityClass "none" not found'
    assert ("WorkloadPriorityClassNotFound", missing) in await told(here)


@pytest.mark.rule("kueue 9.2")
async def test_jr9_jobs_of_other_namespaces_are_left_alone(fleet: Fleet) -> None:
    managed = "managedJobsNamespaceSelector: {matchLabels: {managed: 'yes'}}\n"
    here = await start(fleet, namespace("ours", labels={"managed": "yes"}), config=managed)
    await here.create(job())
    await here.patch(JOB, "sample", {"spec": {"suspend": False}})
    ours = {**job(), "metadata": {**job()["metadata"], "namespace": "ours"}}
    await here.client.create(ours)
    await fleet.settle()

    assert await here.names(kinds.WORKLOAD) == []
    assert not await is_suspended(here)
    assert len((await here.client.list(kinds.WORKLOAD, "ours")).items) == 1


@pytest.mark.rule("kueue 9.9")
async def test_jr10_an_elastic_job_has_one_live_slice(fleet: Fleet) -> None:
    here = await start(fleet)
    sample = job(annotations=ELASTIC, pods=2)
    del sample["spec"]["completions"]
    await here.create(sample)
    first = await here.workload()

    await here.patch(JOB, "sample", {"spec": {"parallelism": 3}})
    await here.passes(seconds=2)
    second = await here.workload()
    assert second["metadata"]["uid"] != first["metadata"]["uid"]
    old = await here.get(kinds.WORKLOAD, first["metadata"]["name"])
    assert {"WorkloadSliceReplaced"} == {
        each["reason"] for each in old["status"]["conditions"] if each["type"] == "Finished"
    }
    assert second["spec"]["podSets"][0]["count"] == 3

    await here.patch(JOB, "sample", {"spec": {"parallelism": 1}})
    third = await here.workload()
    assert third["metadata"]["uid"] == second["metadata"]["uid"]
    assert third["spec"]["podSets"][0]["count"] == 1
    assert not await is_suspended(here)
