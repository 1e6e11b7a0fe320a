"""Queues of a manager: their workloads hold quota here, and run on other clusters."""

from typing import Any

import pytest

from fleetqueue.api.kueue import admission_status as status_of
from fleetqueue.kube.errors import Invalid
from fleetqueue.kube.resources import Object
from fleetqueue.testing import Fleet
from support.kueue import (
    Kueue,
    admission_check,
    cluster_queue,
    flavor,
    local_queue,
    pod_set,
    workload,
)

HOST = "kubernetes.io/hostname"
MK = "multikueue"
K = "kueue.x-k8s.io"


async def manager(fleet: Fleet, **of_flavor: Any) -> Kueue:
    kueue = await Kueue.start(fleet)
    checks = {"admissionChecks": [{"name": MK}]}
    await kueue.create(
        flavor("default", **of_flavor),
        admission_check(MK, f"{K}/multikueue"),
        cluster_queue(quota="100", admissionChecksStrategy=checks),
        local_queue(),
    )
    await kueue.activate(MK)
    return kueue


def placed(name: str, request: Object | None) -> Object:
    sets = pod_set(count=2, cpu="1") | ({"topologyRequest": request} if request else {})
    return workload(name, sets=[sets])


async def assignment(kueue: Kueue, name: str) -> Object:
    [found] = (await kueue.workload(name))["status"]["admission"]["podSetAssignments"]
    return dict(found)


REQUESTS = {
    "required": {"required": HOST},
    "preferred": {"preferred": HOST},
    "nothing is asked for": None,
}


@pytest.mark.rule("TAS-1", "TAS-2", "TAS-3", "CQ-5")
@pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS.keys())
async def test_places_are_chosen_by_the_worker_alone(fleet: Fleet, request_: Object | None) -> None:
    kueue = await manager(fleet, nodeLabels={"pool": "tas"}, topologyName="nowhere-here")
    await kueue.create(placed("job", request_))
    assert (await kueue.queue())["status"]["conditions"][0]["reason"] == "Ready"
    before = await assignment(kueue, "job")
    assert before["delayedTopologyRequest"] == "Pending"
    assert "topologyAssignment" not in before

    await kueue.check("job", MK, "Ready")
    await fleet.passes(seconds=90)
    await fleet.settle()
    assert await assignment(kueue, "job") == before
    assert (await kueue.conditions("job"))["Admitted"] == (
        "False",
        "PendingDelayedTopologyRequests",
        "There are pending delayed topology requests",
    )
    assert "SecondPassFailed" not in {reason for _, reason, _ in await kueue.events("job")}

    found = await kueue.workload("job")
    admission = found["status"]["admission"]
    settled = [
        {**each, "delayedTopologyRequest": "Ready"} for each in admission["podSetAssignments"]
    ]
    made = {**admission, "podSetAssignments": settled}
    await kueue.write(status_of.changed(found, admission=made))
    assert await kueue.is_admitted("job")


async def claim(kueue: Kueue, name: str, cluster: str) -> None:
    for change in (
        {"nominatedClusterNames": [cluster]},
        {"nominatedClusterNames": None, "clusterName": cluster},
    ):
        await kueue.write(status_of.changed(await kueue.workload(name), **change))


def sliced(name: str, count: int, **annotations: str) -> Object:
    made = workload(name, sets=[pod_set(count=count, cpu="1")])
    notes = {f"{K}/elastic-job": "true", f"{K}/workload-slice-name": "first", **annotations}
    return {**made, "metadata": {**made["metadata"], "annotations": notes}}


@pytest.mark.rule("EL-2", "EL-9", "WLF-4")
async def test_a_slice_goes_where_the_one_is_whose_place_it_takes(fleet: Fleet) -> None:
    kueue = await manager(fleet)
    await kueue.create(sliced("first", 2))
    await claim(kueue, "first", "worker2")
    await kueue.check("first", MK, "Ready")
    assert await kueue.is_admitted("first")

    replaces = {f"{K}/workload-slice-replacement-for": "default/first"}
    await kueue.create(sliced("second", 4, **replaces))

    second = await kueue.workload("second")
    assert status_of.has_quota(second)
    assert second["status"]["clusterName"] == "worker2"
    assert not status_of.is_admitted(second)
    assert (await kueue.conditions("first"))["Finished"][1] == "WorkloadSliceReplaced"


@pytest.mark.rule("WLF-1")
async def test_a_cluster_is_given_up_but_never_changed(fleet: Fleet) -> None:
    kueue = await manager(fleet)
    await kueue.create(workload("job"))
    await claim(kueue, "job", "worker1")
    with pytest.raises(Invalid, match="clusterName is immutable once set"):
        await kueue.write(status_of.changed(await kueue.workload("job"), clusterName="worker2"))
    await kueue.write(status_of.changed(await kueue.workload("job"), clusterName=None))
    assert "clusterName" not in (await kueue.workload("job"))["status"]


@pytest.mark.rule("WLF-6")
async def test_what_was_admitted_stays_but_for_its_places(fleet: Fleet) -> None:
    kueue = await manager(fleet)
    await kueue.create(workload("job"))
    found = await kueue.workload("job")
    admission = found["status"]["admission"]
    other = [{**each, "count": 7} for each in admission["podSetAssignments"]]
    made = {**admission, "podSetAssignments": other}
    with pytest.raises(Exception, match=r"status.admission: Invalid value"):
        await kueue.write(status_of.changed(found, admission=made))
    later = [{**each, "delayedTopologyRequest": "Ready"} for each in admission["podSetAssignments"]]
    await kueue.write(status_of.changed(found, admission={**admission, "podSetAssignments": later}))
    assert (await assignment(kueue, "job"))["delayedTopologyRequest"] == "Ready"
