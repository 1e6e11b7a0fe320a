"""Elastic Jobs: they grow and shrink while they run, one slice after the other."""

import pytest
from tests.support import queued
from tests.support.queued import JOB, QUEUE, Queued, conditions, message

from fleetqueue.jobs import ungating
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.controllers import job as job_controller
from fleetqueue.testing import Fleet, job

pytestmark = [
    pytest.mark.rule("jobs A.9"),
    pytest.mark.rule("jobs A.18"),
    pytest.mark.rule("kueue 9.9"),
    pytest.mark.rule("kueue 13.6"),
]

ELASTIC = {"kueue.x-k8s.io/elastic-job": "true"}


async def start(fleet: Fleet) -> Queued:
    here = await queued.start(
        fleet, operators=[job_controller.job_operator(), ungating.operator(has_ray=False)]
    )
    await here.create(job("sample", parallelism=3, labels=QUEUE, annotations=ELASTIC))
    await here.admit()
    return here


def gated(pods: list[Object]) -> int:
    return sum(bool(pod["spec"].get("schedulingGates")) for pod in pods)


async def old_and_new(here: Queued, first: Object) -> list[Object]:
    """The slice that was there at first, then the other one."""
    uid = first["metadata"]["uid"]
    return sorted(await here.workloads(), key=lambda each: bool(each["metadata"]["uid"] != uid))


async def scale(here: Queued, count: int) -> None:
    await here.patch(JOB, "sample", {"spec": {"parallelism": count}})


async def test_the_pods_of_an_admitted_slice_are_let_go(fleet: Fleet) -> None:
    here = await start(fleet)
    workload = await here.workload()
    annotations = workload["metadata"]["annotations"]
    assert annotations["kueue.x-k8s.io/workload-slice-name"] == workload["metadata"]["name"]
    pods = await here.pods()
    assert (len(pods), gated(pods)) == (3, 0)


async def test_growing_takes_a_second_slice_while_the_job_runs_on(fleet: Fleet) -> None:
    here = await start(fleet)
    first = await here.workload()
    await scale(here, 5)
    assert (await here.read(JOB, "sample"))["spec"]["suspend"] is False
    second = next(
        each
        for each in await here.workloads()
        if each["metadata"]["uid"] != first["metadata"]["uid"]
    )
    annotations = second["metadata"]["annotations"]
    name = first["metadata"]["name"]
    assert annotations["kueue.x-k8s.io/workload-slice-replacement-for"] == f"default/{name}"
    assert annotations["kueue.x-k8s.io/workload-slice-name"] == name
    assert second["spec"]["podSets"][0]["count"] == 5
    pods = await here.pods()
    assert (len(pods), gated(pods)) == (5, 2)

    await here.admit(second)
    assert gated(await here.pods()) == 0
    old, new = sorted(
        await here.workloads(), key=lambda each: each["metadata"]["uid"] != first["metadata"]["uid"]
    )
    assert conditions(old)["Finished"] == ("True", "WorkloadSliceReplaced")
    assert message(old, "Finished") == "Replaced to accommodate a new workload slice"
    assert "finalizers" not in old["metadata"]
    assert "Finished" not in conditions(new)
    assert (await here.read(JOB, "sample"))["spec"]["suspend"] is False


async def test_shrinking_changes_the_slice_in_place(fleet: Fleet) -> None:
    here = await start(fleet)
    before = await here.workload()
    await scale(here, 2)
    after = await here.workload()
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["spec"]["podSets"][0]["count"] == 2
    assert (await here.read(JOB, "sample"))["spec"]["suspend"] is False


async def test_a_slice_that_waits_changes_in_place(fleet: Fleet) -> None:
    here = await start(fleet)
    await scale(here, 5)
    await scale(here, 7)
    sizes = [each["spec"]["podSets"][0]["count"] for each in await here.workloads()]
    assert sorted(sizes) == [3, 7]


async def test_an_evicted_slice_stops_the_job_whatever_waits(fleet: Fleet) -> None:
    here = await start(fleet)
    first = await here.workload()
    await scale(here, 5)
    now = here.fleet.clock.now()
    fresh = next(
        each
        for each in await here.workloads()
        if each["metadata"]["uid"] == first["metadata"]["uid"]
    )
    await here.write(queued.status_of.evict(fresh, "Preempted", "make room", now))
    await here.end_deleted()
    assert (await here.read(JOB, "sample"))["spec"]["suspend"] is True
    live = [each for each in await here.workloads() if "Finished" not in conditions(each)]
    [left] = live
    assert "admission" not in left["status"]
    assert left["spec"]["podSets"][0]["count"] == 5


async def test_an_elastic_job_ends_with_its_slice(fleet: Fleet) -> None:
    here = await start(fleet)
    await here.move("Running")
    await here.move("Succeeded")
    workload = await here.workload()
    assert conditions(workload)["Finished"] == ("True", "Succeeded")
    assert "finalizers" not in workload["metadata"]
