"""Workloads come, wait for quota, get it, and leave it to the next."""

import pytest

from fleetqueue.testing import Fleet
from support.kueue import Kueue, cluster_queue, flavor, local_queue, workload


async def one_queue(fleet: Fleet, quota: str = "4") -> Kueue:
    kueue = await Kueue.start(fleet)
    await kueue.create(flavor(), cluster_queue(quota=quota), local_queue())
    return kueue


@pytest.mark.rule("kueue 3.3")
async def test_a_workload_that_fits_is_admitted_at_once(fleet: Fleet) -> None:
    kueue = await one_queue(fleet)

    await kueue.create(workload("small", cpu="3"))

    told = await kueue.conditions("small")
    assert told["QuotaReserved"] == (
        "True",
        "QuotaReserved",
        "Quota reserved in ClusterQueue queue",
    )
    assert told["Admitted"] == ("True", "Admitted", "The workload is admitted")
    found = await kueue.workload("small")
    assert found["status"]["admission"] == {
        "clusterQueue": "queue",
        "podSetAssignments": [
            {
                "name": "main",
                "count": 1,
                "flavors": {"cpu": "default"},
                "resourceUsage": {"cpu": "3"},
            }
        ],
    }
    assert await kueue.events("small") == [
        (
            "Normal",
            "QuotaReserved",
            "Quota reserved in ClusterQueue queue, wait time since queued was 0s",
        ),
        (
            "Normal",
            "Admitted",
            "Admitted by ClusterQueue queue, wait time since reservation was 0s",
        ),
    ]


@pytest.mark.rule("kueue 5.9")
async def test_one_that_does_not_fit_waits_until_another_finishes(fleet: Fleet) -> None:
    kueue = await one_queue(fleet)
    await kueue.create(workload("first", cpu="3"), workload("second", cpu="3"))

    message = (
        "couldn't assign flavors to pod set main: "
        "insufficient unused quota for cpu in flavor default, 2 more needed"
    )
    told = await kueue.conditions("second")
    assert told["QuotaReserved"] == ("False", "WaitingForQuota", message)
    assert told["Admitted"] == ("False", "NoReservation", "The workload has no reservation")
    found = await kueue.workload("second")
    assert found["status"]["resourceRequests"] == [{"name": "main", "resources": {"cpu": "3"}}]
    queue = await kueue.queue()
    assert queue["status"]["pendingWorkloads"] == 1

    await kueue.finish("first")

    assert await kueue.admitted() == ["second"]
    found = await kueue.workload("second")
    assert "resourceRequests" not in found["status"]


@pytest.mark.rule("kueue 3.3")
async def test_one_that_is_admitted_at_once_did_not_wait_since_its_reservation(
    fleet: Fleet,
) -> None:
    kueue = await one_queue(fleet)
    await fleet.passes(seconds=(0.9 - fleet.clock.now().microsecond / 1e6) % 1)

    await kueue.create(workload("late", cpu="1"))

    text = "Admitted by ClusterQueue queue, wait time since reservation was 0s"
    assert ("Normal", "Admitted", text) in await kueue.events("late")
