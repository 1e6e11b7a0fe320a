"""A workload that tries several flavors at once: one variant for each, and one of them wins."""

from typing import Any

import pytest

from fleetqueue.admission import kinds
from fleetqueue.api.kueue import admission_status as status
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.kinds import JOB
from fleetqueue.testing import Fleet
from support import whole
from support.kueue import (
    Kueue,
    admission_check,
    cluster_queue,
    conditions_of,
    flavor,
    local_queue,
    pod_set,
    workload,
)

pytestmark = pytest.mark.rule("kueue 9.10")

GATES = {"ConcurrentAdmission": True}
FLAVORS = ("reserved", "spot")
LABEL = "kueue.x-k8s.io/concurrent-admission-parent"
ALLOWED = "kueue.x-k8s.io/workload-allowed-resource-flavors"
GATE = "kueue.x-k8s.io/concurrent-admission"
TRY = "TryPreferredFlavors"
RETAIN = "RetainFirstAdmission"


def queue(
    mode: str = TRY, last: str = "", quota: dict[str, str] | None = None, **spec: Any
) -> Object:
    migration: Object = {"mode": mode}
    if last:
        migration["constraints"] = {"lastAcceptableFlavorName": last}
    amounts = {name: {"cpu": cpu} for name, cpu in (quota or dict.fromkeys(FLAVORS, "4")).items()}
    return cluster_queue(
        "queue", amounts, concurrentAdmissionPolicy={"migration": migration}, **spec
    )


async def start(fleet: Fleet, made: Object, *objects: Object, config: str = "") -> Kueue:
    kueue = await Kueue.start(fleet, wanted_gates=GATES, config=config)
    names = [each["name"] for each in made["spec"]["resourceGroups"][0]["flavors"]]
    await kueue.create(*(flavor(name) for name in names), *objects, made, local_queue())
    return kueue


async def one_by_one(kueue: Kueue, *objects: Object) -> None:
    """Each a second after the one before: their order is by that."""
    for each in objects:
        await kueue.create(each)
        await kueue.fleet.passes(seconds=1)


async def variants(kueue: Kueue, parent: str = "job") -> dict[str, Object]:
    """By flavor."""
    found = (await kueue.client.list(kinds.WORKLOAD, "default")).items
    return {
        each["metadata"]["annotations"][ALLOWED]: dict(each)
        for each in found
        if any(owner["name"] == parent for owner in each["metadata"].get("ownerReferences") or ())
    }


async def name_of(kueue: Kueue, which: str, parent: str = "job") -> str:
    return str((await variants(kueue, parent))[which]["metadata"]["name"])


async def admitted(kueue: Kueue, parent: str = "job") -> list[str]:
    found = await variants(kueue, parent)
    return [name for name, each in found.items() if status.is_admitted(each)]


async def active(kueue: Kueue, parent: str = "job") -> list[str]:
    found = await variants(kueue, parent)
    return sorted(name for name, each in found.items() if each["spec"]["active"])


async def reasons(kueue: Kueue, name: str) -> list[str]:
    return [reason for _, reason, _ in await kueue.events(name)]


async def told(kueue: Kueue, name: str, reason: str) -> list[str]:
    return [text for _, each, text in await kueue.events(name) if each == reason]


# Parents and variants


@pytest.mark.rule("kueue 13.1")
async def test_p1_each_flavor_gets_a_variant(fleet: Fleet) -> None:
    kueue = await start(fleet, queue())

    await kueue.create(workload("job-sample-0a1b2", cpu="1", priority=7))

    parent = await kueue.workload("job-sample-0a1b2")
    assert parent["metadata"]["labels"] == {LABEL: "true"}
    found = await variants(kueue, "job-sample-0a1b2")
    assert sorted(found) == sorted(FLAVORS)
    for name, each in found.items():
        metadata, spec = each["metadata"], each["spec"]
        assert metadata["name"].startswith(f"job-sample-variant-{name}-")
        assert len(metadata["name"]) == len(f"job-sample-variant-{name}-12345")
        assert metadata["ownerReferences"] == [
            {
                "apiVersion": "kueue.x-k8s.io/v1beta2",
                "kind": "Workload",
                "name": "job-sample-0a1b2",
                "uid": parent["metadata"]["uid"],
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ]
        assert LABEL not in (metadata.get("labels") or {})
        assert spec["preemptionGates"] == [{"name": GATE}]
        assert (spec["podSets"], spec["priority"]) == (parent["spec"]["podSets"], 7)
    assert await told(kueue, "job-sample-0a1b2", "CreatedVariant") == [
        f'Variant Workload "default/{found[name]["metadata"]["name"]}" created' for name in FLAVORS
    ]


async def test_the_parent_is_neither_queued_nor_counted(fleet: Fleet) -> None:
    kueue = await start(fleet, queue(quota={"reserved": "1", "spot": "1"}))
    await one_by_one(kueue, workload("job", cpu="1"), workload("later", cpu="2"))

    assert await kueue.is_admitted("job")
    counted = (await kueue.queue())["status"]
    assert counted["admittedWorkloads"] == counted["reservingWorkloads"] == 1
    assert counted["pendingWorkloads"] == 2  # the variants of "later"
    used = {each["name"]: each["resources"][0]["total"] for each in counted["flavorsUsage"]}
    assert used == {"reserved": "1", "spot": "0"}
    local = await kueue.get(kinds.LOCAL_QUEUE, "main")
    assert local["status"]["admittedWorkloads"] == 1
    assert local["status"]["pendingWorkloads"] == 2


async def test_the_parent_has_what_its_variant_was_given(fleet: Fleet) -> None:
    kueue = await start(fleet, queue())
    await kueue.create(workload("job", cpu="3"))

    name = await name_of(kueue, "reserved")
    parent, variant = await kueue.workload("job"), await kueue.workload(name)
    assert parent["status"]["admission"] == variant["status"]["admission"]
    assert parent["status"]["admission"]["podSetAssignments"][0]["flavors"] == {"cpu": "reserved"}
    message = f"The variant {name} is admitted"
    conditions = conditions_of(parent)
    assert conditions["QuotaReserved"] == ("True", "QuotaReserved", message)
    assert conditions["Admitted"] == ("True", "Admitted", message)
    assert "admissionChecks" not in parent["status"]


async def test_without_a_policy_workloads_have_no_variants(fleet: Fleet) -> None:
    kueue = await Kueue.start(fleet, wanted_gates=GATES)
    await kueue.create(flavor(), cluster_queue(), local_queue(), workload("plain"))

    assert await variants(kueue, "plain") == {}
    assert "labels" not in (await kueue.workload("plain"))["metadata"]
    assert await kueue.admitted() == ["plain"]


async def test_with_the_gate_off_a_policy_means_nothing(fleet: Fleet) -> None:
    kueue = await Kueue.start(fleet)
    await kueue.create(*(flavor(name) for name in FLAVORS), queue(), local_queue(), workload("job"))

    assert await variants(kueue) == {}
    assert await kueue.admitted() == ["job"]


async def test_variants_come_and_go_with_the_flavors_of_the_queue(fleet: Fleet) -> None:
    made = queue(quota={"reserved": "0", "spot": "0"})
    kueue = await start(fleet, made, flavor("new"))
    await kueue.create(workload("job"))
    gone = await name_of(kueue, "spot")
    (group,) = made["spec"]["resourceGroups"]
    group["flavors"][1]["name"] = "new"

    await kueue.patch(kinds.CLUSTER_QUEUE, "queue", {"spec": {"resourceGroups": [group]}})

    assert sorted(await variants(kueue)) == ["new", "reserved"]
    assert await told(kueue, "job", "DeletedVariant") == [
        f'Variant Workload "default/{gone}" deleted; flavor "spot" no longer in ClusterQueue'
    ]


async def test_a_workload_that_was_there_first_becomes_a_parent(fleet: Fleet) -> None:
    kueue = await Kueue.start(fleet, wanted_gates=GATES)
    await kueue.create(workload("job"), *(flavor(name) for name in FLAVORS))

    await kueue.create(queue(), local_queue())

    assert sorted(await variants(kueue)) == sorted(FLAVORS)
    assert await admitted(kueue) == ["reserved"]


async def test_variants_go_with_their_parent(fleet: Fleet) -> None:
    kueue = await start(fleet, queue())
    await kueue.create(workload("job"))

    await kueue.delete(kinds.WORKLOAD, "job")

    assert (await kueue.client.list(kinds.WORKLOAD, "default")).items == []
    assert (await kueue.queue())["status"]["reservingWorkloads"] == 0


async def test_a_changed_parent_changes_its_variants(fleet: Fleet) -> None:
    kueue = await start(fleet, queue(quota={"reserved": "1", "spot": "1"}))
    await kueue.create(workload("job", cpu="2", priority=1))

    sets = [pod_set(cpu="1")]
    await kueue.patch(kinds.WORKLOAD, "job", {"spec": {"priority": 9, "podSets": sets}})

    assert await admitted(kueue) == ["reserved"]
    assert {each["spec"]["priority"] for each in (await variants(kueue)).values()} == {9}


@pytest.mark.rule("kueue 2.4")
async def test_variants_of_a_gated_parent_wait_until_the_gate_is_gone(fleet: Fleet) -> None:
    kueue = await start(fleet, queue())
    gated = workload("job")
    note = "kueue.x-k8s.io/admission-gated-by"
    gated["metadata"]["annotations"] = {note: "example.com/it"}
    await kueue.create(gated)
    assert await admitted(kueue) == []

    await kueue.patch(kinds.WORKLOAD, "job", {"metadata": {"annotations": {note: None}}})

    assert await admitted(kueue) == ["reserved"]


async def test_a_variant_that_somebody_deletes_is_made_again(fleet: Fleet) -> None:
    kueue = await start(fleet, queue(quota={"reserved": "0", "spot": "0"}))
    await kueue.create(workload("job"))

    await kueue.delete(kinds.WORKLOAD, await name_of(kueue, "spot"))

    assert sorted(await variants(kueue)) == sorted(FLAVORS)


# Which variants are active


async def test_the_first_admission_is_kept(fleet: Fleet) -> None:
    kueue = await start(fleet, queue(RETAIN, quota={"reserved": "2", "spot": "2", "last": "2"}))
    await one_by_one(kueue, workload("other", cpu="2"), workload("job", cpu="2"))
    assert await admitted(kueue) == ["spot"]
    assert await active(kueue) == ["spot"]
    name = await name_of(kueue, "spot")
    for each in ("reserved", "last"):
        assert await told(kueue, await name_of(kueue, each), "DeactivatedVariant") == [
            f"Variant Workload deactivated due to the admission of the variant {name}"
        ]

    await kueue.finish("other")

    assert await admitted(kueue) == ["spot"]


async def test_a_more_wanted_flavor_is_taken_when_it_is_free(fleet: Fleet) -> None:
    kueue = await start(fleet, queue(quota={"reserved": "2", "spot": "2", "last": "2"}))
    await one_by_one(kueue, workload("other", cpu="2"), workload("job", cpu="2"))
    assert await admitted(kueue) == ["spot"]
    assert await active(kueue) == ["reserved", "spot"]
    spot, reserved = await name_of(kueue, "spot"), await name_of(kueue, "reserved")

    await kueue.finish("other")

    uid = (await kueue.workload(reserved))["metadata"]["uid"]
    message = (
        f"Evicted to accommodate a workload (UID: {uid}) due to migration to more favorable "
        "resource flavor"
    )
    assert (await kueue.conditions(spot))["Evicted"] == ("True", "FlavorMigration", message)
    assert await told(kueue, spot, "EvictedDueToFlavorMigration") == [message]
    waits = (await kueue.conditions(reserved))["QuotaReserved"]
    assert waits[2].endswith(". Pending the migration of 1 workload(s)")
    evicted = (await kueue.conditions("job"))["Evicted"]
    assert evicted == ("True", "VariantEvicted", "Admitted variant was evicted")
    assert "EvictedDueToVariantEvicted" in await reasons(kueue, "job")
    assert status.has_quota(await kueue.workload(spot))

    await kueue.release("job")

    assert await admitted(kueue) == ["reserved"]
    assert await active(kueue) == ["reserved"]
    parent = await kueue.workload("job")
    assert status.is_admitted(parent)
    assert parent["status"]["admission"]["podSetAssignments"][0]["flavors"] == {"cpu": "reserved"}
    assert conditions_of(parent)["Evicted"] == (
        "False",
        "QuotaReserved",
        "Previously: Admitted variant was evicted",
    )


async def test_migration_ends_at_the_last_acceptable_flavor(fleet: Fleet) -> None:
    amounts = {"reserved": "2", "spot": "2", "last": "2"}
    kueue = await start(fleet, queue(TRY, "reserved", amounts))
    await one_by_one(kueue, *(workload(name, cpu="2") for name in ("one", "two", "job")))
    assert await admitted(kueue) == ["last"]
    assert await active(kueue) == ["last", "reserved"]
    assert await told(kueue, await name_of(kueue, "spot"), "DeactivatedVariant") == [
        "Variant Workload deactivated due to its flavor coming after the last acceptable flavor "
        "reserved"
    ]

    await kueue.finish("two")
    assert await admitted(kueue) == ["last"]
    await kueue.finish("one")
    await kueue.release("job")

    assert await admitted(kueue) == ["reserved"]


async def test_an_inactive_parent_has_inactive_variants(fleet: Fleet) -> None:
    kueue = await start(fleet, queue())
    await kueue.create(workload("job"))

    await kueue.patch(kinds.WORKLOAD, "job", {"spec": {"active": False}})

    assert await active(kueue) == []
    name = await name_of(kueue, "reserved")
    assert await told(kueue, name, "DeactivatedVariant") == [
        "Variant Workload deactivated due to the parent Workload being inactive"
    ]
    assert (await kueue.conditions("job"))["Evicted"][1] == "Deactivated"
    assert status.has_quota(await kueue.workload(name)), "until the job has stopped"
    assert (await kueue.queue())["status"]["reservingWorkloads"] == 0
    await kueue.release("job")
    assert not status.has_quota(await kueue.workload(name))
    assert (await kueue.queue())["status"]["reservingWorkloads"] == 0

    await kueue.patch(kinds.WORKLOAD, "job", {"spec": {"active": True}})

    assert await active(kueue) == ["reserved"]
    assert await told(kueue, name, "ActivatedVariant") == [
        "Variant Workload activated due to no variant being admitted"
    ]
    assert await kueue.is_admitted("job")


# What becomes of the parent, and of its variants


async def test_a_preempted_variant_stops_the_parent_and_goes_when_that_has_stopped(
    fleet: Fleet,
) -> None:
    preemption = {"withinClusterQueue": "LowerPriority"}
    made = queue(quota={"reserved": "2"}, preemption=preemption)
    kueue = await start(fleet, made)
    await one_by_one(kueue, workload("job", cpu="2"), workload("urgent", cpu="2", priority=100))
    name = await name_of(kueue, "reserved")

    assert (await kueue.conditions(name))["Evicted"][:2] == ("True", "Preempted")
    evicted = (await kueue.conditions("job"))["Evicted"]
    assert evicted == ("True", "VariantEvicted", "Admitted variant was evicted")
    assert await admitted(kueue, "urgent") == []

    await kueue.release("job")

    assert await admitted(kueue, "urgent") == ["reserved"]
    assert await kueue.is_admitted("urgent")
    assert not status.has_quota(await kueue.workload(name))
    assert (await kueue.conditions(name))["Requeued"][:2] == ("True", "Preempted")

    await kueue.finish("urgent")

    assert await kueue.is_admitted("job")


async def test_a_parent_without_a_running_variant_is_evicted(fleet: Fleet) -> None:
    made = queue()
    kueue = await start(fleet, made)
    await kueue.create(workload("job"))
    (group,) = made["spec"]["resourceGroups"]
    group["flavors"] = group["flavors"][1:]

    await kueue.patch(kinds.CLUSTER_QUEUE, "queue", {"spec": {"resourceGroups": [group]}})

    evicted = (await kueue.conditions("job"))["Evicted"]
    assert evicted == ("True", "ConcurrentAdmission", "No variant is running")
    assert "EvictedDueToConcurrentAdmission" in await reasons(kueue, "job")

    await kueue.release("job")

    assert await admitted(kueue) == ["spot"]
    assert await kueue.is_admitted("job")


async def test_readiness_is_copied_to_the_admitted_variant(fleet: Fleet) -> None:
    kueue = await start(fleet, queue())
    await kueue.create(workload("job"))

    await kueue.ready("job")

    ready = (await kueue.conditions(await name_of(kueue, "reserved")))["PodsReady"]
    assert ready == ("True", "Started", "as the job says")
    assert "PodsReady" not in await kueue.conditions(await name_of(kueue, "spot"))


async def test_a_finished_parent_finishes_its_variants(fleet: Fleet) -> None:
    kueue = await start(fleet, queue())
    await kueue.create(workload("job"))

    await kueue.finish("job")

    for each in (await variants(kueue)).values():
        assert conditions_of(each)["Finished"] == ("True", "Succeeded", "done")
    counted = (await kueue.queue())["status"]
    assert (counted["reservingWorkloads"], counted["pendingWorkloads"]) == (0, 0)


@pytest.mark.rule("kueue 3.7")
async def test_pods_that_are_not_ready_in_time_stop_the_parent_and_all_wait(fleet: Fleet) -> None:
    config = "waitForPodsReady: {timeout: 10s, requeuingStrategy: {backoffBaseSeconds: 60}}"
    kueue = await start(fleet, queue(), config=config)
    await kueue.create(workload("job"))
    name = await name_of(kueue, "reserved")

    await fleet.passes(seconds=11)
    await fleet.settle()

    message = "Exceeded the PodsReady timeout default/job"
    assert (await kueue.conditions("job"))["Evicted"] == ("True", "PodsReadyTimeout", message)
    assert (await kueue.conditions(name))["Evicted"] == ("True", "PodsReadyTimeout", message)
    await kueue.release("job")
    await fleet.passes(seconds=30)
    await fleet.settle()
    assert await admitted(kueue) == []
    assert not status.has_quota(await kueue.workload("job"))

    await fleet.passes(seconds=31)
    await fleet.settle()

    assert await admitted(kueue) == ["reserved"]
    assert await kueue.is_admitted("job")


@pytest.mark.rule("kueue 3.8")
async def test_the_maximum_execution_time_is_that_of_the_parent(fleet: Fleet) -> None:
    kueue = await start(fleet, queue())
    await kueue.create(workload("job", maximumExecutionTimeSeconds=60))

    await fleet.passes(seconds=61)
    await fleet.settle()

    reason = "DeactivatedDueToMaximumExecutionTimeExceeded"
    assert (await kueue.conditions("job"))["Evicted"][1] == reason
    name = await name_of(kueue, "reserved")
    assert (await kueue.conditions(name))["Evicted"][1] == "Deactivated"


@pytest.mark.rule("kueue 3.11")
async def test_a_drained_queue_stops_parent_and_variant_and_takes_them_back(fleet: Fleet) -> None:
    kueue = await start(fleet, queue())
    await kueue.create(workload("job"))
    name = await name_of(kueue, "reserved")

    await kueue.patch(kinds.CLUSTER_QUEUE, "queue", {"spec": {"stopPolicy": "HoldAndDrain"}})
    assert (await kueue.conditions("job"))["Evicted"][:2] == ("True", "ClusterQueueStopped")
    assert (await kueue.conditions(name))["Evicted"][:2] == ("True", "ClusterQueueStopped")
    await kueue.release("job")
    assert not status.has_quota(await kueue.workload(name))
    await kueue.patch(kinds.CLUSTER_QUEUE, "queue", {"spec": {"stopPolicy": "None"}})

    assert await kueue.is_admitted("job")


@pytest.mark.rule("kueue 3.9")
async def test_pods_that_need_nothing_more_free_quota_of_the_variant(fleet: Fleet) -> None:
    kueue = await start(fleet, queue(quota={"reserved": "4"}))
    await kueue.create(workload("job", sets=[pod_set(count=4, cpu="1")]))

    pods = {"status": {"reclaimablePods": [{"name": "main", "count": 3}]}}
    await kueue.patch(kinds.WORKLOAD, "job", pods, "status")

    (usage,) = (await kueue.queue())["status"]["flavorsUsage"]
    assert usage["resources"][0]["total"] == "1"


# Checks


def checked(mode: str = TRY) -> Object:
    checks = {"admissionChecks": [{"name": "check", "onFlavors": ["reserved"]}]}
    return queue(mode, admissionChecksStrategy=checks)


async def test_checks_are_for_variants_and_the_parent_has_none(fleet: Fleet) -> None:
    kueue = await start(fleet, checked(), admission_check("check", "example.com/it"))
    await kueue.activate("check")
    await kueue.create(workload("job"))

    reserved = await name_of(kueue, "reserved")
    assert status.has_quota(await kueue.workload(reserved))
    assert await admitted(kueue) == ["spot"]
    parent = await kueue.workload("job")
    assert "admissionChecks" not in parent["status"]

    await kueue.check(reserved, "check", "Ready")

    # Both are admitted now; the less wanted one has to go, and with it what runs.
    assert await active(kueue) == ["reserved"]
    assert (await kueue.conditions("job"))["Evicted"][1] == "VariantEvicted"
    await kueue.release("job")
    assert await admitted(kueue) == ["reserved"]
    assert (await kueue.workload("job"))["status"]["admission"] == (await kueue.workload(reserved))[
        "status"
    ]["admission"]


async def test_a_rejected_variant_stays_out_until_its_parent_is_activated_again(
    fleet: Fleet,
) -> None:
    made = checked()
    made["spec"]["resourceGroups"][0]["flavors"][1]["resources"][0]["nominalQuota"] = "0"
    kueue = await start(fleet, made, admission_check("check", "example.com/it"))
    await kueue.activate("check")
    await kueue.create(workload("job"))
    reserved = await name_of(kueue, "reserved")

    await kueue.check(reserved, "check", "Rejected", message="no")

    assert await active(kueue) == ["spot"]
    found = await kueue.workload(reserved)
    assert conditions_of(found)["Evicted"][1] == "DeactivatedDueToAdmissionCheck"
    assert not status.has_quota(found)

    await fleet.passes(seconds=1)
    await kueue.patch(kinds.WORKLOAD, "job", {"spec": {"active": False}})
    await kueue.patch(kinds.WORKLOAD, "job", {"spec": {"active": True}})

    assert await active(kueue) == ["reserved", "spot"]
    assert status.has_quota(await kueue.workload(reserved))


# Preemption


PREEMPTS = {"preemption": {"withinClusterQueue": "LowerPriority"}}
GATED = "Workload requires preemption, but it's gated"


@pytest.mark.rule("kueue 7.9")
async def test_the_most_wanted_variant_may_preempt_first(fleet: Fleet) -> None:
    kueue = await start(fleet, queue(quota={"reserved": "2", "spot": "2"}, **PREEMPTS))
    await one_by_one(kueue, workload("low-1", cpu="2"), workload("low-2", cpu="2"))

    await kueue.create(workload("high", cpu="2", priority=100))

    reserved, spot = [await name_of(kueue, each, "high") for each in FLAVORS]
    assert await positions(kueue, reserved, spot) == ["Open", "Closed"]
    assert await told(kueue, reserved, "AdmissionGated") == [GATED]
    assert await told(kueue, reserved, "PreemptionUngatedVariant") == [
        f'Variant Workload "default/{reserved}" may preempt others'
    ]
    assert await told(kueue, spot, "PreemptionUngatedVariant") == []
    one, two = await name_of(kueue, "reserved", "low-1"), await name_of(kueue, "spot", "low-2")
    assert (await kueue.conditions(one))["Evicted"][:2] == ("True", "Preempted")
    assert "Evicted" not in await kueue.conditions(two)

    await kueue.release("low-1")

    assert await admitted(kueue, "high") == ["reserved"]
    assert (await kueue.conditions(reserved))["BlockedOnPreemptionGates"] == (
        "False",
        "QuotaReserved",
        f"Previously: {GATED}",
    )
    assert "Evicted" not in await kueue.conditions(two)


async def test_a_variant_that_nobody_can_make_room_for_leaves_the_gate_to_the_next(
    fleet: Fleet,
) -> None:
    kueue = await start(fleet, queue(RETAIN, quota={"reserved": "2", "spot": "2"}, **PREEMPTS))
    await one_by_one(kueue, workload("equal", cpu="2", priority=100), workload("low", cpu="2"))

    await kueue.create(workload("high", cpu="2", priority=100))

    reserved, spot = [await name_of(kueue, each, "high") for each in FLAVORS]
    assert await positions(kueue, reserved, spot) == ["Closed", "Open"]
    await kueue.release("low")
    assert await admitted(kueue, "high") == ["spot"]
    assert await kueue.is_admitted("high")


async def positions(kueue: Kueue, *names: str) -> list[str]:
    found = [await kueue.workload(each) for each in names]
    return [each["status"]["preemptionGates"][0]["position"] for each in found]


# With its job


async def test_a_job_moves_to_the_flavor_that_its_variant_got(fleet: Fleet) -> None:
    config = "featureGates: {ConcurrentAdmission: true}"
    world = await whole.start(fleet, "team", config=config)
    labels = {name: {"pool": name} for name in FLAVORS}
    await world.create(
        *(flavor(name, nodeLabels=labels[name]) for name in FLAVORS),
        queue(quota={"reserved": "2", "spot": "2"}),
        local_queue(),
        job("first", "2"),
    )
    await world.passes(seconds=1)
    await world.create(job("second", "2"))
    assert await selector(world, "second") == {"pool": "spot"}

    await world.delete(JOB, "first")
    await world.passes(seconds=5)

    assert await selector(world, "second") == {"pool": "reserved"}
    found = (await world.client.list(kinds.WORKLOAD, "team")).items
    held = [each for each in found if status.has_quota(each) and not status.is_finished(each)]
    assert len(held) == 2  # the parent, and the variant whose quota it is


async def selector(world: whole.Whole, name: str) -> Object:
    spec = (await world.get(JOB, name))["spec"]
    assert spec["suspend"] is False
    return dict(spec["template"]["spec"].get("nodeSelector") or {})


def job(name: str, cpu: str) -> Object:
    template = pod_set(cpu=cpu)["template"]
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": "team",
            "labels": {"kueue.x-k8s.io/queue-name": "main"},
        },
        "spec": {"suspend": True, "template": template},
    }
