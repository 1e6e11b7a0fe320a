"""What was decided is carried out only while it is still so, and nobody waits for what is over."""

import asyncio
from typing import Any

import pytest
from tests.support.kueue import (
    API,
    Kueue,
    admission_check,
    cluster_queue,
    flavor,
    local_queue,
    pod_set,
    workload,
)
from tests.support.provisioned import Provisioned, checked, config
from tests.support.provisioned import check as provisioning_check
from tests.support.scheduled import start

from fleetqueue.admission import kinds
from fleetqueue.api.kueue import admission_status as status
from fleetqueue.kube.resources import Resource
from fleetqueue.provisioning.kinds import CONFIG
from fleetqueue.testing import Fleet

BLOCKS = "waitForPodsReady: {timeout: 5m, blockAdmission: true}\n"
SHARES = "admissionFairSharing: {usageHalfLifeTime: 10m, usageSamplingInterval: 1m}\n"
HOST = "kubernetes.io/hostname"
CHECK = "machines"


async def later(kueue: Kueue, seconds: float) -> None:
    await kueue.fleet.passes(seconds=seconds)
    await kueue.fleet.settle()


async def blocked(fleet: Fleet) -> Kueue:
    """The second waits until the pods of the first are ready."""
    kueue = await Kueue.start(fleet, config=BLOCKS)
    await kueue.create(
        flavor(),
        cluster_queue(quota="4"),
        cluster_queue("other", "1"),
        local_queue(),
        local_queue("other", "other"),
    )
    await kueue.create(workload("first", "1"))
    await kueue.create(workload("second", sets=[pod_set(count=1, cpu="1")]))
    assert await kueue.admitted() == ["first"]
    return kueue


async def many_pods(kueue: Kueue, name: str) -> dict[str, Any]:
    [only] = (await kueue.workload(name))["spec"]["podSets"]
    return {"spec": {"podSets": [{**only, "count": 30}]}}


# While others get their pods ready


@pytest.mark.rule("kueue 6.6", "kueue 5.7")
async def test_a_workload_that_asks_for_more_meanwhile_is_decided_anew(fleet: Fleet) -> None:
    kueue = await blocked(fleet)
    await kueue.patch(kinds.WORKLOAD, "second", await many_pods(kueue, "second"))
    await kueue.ready("first")
    await later(kueue, 5)
    assert await kueue.admitted() == ["first"]


async def test_a_workload_that_moves_meanwhile_gets_quota_where_it_is(fleet: Fleet) -> None:
    kueue = await blocked(fleet)
    await kueue.patch(kinds.WORKLOAD, "second", {"spec": {"queueName": "other"}})
    await kueue.ready("first")
    await later(kueue, 5)
    moved = await kueue.workload("second")
    assert moved["status"]["admission"]["clusterQueue"] == "other"


@pytest.mark.rule("kueue 3.11")
@pytest.mark.parametrize(
    ("kind", "name"),
    [(kinds.CLUSTER_QUEUE, "queue"), (kinds.LOCAL_QUEUE, "main")],
    ids=["ClusterQueue", "LocalQueue"],
)
async def test_a_queue_that_is_held_meanwhile_admits_nothing(
    fleet: Fleet, kind: Resource, name: str
) -> None:
    kueue = await blocked(fleet)
    await kueue.patch(kind, name, {"spec": {"stopPolicy": "Hold"}})
    await kueue.ready("first")
    await later(kueue, 5)
    assert await kueue.admitted() == ["first"]

    await kueue.patch(kind, name, {"spec": {"stopPolicy": "None"}})
    await later(kueue, 5)
    assert await kueue.admitted() == ["first", "second"]


async def test_quota_that_went_meanwhile_is_not_given_away(fleet: Fleet) -> None:
    kueue = await blocked(fleet)
    groups = cluster_queue(quota="1")["spec"]["resourceGroups"]
    await kueue.patch(kinds.CLUSTER_QUEUE, "queue", {"spec": {"resourceGroups": groups}})
    await kueue.ready("first")
    await later(kueue, 5)
    assert await kueue.admitted() == ["first"]


async def test_quota_that_somebody_else_took_meanwhile_is_not_given_twice(fleet: Fleet) -> None:
    kueue = await blocked(fleet)
    await kueue.create(workload("third", "4"))
    usage = {"flavors": {"cpu": "default"}, "resourceUsage": {"cpu": "3"}}
    admission = {
        "clusterQueue": "queue",
        "podSetAssignments": [{"name": "main", "count": 1, **usage}],
    }
    third = await kueue.workload("third")
    await kueue.write(status.reserve(third, admission, fleet.clock.now()))
    for name in ("first", "third"):
        await kueue.ready(name)
    await later(kueue, 5)
    assert await kueue.admitted() == ["first", "third"]


@pytest.mark.rule("kueue 3.7", "kueue 5.8")
async def test_places_are_found_while_others_are_blocked(fleet: Fleet) -> None:
    kueue = await Kueue.start(fleet, config=BLOCKS)
    labels = {HOST: "a", "pool": "tas"}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a", "labels": labels}}
    await kueue.client.create(node)
    ready = {
        "allocatable": {"cpu": "4", "pods": "10"},
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    await kueue.client.patch(kinds.NODE, "a", {"status": ready}, subresource="status")
    await kueue.patch(kinds.NODE, "a", {"spec": {"taints": None}})
    levels = {"levels": [{"nodeLabel": HOST}]}
    await kueue.create(
        {"apiVersion": API, "kind": "Topology", "metadata": {"name": "tree"}, "spec": levels},
        flavor("default", nodeLabels={"pool": "tas"}, topologyName="tree"),
        flavor("plain"),
        admission_check(CHECK, "kueue.x-k8s.io/provisioning-request"),
        cluster_queue(quota="100", admissionChecksStrategy={"admissionChecks": [{"name": CHECK}]}),
        local_queue(),
        cluster_queue("other", {"plain": {"cpu": "10"}}),
        local_queue("other", "other"),
    )
    await kueue.activate(CHECK)
    placed = {**pod_set(count=2, cpu="1"), "topologyRequest": {"required": HOST}}
    await kueue.create(workload("first", sets=[placed]))
    await kueue.create(workload("second", "1", "other"))
    await kueue.check("first", CHECK, "Ready")
    await later(kueue, 10)
    assert await kueue.is_admitted("first")
    assert not await kueue.is_admitted("second")


@pytest.mark.rule("kueue 7.8")
@pytest.mark.parametrize("change", [{"active": False}, {"queueName": "spare"}])
async def test_nobody_is_put_out_for_one_that_has_left_meanwhile(
    fleet: Fleet, change: dict[str, Any]
) -> None:
    kueue = await Kueue.start(fleet, config=BLOCKS.replace("5m", "50m"))
    strategy = {"admissionChecksStrategy": {"admissionChecks": [{"name": CHECK}]}}
    lower = {"preemption": {"withinClusterQueue": "LowerPriority"}}
    await kueue.create(
        flavor(),
        admission_check(CHECK, "example.com/check"),
        cluster_queue(quota="4", **strategy),
        local_queue(),
        cluster_queue("full", "1", **strategy, **lower),
        local_queue("full", "full"),
        cluster_queue("spare", "0"),
        local_queue("spare", "spare"),
    )
    await kueue.activate(CHECK)
    await kueue.create(workload("victim", "1", "full"))
    await kueue.check("victim", CHECK, "Ready")
    await kueue.ready("victim")
    await kueue.create(workload("first", "1"))
    await kueue.check("first", CHECK, "Ready")
    off = {"type": "Active", "status": "False", "reason": "x", "message": ""}
    since = {"lastTransitionTime": "2026-01-01T00:00:00Z"}
    patch = {"status": {"conditions": [{**off, **since}]}}
    await kueue.patch(kinds.ADMISSION_CHECK, CHECK, patch, "status")
    await kueue.create(
        workload("second", "1", priority=10), workload("third", "1", "full", priority=5)
    )
    await kueue.activate(CHECK)
    await kueue.patch(kinds.WORKLOAD, "third", {"spec": change})
    await kueue.ready("first")
    await later(kueue, 5)
    assert not status.is_evicted(await kueue.workload("victim"))


# While a reservation is written


@pytest.mark.rule("kueue 6.6")
async def test_no_quota_is_written_for_a_spec_that_has_changed(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    kueue = await Kueue.start(fleet)
    await kueue.create(flavor(), cluster_queue(quota="4"), local_queue())
    await kueue.create(workload("large", "4"))
    await kueue.create(workload("second", sets=[pod_set(count=2, cpu="1")]))
    patch = await many_pods(kueue, "second")
    writer = kueue.admission.scheduler._writer
    listed = writer._await_checks

    async def slowly(key: Any, queue: Any) -> None:
        if key.name == "second":
            await kueue.client.patch(kinds.WORKLOAD, "second", patch, "default")
            await asyncio.sleep(0.5)
        await listed(key, queue)

    monkeypatch.setattr(writer, "_await_checks", slowly)
    await kueue.finish("large")
    await later(kueue, 5)
    assert "second" not in await kueue.admitted()


# Who waits is tried when the one before it is gone


async def behind(fleet: Fleet) -> Kueue:
    """The small one could run if the large one did not come first."""
    kueue = await start(
        fleet,
        cluster_queue("a", "4", cohortName="all", queueingStrategy="StrictFIFO"),
        cluster_queue("b", "0", cohortName="all"),
        local_queue("a", "a"),
        local_queue("b", "b"),
    )
    for each in (workload("runs", "2", "a"), workload("large", "4", "a")):
        await kueue.create(each)
    await kueue.create(workload("small", "2", "b"))
    assert await kueue.admitted() == ["runs"]
    return kueue


@pytest.mark.rule("kueue 4.4")
@pytest.mark.parametrize("how", ["held", "deleted", "moved"])
async def test_a_head_goes_on_when_the_one_before_it_leaves_its_queue(
    fleet: Fleet, how: str
) -> None:
    kueue = await behind(fleet)
    if how == "held":
        await kueue.patch(kinds.LOCAL_QUEUE, "a", {"spec": {"stopPolicy": "Hold"}})
    elif how == "deleted":
        await kueue.delete(kinds.LOCAL_QUEUE, "a")
    else:
        elsewhere = cluster_queue("z", {"x": {"cpu": "1"}})
        await kueue.create(flavor("x"), elsewhere, local_queue("z", "z"))
        await kueue.patch(kinds.WORKLOAD, "large", {"spec": {"queueName": "z"}})
    await later(kueue, 10)
    assert await kueue.admitted() == ["runs", "small"]


@pytest.mark.rule("kueue 4.4")
@pytest.mark.parametrize("moved", ["ClusterQueue", "Cohort"])
async def test_who_leaves_a_tree_makes_room_in_it(fleet: Fleet, moved: str) -> None:
    parent = {"parentName": "root"}
    kueue = await start(
        fleet,
        {"apiVersion": API, "kind": "Cohort", "metadata": {"name": "left"}, "spec": parent},
        cluster_queue("a", "4", cohortName="root"),
        cluster_queue("b", "0", cohortName="left"),
        local_queue("a", "a"),
        local_queue("b", "b"),
    )
    await kueue.create(workload("borrows", "3", "b"))
    await kueue.create(workload("waits", "4", "a"))
    assert await kueue.admitted() == ["borrows"]
    if moved == "Cohort":
        await kueue.patch(kinds.COHORT, "left", {"spec": {"parentName": "elsewhere"}})
    else:
        await kueue.patch(kinds.CLUSTER_QUEUE, "b", {"spec": {"cohortName": "elsewhere"}})
    await later(kueue, 10)
    assert await kueue.admitted() == ["borrows", "waits"]


@pytest.mark.rule("kueue 4.10", "kueue 4.3")
async def test_who_comes_first_by_now_is_tried(fleet: Fleet) -> None:
    kueue = await Kueue.start(fleet, config=SHARES)
    scope = {"admissionMode": "UsageBasedAdmissionFairSharing"}
    await kueue.create(
        flavor(),
        cluster_queue(quota="4", queueingStrategy="StrictFIFO", admissionScope=scope),
        local_queue("a"),
        local_queue("b"),
    )
    await kueue.create(workload("past", "3", "b"))
    await later(kueue, 1200)
    await kueue.create(workload("runs", "1", "a"))
    await later(kueue, 61)
    await kueue.finish("past")
    await kueue.create(workload("large", "4", "a"))
    await kueue.create(workload("small", "2", "b"))
    assert await kueue.admitted() == ["runs"]
    await later(kueue, 7200)
    assert await kueue.admitted() == ["runs", "small"]


@pytest.mark.rule("kueue 12.2")
async def test_a_check_that_is_ready_keeps_what_it_said(fleet: Fleet) -> None:
    def updates(key: str) -> dict[str, Any]:
        return {"nodeSelector": [{"key": key, "valueFromProvisioningClassDetail": "pool"}]}

    kueue = await Provisioned.open(
        fleet,
        flavor(),
        config(podSetUpdates=updates("one")),
        config("second"),
        provisioning_check(),
        provisioning_check("prov2", "second"),
        cluster_queue(**checked("prov", "prov2")),
        local_queue(),
    )
    await kueue.create(workload("job"))
    details = {"pool": "x"}
    await kueue.answer("job-prov-1", "Provisioned", "ok", provisioningClassDetails=details)
    await kueue.patch(CONFIG, "config", {"spec": {"podSetUpdates": updates("two")}})
    await kueue.answer("job-prov2-1", "Provisioned", "ok")
    await kueue.passes(seconds=60)
    assert await kueue.is_admitted("job")
