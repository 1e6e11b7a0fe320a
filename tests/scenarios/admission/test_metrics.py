"""What is measured while workloads come, wait, run and go."""

from dataclasses import replace

import pytest

from fleetqueue.admission import kinds
from fleetqueue.admission.metric_settings import MetricSettings
from fleetqueue.admission.settings import AdmissionSettings
from fleetqueue.api import selectors
from fleetqueue.api.kueue import admission_status as status
from fleetqueue.queueing.settings import FairSharing
from fleetqueue.testing import Fleet
from support.kueue import Kueue, cluster_queue, cohort, flavor, local_queue, workload
from support.looking import Looking

pytestmark = pytest.mark.rule("kueue 11.2")
EVERYTHING = AdmissionSettings(metrics=MetricSettings(tells_quota=True))


async def looking(fleet: Fleet, settings: AdmissionSettings = EVERYTHING) -> Looking:
    kueue = await Kueue.start(fleet, settings)
    await kueue.create(flavor(), cluster_queue(quota="4"), local_queue())
    return Looking(kueue)


async def test_m1_a_queue_is_measured_until_it_is_deleted(fleet: Fleet) -> None:
    seen = await looking(fleet)
    await seen.kueue.create(workload("one", cpu="500m"))

    told = await seen.metrics()
    queue = {"cluster_queue": "queue"}
    local = {"name": "main", "namespace": "default"}
    quota = {"flavor": "default", "resource": "cpu"}
    for name, labels, value in (
        ("admission_attempts_total", {"result": "success"}, 1),
        ("pending_workloads", {**queue, "status": "active"}, 0),
        ("pending_workloads", {**queue, "status": "inadmissible"}, 0),
        ("quota_reserved_workloads_total", {**queue, "priority_class": ""}, 1),
        ("quota_reserved_wait_time_seconds_count", queue, 1),
        ("admitted_workloads_total", queue, 1),
        ("admission_wait_time_seconds_count", queue, 1),
        ("reserving_active_workloads", queue, 1),
        ("admitted_active_workloads", queue, 1),
        ("cluster_queue_status", {**queue, "status": "active"}, 1),
        ("cluster_queue_status", {**queue, "status": "pending"}, 0),
        ("cluster_queue_info", {**queue, "parent_cohort": "", "root_cohort": ""}, 1),
        ("cluster_queue_resource_reservation", {**queue, **quota, "cohort": ""}, 0.5),
        ("cluster_queue_resource_usage", {**queue, **quota}, 0.5),
        ("cluster_queue_nominal_quota", {**queue, **quota}, 4),
        ("cluster_queue_borrowing_limit", {**queue, **quota}, float("inf")),
        ("cluster_queue_lending_limit", {**queue, **quota}, float("inf")),
        ("cluster_queue_resource_pending", {**queue, "resource": "cpu"}, 0),
        ("local_queue_pending_workloads", {**local, "status": "active"}, 0),
        ("local_queue_quota_reserved_workloads_total", local, 1),
        ("local_queue_admitted_workloads_total", local, 1),
        ("local_queue_admission_wait_time_seconds_count", local, 1),
        ("local_queue_reserving_active_workloads", local, 1),
        ("local_queue_admitted_active_workloads", local, 1),
        ("local_queue_status", {**local, "active": "True"}, 1),
        ("local_queue_resource_usage", {**local, **quota}, 0.5),
    ):
        assert told.value(name, **labels) == value, name
    assert told.value("admission_checks_wait_time_seconds_count", **queue) is None
    assert all(
        labels["replica_role"] == "standalone"
        for name, series in told.items()
        for labels, _ in series
        if name.startswith("kueue_") and name != "kueue_build_info"
    )

    await seen.kueue.finish("one")
    await seen.kueue.delete(kinds.CLUSTER_QUEUE, "queue")
    await fleet.passes(seconds=2)
    await fleet.settle()

    told = await seen.metrics()
    assert told.of(**queue) == set()
    assert told.value("admission_attempts_total", result="success") == 1
    left = told.of(**local)
    assert "local_queue_admitted_workloads_total" in left
    assert "local_queue_reserving_active_workloads" not in left
    assert "local_queue_admitted_active_workloads" not in left
    assert told.value("local_queue_pending_workloads", **local, status="active") == 0
    assert told.value("local_queue_status", **local, active="False") == 1

    await seen.kueue.delete(kinds.LOCAL_QUEUE, "main")
    assert (await seen.metrics()).of(**local) == set()


async def test_controllers_and_the_process_are_told_by_the_same_page(fleet: Fleet) -> None:
    seen = await looking(fleet)

    told = await seen.metrics()
    found = {
        labels["result"]: value
        for labels, value in told["controller_runtime_reconcile_total"]
        if labels["controller"] == "kueue-clusterqueue-controller"
    }
    assert found["success"] >= 1
    depths = [labels["name"] for labels, _ in told["workqueue_depth"]]
    assert len(depths) == len(set(depths)) > 5
    assert "process_resident_memory_bytes" in told
    assert "apiserver_storage_objects" in told


async def test_m2_the_wait_for_checks_is_measured(fleet: Fleet) -> None:
    kueue = await Kueue.start(fleet, EVERYTHING)
    check = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "AdmissionCheck",
        "metadata": {"name": "manual"},
        "spec": {"controllerName": "example.com/manual"},
    }
    await kueue.create(flavor(), check)
    active = {
        "type": "Active",
        "status": "True",
        "reason": "Active",
        "message": "",
        "lastTransitionTime": "2024-01-01T00:00:00Z",
    }
    await kueue.patch(
        kinds.ADMISSION_CHECK, "manual", {"status": {"conditions": [active]}}, "status"
    )
    strategy = {"admissionChecks": [{"name": "manual"}]}
    await kueue.create(cluster_queue(quota="4", admissionChecksStrategy=strategy), local_queue())
    seen = Looking(kueue)
    await kueue.create(workload("one"))
    told = await seen.metrics()
    assert told.value("quota_reserved_workloads_total", cluster_queue="queue") == 1
    assert told.value("admitted_workloads_total", cluster_queue="queue") is None
    waits = {"reason": "UnsatisfiedAdmissionChecks", "underlying_cause": ""}
    assert told.value("unadmitted_workloads", cluster_queue="queue", **waits) == 1

    await fleet.passes(seconds=7)
    found = await kueue.workload("one")
    [entry] = status.checks_of(found)
    ready = {**entry, "state": "Ready", "message": "done"}
    await kueue.write(status.changed(found, admissionChecks=[ready]))

    told = await seen.metrics()
    for name, labels in (
        ("admission_checks_wait_time_seconds", {"cluster_queue": "queue"}),
        ("local_queue_admission_checks_wait_time_seconds", {"name": "main"}),
    ):
        assert told.value(f"{name}_count", **labels) == 1
        assert 7 <= (told.value(f"{name}_sum", **labels) or 0) < 9
        assert told.value(f"{name}_bucket", **labels, le="5.0") == 0
        assert told.value(f"{name}_bucket", **labels, le="10.0") == 1
    assert told.value("unadmitted_workloads", cluster_queue="queue") is None


async def test_waiting_workloads_are_counted_by_whether_they_are_tried(fleet: Fleet) -> None:
    seen = await looking(fleet)
    await seen.kueue.create(workload("holder", cpu="4"), workload("waits", cpu="3"))

    told = await seen.metrics()
    queue = {"cluster_queue": "queue"}
    assert told.value("pending_workloads", **queue, status="inadmissible") == 1
    assert told.value("pending_scheduling_hashes", **queue, status="inadmissible") == 1
    assert told.value("local_queue_pending_workloads", name="main", status="inadmissible") == 1
    assert told.value("cluster_queue_resource_pending", **queue, resource="cpu") == 3
    assert (told.value("admission_attempts_total", result="inadmissible") or 0) >= 1
    waits = {"reason": "NoReservation", "underlying_cause": "WaitingForQuota"}
    assert told.value("unadmitted_workloads", **queue, **waits) == 1
    assert told.value("local_queue_unadmitted_workloads", name="main", **waits) == 1

    await seen.kueue.patch(kinds.CLUSTER_QUEUE, "queue", {"spec": {"stopPolicy": "Hold"}})
    await seen.kueue.create(workload("later"))
    told = await seen.metrics()
    for name, labels in (
        ("pending_workloads", queue),
        ("local_queue_pending_workloads", {"name": "main"}),
    ):
        assert told.value(name, **labels, status="active") == 0
        assert told.value(name, **labels, status="inadmissible") == 2
    assert told.value("cluster_queue_status", **queue, status="pending") == 1


async def test_the_end_of_a_workload_is_measured(fleet: Fleet) -> None:
    seen = await looking(fleet)
    await seen.kueue.create(workload("one"))
    await fleet.passes(seconds=30)
    await seen.kueue.finish("one")

    told = await seen.metrics()
    queue = {"cluster_queue": "queue"}
    assert told.value("finished_workloads_total", **queue) == 1
    assert told.value("local_queue_finished_workloads_total", name="main") == 1
    assert told.value("finished_workloads", **queue) == 1
    assert told.value("local_queue_finished_workloads", name="main") == 1
    assert 29 <= (told.value("execution_time_seconds_sum", **queue) or 0) <= 32
    assert told.value("admitted_active_workloads", **queue) == 0

    await seen.kueue.delete(kinds.WORKLOAD, "one")
    told = await seen.metrics()
    assert told.value("finished_workloads", **queue) == 0
    assert told.value("finished_workloads_total", **queue) == 1


async def test_preemption_and_eviction_are_measured(fleet: Fleet) -> None:
    kueue = await Kueue.start(fleet, EVERYTHING)
    rules = {"withinClusterQueue": "LowerPriority"}
    await kueue.create(flavor(), cluster_queue(quota="4", preemption=rules), local_queue())
    seen = Looking(kueue)
    await kueue.create(workload("low", cpu="4", priority=1))
    await kueue.create(workload("high", cpu="4", priority=9))
    await fleet.passes(seconds=3)
    await kueue.release("low")

    told = await seen.metrics()
    queue, why = {"cluster_queue": "queue"}, {"reason": "Preempted", "underlying_cause": ""}
    preempted = {"preempting_cluster_queue": "queue", "reason": "InClusterQueue"}
    assert told.value("preempted_workloads_total", **preempted) == 1
    assert told.value("evicted_workloads_total", **queue, **why) == 1
    assert told.value("evicted_workloads_once_total", **queue, **why) == 1
    assert told.value("local_queue_evicted_workloads_total", name="main", **why) == 1
    latency = told.value("workload_eviction_latency_seconds_sum", **queue, reason="Preempted")
    assert 3 <= (latency or 0) < 5
    assert await kueue.admitted() == ["high"]

    # The second time of the same kind is counted, but not as a first one.
    await kueue.finish("high")
    assert await kueue.admitted() == ["low"]
    await kueue.create(workload("higher", cpu="4", priority=10))
    told = await seen.metrics()
    assert told.value("evicted_workloads_total", **queue, **why) == 2
    assert told.value("evicted_workloads_once_total", **queue, **why) == 1


async def test_s9_only_selected_local_queues_have_series(fleet: Fleet) -> None:
    wanted = selectors.parse_labels("team=a")
    settings = AdmissionSettings(metrics=MetricSettings(local_queues=wanted))
    seen = await looking(fleet, settings)
    chosen = local_queue("chosen")
    chosen["metadata"]["labels"] = {"team": "a"}
    await seen.kueue.create(chosen)
    await seen.kueue.create(workload("one"), workload("two", queue="chosen"))

    told = await seen.metrics()
    assert told.of(name="main") == set()
    assert told.value("local_queue_admitted_workloads_total", name="chosen") == 1
    assert told.value("local_queue_status", name="chosen", active="True") == 1
    assert not {name for name in told if "cluster_queue_nominal_quota" in name}


@pytest.mark.rule("kueue 7.6")
async def test_fs9_cohorts_follow_moves_and_new_parents(fleet: Fleet) -> None:
    fair = FairSharing(("LessThanOrEqualToFinalShare",))
    queueing = replace(EVERYTHING.queueing, fair_sharing=fair)
    kueue = await Kueue.start(fleet, replace(EVERYTHING, queueing=queueing))
    await kueue.create(
        flavor(),
        cohort("root"),
        cohort("child", parent="root"),
        cluster_queue("left", "2", cohortName="child"),
        cluster_queue("right", "2", cohortName="root"),
        local_queue("main", "left"),
    )
    seen = Looking(kueue)
    await kueue.create(workload("one", cpu="3"))

    told = await seen.metrics()
    assert told.value("cohort_info", cohort="child", parent_cohort="root", root_cohort="root") == 1
    assert told.value("cluster_queue_info", cluster_queue="left", parent_cohort="child") == 1
    assert told.value("cohort_subtree_quota", cohort="root", resource="cpu") == 4
    assert told.value("cohort_subtree_quota", cohort="child", resource="cpu") == 2
    for name in ("child", "root"):
        reserved = told.value("cohort_subtree_resource_reservations", cohort=name, resource="cpu")
        assert reserved == 3
        assert told.value("cohort_subtree_admitted_workloads_total", cohort=name) == 1
        assert told.value("cohort_subtree_admitted_active_workloads", cohort=name) == 1
    assert told.value("cluster_queue_weighted_share", cluster_queue="left", cohort="child") == 250
    assert told.value("cohort_weighted_share", cohort="child") == 250

    await kueue.patch(kinds.CLUSTER_QUEUE, "left", {"spec": {"cohortName": "root"}})
    told = await seen.metrics()
    assert told.value("cluster_queue_info", cluster_queue="left", parent_cohort="root") == 1
    assert told.value("cluster_queue_info", cluster_queue="left", parent_cohort="child") is None
    assert told.value("cluster_queue_nominal_quota", cluster_queue="left", cohort="root") == 2
    assert told.value("cluster_queue_nominal_quota", cluster_queue="left", cohort="child") is None
    assert told.value("cohort_subtree_admitted_active_workloads", cohort="child") == 0

    await kueue.delete(kinds.COHORT, "child")
    told = await seen.metrics()
    assert told.of(cohort="child") == {"cohort_subtree_admitted_workloads_total"}


async def test_flavors_that_disappear_take_their_series_along(fleet: Fleet) -> None:
    seen = await looking(fleet)
    await seen.kueue.create(flavor("spot"))
    body = cluster_queue(quota={"default": {"cpu": "4"}, "spot": {"cpu": "8"}})
    groups = {"spec": {"resourceGroups": body["spec"]["resourceGroups"]}}
    await seen.kueue.patch(kinds.CLUSTER_QUEUE, "queue", groups)
    assert (await seen.metrics()).value("cluster_queue_nominal_quota", flavor="spot") == 8

    groups = {"spec": {"resourceGroups": cluster_queue()["spec"]["resourceGroups"]}}
    await seen.kueue.patch(kinds.CLUSTER_QUEUE, "queue", groups)

    assert (await seen.metrics()).of(flavor="spot") == set()


async def test_what_was_there_before_is_not_counted_again(fleet: Fleet) -> None:
    """A new leader finds admitted workloads; it counts those that are admitted from now on."""
    seen = await looking(fleet)
    await seen.kueue.create(workload("old"))
    await seen.kueue.restart()
    await fleet.settle()
    again = Looking(seen.kueue)
    seen.kueue.cluster.instance.pages.metrics[:] = seen.kueue.cluster.instance.pages.metrics[-1:]
    assert (await again.metrics()).value("admitted_workloads_total", cluster_queue="queue") is None
    assert (await again.metrics()).value("admitted_active_workloads", cluster_queue="queue") == 1

    await seen.kueue.create(workload("new"))

    assert (await again.metrics()).value("admitted_workloads_total", cluster_queue="queue") == 1
