"""What queues, flavors, checks and workloads say of themselves, and when they may go."""

from dataclasses import replace
from datetime import timedelta

import pytest

from fleetqueue.admission import kinds
from fleetqueue.admission.settings import AdmissionSettings, read_settings
from fleetqueue.api.kueue import admission_status as status_of
from fleetqueue.api.kueue.config.types import Configuration
from fleetqueue.kube.errors import NotFound
from fleetqueue.kube.resources import Object, Resource
from fleetqueue.testing import Fleet
from support.kueue import (
    Kueue,
    admission_check,
    cluster_queue,
    conditions_of,
    flavor,
    local_queue,
    priority_class,
    workload,
)
from support.looking import Looking

pytestmark = pytest.mark.rule("kueue 13.5")

IT = "example.com/it"


async def start(fleet: Fleet, *objects: Object, settings: AdmissionSettings | None = None) -> Kueue:
    kueue = await Kueue.start(fleet, settings)
    await kueue.create(flavor(), *objects)
    return kueue


def checks(*names: str) -> Object:
    return {"admissionChecksStrategy": {"admissionChecks": [{"name": name} for name in names]}}


async def with_check(fleet: Fleet) -> Kueue:
    queue = cluster_queue(**checks("check"))
    kueue = await start(fleet, admission_check("check", IT), queue, local_queue())
    await kueue.activate("check")
    return kueue


async def active(kueue: Kueue, kind: Resource, name: str) -> tuple[str, str, str]:
    return conditions_of(await kueue.get(kind, name))["Active"]


async def is_gone(kueue: Kueue, kind: Resource, name: str) -> bool:
    try:
        await kueue.get(kind, name)
    except NotFound:
        return True
    return False


# Queues


@pytest.mark.rule("kueue 3.6", "kueue 6.6", "kueue 1.1")
async def test_one_that_is_switched_off_holds_nothing(fleet: Fleet) -> None:
    """Whether or not anybody takes its reservation back."""
    kueue = await start(fleet, cluster_queue(quota="1"), local_queue())
    await kueue.create(workload("one"))
    await kueue.create(workload("two"))
    assert await kueue.admitted() == ["one"]

    await kueue.patch(kinds.WORKLOAD, "one", {"spec": {"active": False}})

    await fleet.passes(seconds=2)
    assert "two" in await kueue.admitted()
    assert (await kueue.queue())["status"]["reservingWorkloads"] == 1


@pytest.mark.rule("kueue 2.4", "kueue 10.3")
async def test_a_gate_that_nobody_honors_keeps_nobody_out(fleet: Fleet) -> None:
    settings = read_settings(Configuration(feature_gates={"AdmissionGatedBy": False}))
    kueue = await start(fleet, cluster_queue(), local_queue(), settings=settings)
    gated = workload("gated")
    gated["metadata"]["annotations"] = {"kueue.x-k8s.io/admission-gated-by": "a.io/x"}
    await kueue.create(gated)
    assert await kueue.admitted() == ["gated"]


@pytest.mark.rule("kueue 1.1", "kueue 1.4")
@pytest.mark.parametrize(
    ("kind", "name"), [(kinds.CLUSTER_QUEUE, "queue"), (kinds.RESOURCE_FLAVOR, "default")]
)
async def test_what_keeps_a_queue_or_flavor_is_put_back(
    fleet: Fleet, kind: Resource, name: str
) -> None:
    kueue = await start(fleet, cluster_queue())
    await kueue.patch(kind, name, {"metadata": {"finalizers": None}})
    found = await kueue.get(kind, name)
    assert found["metadata"]["finalizers"] == ["kueue.x-k8s.io/resource-in-use"]


@pytest.mark.rule("kueue 1.1")
async def test_cc1_a_queue_counts_its_workloads(fleet: Fleet) -> None:
    kueue = await start(
        fleet,
        cluster_queue(quota="2", cohortName="all"),
        cluster_queue("lender", "2", cohortName="all"),
        local_queue(),
    )

    async def counted() -> tuple[int, int, int, tuple[str, str], tuple[str, str]]:
        status = (await kueue.queue())["status"]
        [reserved], [used] = (
            status[name][0]["resources"] for name in ("flavorsReservation", "flavorsUsage")
        )
        return (
            status["pendingWorkloads"],
            status["reservingWorkloads"],
            status["admittedWorkloads"],
            (reserved["total"], reserved["borrowed"]),
            (used["total"], used["borrowed"]),
        )

    assert await counted() == (0, 0, 0, ("0", "0"), ("0", "0"))
    await kueue.create(workload("one", "3"), workload("two", "2"))
    assert await counted() == (1, 1, 1, ("3", "1"), ("3", "1"))
    await kueue.finish("one")
    assert await counted() == (0, 1, 1, ("2", "0"), ("2", "0"))
    await kueue.delete(kinds.WORKLOAD, "two")
    assert await counted() == (0, 0, 0, ("0", "0"), ("0", "0"))


@pytest.mark.rule("kueue 4.6")
async def test_cc2_a_queue_lists_what_it_lacks(fleet: Fleet) -> None:
    quota = {"b": {"cpu": "1"}, "a": {"cpu": "1"}}
    kueue = await start(fleet, cluster_queue(quota=quota, **checks("y", "x")), local_queue())
    say = "Can't admit new workloads: "
    no_checks = "references missing AdmissionCheck(s): x,y"

    async def told() -> tuple[str, str]:
        status, reason, message = await active(kueue, kinds.CLUSTER_QUEUE, "queue")
        assert status == "False"
        return reason, message.removeprefix(say)

    missing = f"references missing ResourceFlavor(s): b,a, {no_checks}."
    assert await told() == ("FlavorNotFound", missing)
    await kueue.create(flavor("b"), flavor("a"))
    assert await told() == ("AdmissionCheckNotFound", f"{no_checks}.")
    await kueue.create(admission_check("x", IT), admission_check("y", IT))
    assert await told() == (
        "AdmissionCheckInactive",
        "references inactive AdmissionCheck(s): x,y.",
    )
    await kueue.activate("x")
    assert (await told())[1] == "references inactive AdmissionCheck(s): y."
    await kueue.activate("y")
    ready = ("True", "Ready", "Can admit new workloads")
    assert await active(kueue, kinds.CLUSTER_QUEUE, "queue") == ready


@pytest.mark.rule("kueue 1.1")
async def test_cc3_a_deleted_queue_waits_for_admitted_workloads_alone(fleet: Fleet) -> None:
    kueue = await with_check(fleet)
    await kueue.create(
        cluster_queue("plain"), local_queue("plain", "plain"), workload("runs", queue="plain")
    )
    await kueue.create(workload("reserved"))
    assert (await kueue.conditions("reserved"))["QuotaReserved"][0] == "True"

    await kueue.delete(kinds.CLUSTER_QUEUE, "queue")
    await kueue.delete(kinds.CLUSTER_QUEUE, "plain")
    await fleet.passes(seconds=2)
    await fleet.settle()

    assert await is_gone(kueue, kinds.CLUSTER_QUEUE, "queue")
    told = (await kueue.conditions("reserved"))["QuotaReserved"]
    assert told[:2] == ("False", "Misconfigured")
    assert (await active(kueue, kinds.CLUSTER_QUEUE, "plain"))[1] == "Terminating"
    assert (await active(kueue, kinds.LOCAL_QUEUE, "plain"))[0] == "False"

    await kueue.finish("runs")
    await fleet.passes(seconds=2)
    await fleet.settle()
    assert await is_gone(kueue, kinds.CLUSTER_QUEUE, "plain")


@pytest.mark.rule("kueue 4.7")
@pytest.mark.rule("kueue 1.2")
async def test_cc4_a_local_queue_follows_its_queue(fleet: Fleet) -> None:
    kueue = await start(fleet, local_queue())
    cannot = "Can't submit new workloads to clusterQueue"

    async def told() -> tuple[str, str, str]:
        return await active(kueue, kinds.LOCAL_QUEUE, "main")

    assert await told() == ("False", "ClusterQueueDoesNotExist", cannot)
    await kueue.create(cluster_queue(quota={"later": {"cpu": "4"}}))
    assert await told() == ("False", "ClusterQueueIsInactive", cannot)
    await kueue.create(flavor("later"))
    assert await told() == ("True", "Ready", "Can submit new workloads to localQueue")

    await kueue.create(workload("runs", "3"), workload("waits", "2"))
    await fleet.passes(seconds=1.1)
    status = (await kueue.get(kinds.LOCAL_QUEUE, "main"))["status"]
    names = ("pendingWorkloads", "reservingWorkloads", "admittedWorkloads")
    assert [status[name] for name in names] == [1, 1, 1]
    amounts = [{"name": "later", "resources": [{"name": "cpu", "total": "3"}]}]
    assert status["flavorsReservation"] == status["flavorsUsage"] == amounts


@pytest.mark.rule("kueue 1.1")
async def test_what_waited_in_a_local_queue_that_is_gone_waits_in_no_queue(fleet: Fleet) -> None:
    kueue = await start(fleet, cluster_queue(), local_queue(), workload("runs", "4"))
    await kueue.create(workload("waits"))
    assert (await kueue.queue())["status"]["pendingWorkloads"] == 1

    await kueue.delete(kinds.LOCAL_QUEUE, "main")

    assert (await kueue.queue())["status"]["pendingWorkloads"] == 0
    assert await kueue.is_admitted("runs")


@pytest.mark.rule("kueue 1.4")
@pytest.mark.rule("kueue 1.6")
async def test_cc5_what_a_queue_uses_stays(fleet: Fleet) -> None:
    kueue = await with_check(fleet)
    await kueue.delete(kinds.RESOURCE_FLAVOR, "default")
    await kueue.delete(kinds.ADMISSION_CHECK, "check")
    assert not await is_gone(kueue, kinds.RESOURCE_FLAVOR, "default")
    assert not await is_gone(kueue, kinds.ADMISSION_CHECK, "check")

    await kueue.delete(kinds.CLUSTER_QUEUE, "queue")

    assert await is_gone(kueue, kinds.RESOURCE_FLAVOR, "default")
    assert await is_gone(kueue, kinds.ADMISSION_CHECK, "check")


# Workloads


@pytest.mark.rule("kueue 3.2")
async def test_cc6_a_workload_says_why_it_waits(fleet: Fleet) -> None:
    kueue = await start(
        fleet,
        cluster_queue(),
        cluster_queue("stopped", stopPolicy="Hold"),
        local_queue("held", stopPolicy="Hold"),
        local_queue("to-stopped", "stopped"),
        local_queue("to-nowhere", "nowhere"),
        local_queue(),
    )
    await kueue.create(
        *(workload(name, queue=name) for name in ("lost", "held", "to-stopped", "to-nowhere")),
        workload("off", active=False),
    )

    told = {
        name: (await kueue.conditions(name))["QuotaReserved"]
        for name in ("lost", "to-nowhere", "held", "to-stopped", "off")
    }
    assert told == {
        "lost": ("False", "Misconfigured", "LocalQueue lost doesn't exist"),
        "to-nowhere": ("False", "Misconfigured", "ClusterQueue nowhere doesn't exist"),
        "held": ("False", "Suspended", "LocalQueue held is inactive"),
        "to-stopped": ("False", "Suspended", "ClusterQueue stopped is inactive"),
        "off": ("False", "Deactivated", "The workload is deactivated"),
    }


@pytest.mark.rule("kueue 3.2")
async def test_a_local_queue_that_is_being_deleted_holds_no_quota(fleet: Fleet) -> None:
    """Somebody's finalizer keeps it; what is not admitted gives its quota back at once."""
    kueue = await with_check(fleet)
    leaving = local_queue("leaving")
    leaving["metadata"]["finalizers"] = ["example.com/kept"]
    await kueue.create(leaving, workload("runs", queue="leaving"))
    await kueue.check("runs", "check", "Ready")
    await kueue.create(workload("reserved", queue="leaving"))

    await kueue.delete(kinds.LOCAL_QUEUE, "leaving")
    await fleet.passes(seconds=2)
    await fleet.settle()

    assert await kueue.is_admitted("runs")
    told = (await kueue.conditions("reserved"))["QuotaReserved"]
    assert told == ("False", "Suspended", "LocalQueue leaving is inactive")


@pytest.mark.rule("kueue 3.3")
async def test_cc7_checks_follow_the_queue(fleet: Fleet) -> None:
    kueue = await start(
        fleet,
        *(admission_check(name, IT) for name in ("a", "b", "c")),
        cluster_queue(stopPolicy="Hold", **checks("a", "b")),
        local_queue(),
    )
    await kueue.create(workload("waits"))
    await kueue.check("waits", "b", "Ready", message="done")

    async def states() -> list[tuple[str, str]]:
        found = (await kueue.workload("waits"))["status"]["admissionChecks"]
        return [(each["name"], each["state"]) for each in found]

    assert await states() == [("a", "Pending"), ("b", "Ready")]
    await kueue.patch(kinds.CLUSTER_QUEUE, "queue", {"spec": checks("c", "b")})
    assert await states() == [("b", "Ready"), ("c", "Pending")]


@pytest.mark.rule("kueue 3.3")
@pytest.mark.rule("kueue 3.13")
@pytest.mark.parametrize("was_admitted", [False, True])
async def test_cc8_a_rejected_check_deactivates(fleet: Fleet, was_admitted: bool) -> None:
    kueue = await with_check(fleet)
    await kueue.create(workload("checked"))
    if was_admitted:
        await kueue.check("checked", "check", "Ready")
    assert await kueue.is_admitted("checked") is was_admitted

    await kueue.check("checked", "check", "Rejected", message="no")

    found, told = await kueue.workload("checked"), await kueue.conditions("checked")
    assert found["spec"]["active"] is False
    why = 'AdmissionCheck in Rejected state: "check" (no)'
    message = f"The workload is deactivated due to {why}"
    assert told["Evicted"] == ("True", "DeactivatedDueToAdmissionCheck", message)
    [check] = found["status"]["admissionChecks"]
    assert check["message"] == "Reset to Pending after eviction. Previously: Rejected"
    assert ("Warning", "AdmissionCheckRejected", f"Deactivated due to {why}") in (
        await kueue.events("checked")
    )
    measured = await Looking(kueue).metrics()
    labels = {
        "cluster_queue": "queue",
        "reason": "Deactivated",
        "underlying_cause": "AdmissionCheck",
    }
    assert measured.value("evicted_workloads_total", **labels) == 1


@pytest.mark.rule("kueue 3.4")
async def test_what_a_check_said_of_pods_is_gone_with_the_eviction(fleet: Fleet) -> None:
    """Though its controller, not we, had written it."""
    kueue = await with_check(fleet)
    await kueue.create(workload("job"))
    await kueue.check(
        "job", "check", "Ready", podSetUpdates=[{"name": "main", "labels": {"a": "b"}}]
    )
    assert await kueue.is_admitted("job")

    await kueue.patch(kinds.WORKLOAD, "job", {"spec": {"active": False}})
    [reset] = (await kueue.workload("job"))["status"]["admissionChecks"]
    assert (reset["state"], reset["podSetUpdates"]) == ("Pending", [])

    await kueue.release("job")
    [left] = (await kueue.workload("job"))["status"]["admissionChecks"]
    assert sorted(left) == ["lastTransitionTime", "message", "name", "state"]


@pytest.mark.rule("kueue 1.6")
async def test_cc9_a_class_that_changes_changes_its_workloads(fleet: Fleet) -> None:
    kueue = await start(fleet, cluster_queue(), local_queue(), priority_class("urgent", 5))
    of_class = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "urgent"}
    await kueue.create(
        workload("runs", "4", priority=5, priorityClassRef=of_class),
        workload("waits", "4", priority=5, priorityClassRef=of_class),
        workload("plain", "4", priority=7),
    )

    await kueue.patch(kinds.WORKLOAD_PRIORITY_CLASS, "urgent", {"value": 9})

    priorities = [
        (await kueue.workload(name))["spec"]["priority"] for name in ("runs", "waits", "plain")
    ]
    assert priorities == [9, 9, 7]
    await kueue.finish("runs")
    assert await kueue.admitted() == ["waits"]


@pytest.mark.rule("kueue 3.8")
async def test_cc10_time_is_counted_over_all_admissions(fleet: Fleet) -> None:
    kueue = await start(fleet, cluster_queue(), local_queue())
    await kueue.create(
        workload("once", maximumExecutionTimeSeconds=20),
        workload("twice", maximumExecutionTimeSeconds=30),
    )
    await fleet.passes(seconds=10)
    await kueue.patch(kinds.WORKLOAD, "twice", {"spec": {"active": False}})
    await kueue.stop_evicted()
    spent = (await kueue.workload("twice"))["status"]["accumulatedPastExecutionTimeSeconds"]
    assert 10 <= spent <= 13
    await kueue.patch(kinds.WORKLOAD, "twice", {"spec": {"active": True}})
    assert await kueue.admitted() == ["once", "twice"]

    await fleet.passes(seconds=12)
    await fleet.settle()
    assert (await kueue.workload("once"))["spec"]["active"] is False
    assert (await kueue.workload("twice"))["spec"]["active"] is True
    await fleet.passes(seconds=10)
    await fleet.settle()
    told = await kueue.conditions("twice")
    assert told["Evicted"][1] == "DeactivatedDueToMaximumExecutionTimeExceeded"
    assert "accumulatedPastExecutionTimeSeconds" not in (await kueue.workload("twice"))["status"]


@pytest.mark.rule("kueue 3.10")
async def test_cc11_a_finished_workload_is_kept_for_a_while(fleet: Fleet) -> None:
    defaults = AdmissionSettings()
    life = replace(defaults.life, after_finished=timedelta(minutes=1))
    kueue = await start(
        fleet, cluster_queue(), local_queue(), settings=replace(defaults, life=life)
    )
    await kueue.create(workload("done"), workload("runs"))
    await kueue.finish("done")
    await fleet.passes(seconds=55)
    assert not await is_gone(kueue, kinds.WORKLOAD, "done")

    await fleet.passes(seconds=6)
    await fleet.settle()

    assert await is_gone(kueue, kinds.WORKLOAD, "done")
    gone = ("Normal", "Deleted", "Deleted finished workload due to elapsed retention")
    assert gone in await kueue.events("done")
    assert await kueue.admitted() == ["runs"]


@pytest.mark.rule("kueue 3.4")
async def test_cc12_deactivation_forgets_retries(fleet: Fleet) -> None:
    kueue = await start(fleet, cluster_queue(), local_queue())
    await kueue.create(workload("slow"))
    await fleet.passes(minutes=31)
    await kueue.stop_evicted()
    assert (await kueue.workload("slow"))["status"]["requeueState"]["count"] == 1

    await kueue.patch(kinds.WORKLOAD, "slow", {"spec": {"active": False}})

    assert "requeueState" not in (await kueue.workload("slow"))["status"]


@pytest.mark.rule("kueue 3.4", "kueue 3.6")
async def test_deactivation_forgets_retries_that_somebody_else_wrote(fleet: Fleet) -> None:
    kueue = await start(fleet, cluster_queue(), local_queue())
    await kueue.create(workload("runs", "4"), workload("waits"))
    retries = {"requeueState": {"count": 5, "requeueAt": "2026-01-01T01:00:00Z"}}
    await kueue.patch(kinds.WORKLOAD, "waits", {"status": retries}, "status")

    await kueue.patch(kinds.WORKLOAD, "waits", {"spec": {"active": False}})

    assert "requeueState" not in (await kueue.workload("waits"))["status"]
    told = (await kueue.conditions("waits"))["QuotaReserved"]
    assert told == ("False", "Deactivated", "The workload is deactivated")


@pytest.mark.rule("kueue 3.11")
async def test_quota_that_somebody_else_gave_is_taken_back_whole(fleet: Fleet) -> None:
    kueue = await with_check(fleet)
    await kueue.create(local_queue("held", stopPolicy="Hold"), workload("job", queue="held"))
    found = await kueue.workload("job")
    usage = {"flavors": {"cpu": "default"}, "resourceUsage": {"cpu": "1"}}
    given = {"clusterQueue": "queue", "podSetAssignments": [{"name": "main", "count": 1, **usage}]}
    made = status_of.reserve(found, given, fleet.clock.now(), checks=["missing"])
    await kueue.patch(kinds.WORKLOAD, "job", {"status": made["status"]}, "status")

    found = await kueue.workload("job")
    assert conditions_of(found)["QuotaReserved"][:2] == ("False", "Suspended")
    assert "admission" not in found["status"]


@pytest.mark.rule("kueue 3.5")
async def test_a_time_to_wait_for_is_cleared_whoever_wrote_it(fleet: Fleet) -> None:
    kueue = await start(fleet, cluster_queue(), local_queue())
    await kueue.create(workload("runs", "4"), workload("waits"))
    retries = {"requeueState": {"count": 5, "requeueAt": "2026-01-01T00:01:00Z"}}
    await kueue.patch(kinds.WORKLOAD, "waits", {"status": retries}, "status")
    await fleet.passes(minutes=2)
    assert (await kueue.workload("waits"))["status"]["requeueState"] == {"count": 5}
    await kueue.finish("runs")
    await fleet.passes(seconds=2)
    assert await kueue.is_admitted("waits")
