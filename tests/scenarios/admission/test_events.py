"""What events tell of a workload: type, reason and text, in the form of events.k8s.io."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from fleetqueue.admission import kinds
from fleetqueue.admission.settings import AdmissionSettings
from fleetqueue.api.kueue import admission_status as status
from fleetqueue.kube.resources import EVENTS, Resource
from fleetqueue.testing import Fleet
from support.kueue import NAMESPACE, Kueue, cluster_queue, flavor, local_queue, workload

pytestmark = pytest.mark.rule("kueue 11.3")
NEW_EVENTS = Resource("events.k8s.io", "v1", "events", "Event")
PREEMPTS = {"withinClusterQueue": "LowerPriority"}


async def started(fleet: Fleet, settings: AdmissionSettings | None = None, **spec: Any) -> Kueue:
    kueue = await Kueue.start(fleet, settings)
    await kueue.create(flavor(), cluster_queue(quota="4", **spec), local_queue())
    return kueue


async def test_they_have_the_form_of_the_new_api_and_are_read_in_both(fleet: Fleet) -> None:
    kueue = await started(fleet)
    await kueue.create(workload("one"))

    [_, new] = (await kueue.client.list(NEW_EVENTS, NAMESPACE)).items
    assert (new["type"], new["reason"], new["action"]) == ("Normal", "Admitted", "Admitted")
    assert new["note"] == "Admitted by ClusterQueue queue, wait time since reservation was 0s"
    assert new["regarding"]["kind"] == "Workload"
    assert new["regarding"]["name"] == "one"
    assert new["metadata"]["namespace"] == NAMESPACE
    assert new["eventTime"]
    assert new["reportingController"] == "kueue-admission"
    [_, old] = (await kueue.client.list(EVENTS, NAMESPACE)).items
    assert (old["message"], old["involvedObject"]["name"]) == (new["note"], "one")


async def test_each_unsuccessful_attempt_warns(fleet: Fleet) -> None:
    kueue = await started(fleet)
    await kueue.create(workload("holder", cpu="3"), workload("waits", cpu="3"))

    text = (
        "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor "
        "default, 2 more needed"
    )
    assert await kueue.events("waits") == [("Warning", "WaitingForQuota", text)]


@pytest.mark.rule("kueue 7.8")
async def test_preemption_is_told_to_both_sides(fleet: Fleet) -> None:
    kueue = await started(fleet, preemption=PREEMPTS)
    await kueue.create(workload("low", cpu="4", priority=1))
    await kueue.create(workload("high", cpu="4", priority=9))

    high, low = await kueue.workload("high"), await kueue.workload("low")
    text = (
        f"Preempted to accommodate a workload (UID: {high['metadata']['uid']}, JobUID: UNKNOWN) "
        "due to prioritization in the ClusterQueue; preemptor path: /queue; "
        "preemptee path: /queue"
    )
    priorities = (
        "; preemptor effective priority: 9 (base: 9, boost: 0)"
        "; preemptee effective priority: 1 (base: 1, boost: 0)"
    )
    told = await kueue.events("low")
    assert ("Normal", "EvictedDueToPreempted", text) in told
    assert ("Normal", "Preempted", text + priorities) in told
    uid = low["metadata"]["uid"]
    where = f"Preempted workload {NAMESPACE}/low (UID: {uid}) in ClusterQueue queue"
    assert ("Normal", "PreemptedWorkload", where + priorities) in await kueue.events("high")


@pytest.mark.rule("kueue 2.4")
async def test_gates_are_told_when_they_close_and_open(fleet: Fleet) -> None:
    kueue = await started(fleet)
    gate = "kueue.x-k8s.io/admission-gated-by"
    gated = workload("gated")
    gated["metadata"]["annotations"] = {gate: "example.com/gate"}
    await kueue.create(gated)
    text = "Workload admission is gated by: example.com/gate"
    assert await kueue.events("gated") == [("Normal", "AdmissionGated", text)]

    patch = {"metadata": {"annotations": {gate: None}}}
    await kueue.patch(kinds.WORKLOAD, "gated", patch)

    text = "Admission gate cleared, workload is now admissible"
    assert ("Normal", "AdmissionGateCleared", text) in await kueue.events("gated")
    assert await kueue.is_admitted("gated")


@pytest.mark.rule("kueue 3.3")
async def test_a_rejected_check_warns_and_evicts(fleet: Fleet) -> None:
    kueue = await started(fleet)
    await kueue.create(workload("one"))
    found = await kueue.workload("one")
    check = {
        "name": "check",
        "state": "Rejected",
        "message": "no",
        "lastTransitionTime": "2024-01-01T00:00:00Z",
    }
    metadata = {"name": "check"}
    api = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "AdmissionCheck"}
    await kueue.create({**api, "metadata": metadata, "spec": {"controllerName": "example.com/c"}})
    strategy = {"spec": {"admissionChecksStrategy": {"admissionChecks": [{"name": "check"}]}}}
    await kueue.patch(kinds.CLUSTER_QUEUE, "queue", strategy)
    found = await kueue.workload("one")
    await kueue.write(status.changed(found, admissionChecks=[check]))

    told = await kueue.events("one")
    text = 'AdmissionCheck in Rejected state: "check" (no)'
    assert ("Warning", "AdmissionCheckRejected", f"Deactivated due to {text}") in told
    why = f"The workload is deactivated due to {text}"
    assert ("Normal", "EvictedDueToDeactivatedDueToAdmissionCheck", why) in told


@pytest.mark.rule("kueue 3.8")
async def test_too_long_a_run_warns(fleet: Fleet) -> None:
    kueue = await started(fleet)
    await kueue.create(workload("long", maximumExecutionTimeSeconds=60))

    await fleet.passes(seconds=61)
    await fleet.settle()

    text = "The maximum execution time (60s) exceeded"
    assert ("Warning", "MaximumExecutionTimeExceeded", text) in await kueue.events("long")


@pytest.mark.rule("kueue 3.10")
async def test_the_end_of_retention_is_told(fleet: Fleet) -> None:
    settings = AdmissionSettings()
    life = replace(settings.life, after_finished=timedelta(seconds=30))
    kueue = await started(fleet, replace(settings, life=life))
    await kueue.create(workload("one"))
    await kueue.finish("one")

    await fleet.passes(seconds=31)
    await fleet.settle()

    text = "Deleted finished workload due to elapsed retention"
    assert ("Normal", "Deleted", text) in await kueue.events("one")


@pytest.mark.rule("kueue 3.11")
async def test_a_drained_queue_tells_whom_it_evicts(fleet: Fleet) -> None:
    kueue = await started(fleet)
    await kueue.create(workload("one"))

    await kueue.patch(kinds.CLUSTER_QUEUE, "queue", {"spec": {"stopPolicy": "HoldAndDrain"}})

    told = await kueue.events("one")
    assert ("Normal", "EvictedDueToClusterQueueStopped", "The ClusterQueue is stopped") in told


async def test_a_long_text_is_cut(fleet: Fleet) -> None:
    kueue = await started(fleet)
    gated = workload("gated")
    names = ",".join(f"example.com/{number:040}" for number in range(30))
    gated["metadata"]["annotations"] = {"kueue.x-k8s.io/admission-gated-by": names}
    await kueue.create(gated)

    [(_, reason, text)] = await kueue.events("gated")
    assert reason == "AdmissionGated"
    assert len(text.encode()) == 1024
    assert text.endswith(" ...")
