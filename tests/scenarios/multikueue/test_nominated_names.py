"""Names of workers that other controllers nominate, whoever they say they are."""

from typing import Any

import pytest

from fleetqueue.admission import kinds
from fleetqueue.api.kueue import admission_status as status_of
from fleetqueue.kube.errors import Invalid
from fleetqueue.kube.resources import Object
from fleetqueue.multikueue.rounds import round_started_of
from fleetqueue.testing import Fleet
from support.kueue import Kueue, admission_check, cluster_queue, flavor, local_queue, workload

pytestmark = [pytest.mark.rule("IMP-5"), pytest.mark.rule("DISP-32")]
MANAGERS = ["example-dispatcher", "kueue-admission"]


async def reserved(fleet: Fleet) -> Kueue:
    """A workload that holds quota and waits for its check."""
    kueue = await Kueue.start(fleet)
    checks = {"admissionChecks": [{"name": "multikueue"}]}
    await kueue.create(
        admission_check("multikueue", "kueue.x-k8s.io/multikueue"),
        flavor(),
        cluster_queue(admissionChecksStrategy=checks),
        local_queue(),
    )
    await kueue.activate("multikueue")
    await kueue.create(workload("w"))
    assert status_of.has_quota(await kueue.workload("w"))
    return kueue


async def nominate(kueue: Kueue, names: list[str], manager: str, how: str) -> None:
    """Somebody writes the names and nothing else, as they like."""
    status = {"status": {"nominatedClusterNames": names}}
    if how == "patch":
        await kueue.client.patch(
            kinds.WORKLOAD, "w", status, "default", subresource="status", field_manager=manager
        )
    else:
        known = await kueue.workload("w")
        body = {"apiVersion": known["apiVersion"], "kind": "Workload",
                "metadata": {"name": "w", "namespace": "default"}, **status}  # fmt: skip
        if manager == status_of.MANAGER:
            body = status_of.admission_patch(known, nominatedClusterNames=names)
        await kueue.client.apply(body, subresource="status", field_manager=manager, force=True)
    await kueue.fleet.settle()


async def write(kueue: Kueue, made: Object) -> Object:
    """As every controller of ours writes."""
    body = status_of.admission_patch(made)
    await kueue.client.apply(
        body, force=True, subresource="status", field_manager=status_of.MANAGER
    )
    await kueue.fleet.settle()
    return (await kueue.workload("w"))["status"]


async def claim(kueue: Kueue, worker: str) -> Object:
    known = await kueue.workload("w")
    return await write(
        kueue, status_of.changed(known, clusterName=worker, nominatedClusterNames=None)
    )


@pytest.mark.rule("WLF-2")
@pytest.mark.rule("DISP-35")
@pytest.mark.rule("S003-29")
@pytest.mark.parametrize("how", ["patch", "apply"])
@pytest.mark.parametrize("manager", MANAGERS)
async def test_a_worker_is_chosen_among_names_that_anybody_wrote(
    fleet: Fleet, manager: str, how: str
) -> None:
    kueue = await reserved(fleet)
    await nominate(kueue, ["w1", "w2"], manager, how)

    status = await claim(kueue, "w2")

    assert status["clusterName"] == "w2"
    assert not status.get("nominatedClusterNames")
    with pytest.raises(Invalid, match="mutually exclusive"):
        await nominate(kueue, ["w1"], "example-dispatcher", "patch")


@pytest.mark.rule("WLF-5")
@pytest.mark.parametrize("how", ["patch", "apply"])
@pytest.mark.parametrize("manager", MANAGERS)
async def test_an_eviction_clears_names_that_anybody_wrote(
    fleet: Fleet, manager: str, how: str
) -> None:
    kueue = await reserved(fleet)
    await nominate(kueue, ["w1"], manager, how)
    known = await kueue.workload("w")

    status = await write(
        kueue, status_of.evict(known, "Preempted", "for somebody else", fleet.clock.now())
    )

    assert not status.get("nominatedClusterNames")
    assert status_of.is_true({"status": status}, "Evicted")


@pytest.mark.rule("DISP-31")
@pytest.mark.parametrize("how", ["patch", "apply"])
async def test_after_names_were_cleared_their_writer_goes_on_as_before(
    fleet: Fleet, how: str
) -> None:
    kueue = await reserved(fleet)
    await nominate(kueue, ["w1"], "example-dispatcher", how)
    known = await kueue.workload("w")
    await write(kueue, status_of.evict(known, "Preempted", "x", fleet.clock.now()))

    await nominate(kueue, ["w2"], "example-dispatcher", how)

    assert (await kueue.workload("w"))["status"]["nominatedClusterNames"] == ["w2"]


@pytest.mark.rule("WLF-2")
async def test_without_taking_the_names_over_the_choice_would_be_refused(fleet: Fleet) -> None:
    kueue = await reserved(fleet)
    await nominate(kueue, ["w2"], "example-dispatcher", "apply")
    known = await kueue.workload("w")
    body: dict[str, Any] = status_of.admission_patch(
        status_of.changed(known, clusterName="w2", nominatedClusterNames=None)
    )
    assert body["status"].pop("nominatedClusterNames") == []

    with pytest.raises(Invalid, match="mutually exclusive"):
        await kueue.client.apply(
            body, force=True, subresource="status", field_manager=status_of.MANAGER
        )


@pytest.mark.rule("WLF-3")
@pytest.mark.parametrize("how", ["patch", "apply"])
async def test_a_worker_that_nobody_named_is_not_chosen(fleet: Fleet, how: str) -> None:
    kueue = await reserved(fleet)
    await nominate(kueue, ["w1"], "example-dispatcher", how)

    with pytest.raises(Exception, match="must be one of the nominatedClusterNames"):
        await claim(kueue, "w2")


@pytest.mark.rule("IMP-4")
@pytest.mark.parametrize("manager", MANAGERS)
async def test_the_workload_itself_tells_when_it_was_nominated(fleet: Fleet, manager: str) -> None:
    kueue = await reserved(fleet)
    assert round_started_of(await kueue.workload("w")) is None
    await fleet.passes(minutes=3)
    written = fleet.clock.now()

    await nominate(kueue, ["w1"], manager, "apply")
    await fleet.passes(minutes=3)

    started = round_started_of(await kueue.workload("w"))
    assert started is not None
    assert 0 <= (started - written).total_seconds() <= 1
