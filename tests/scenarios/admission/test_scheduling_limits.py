"""What keeps workloads out of queues that have room: stops, gates, limits and checks."""

import pytest
from tests.support.kueue import (
    admission_check,
    cluster_queue,
    flavor,
    local_queue,
    pod_set,
    workload,
)
from tests.support.scheduled import reason, start, two_flavors, with_checks

from fleetqueue.admission import kinds
from fleetqueue.kube.resources import Object
from fleetqueue.testing import Fleet, named

pytestmark = pytest.mark.rule("kueue 13.2")


# What keeps workloads out


@pytest.mark.rule("kueue 4.6")
async def test_s23_a_terminating_queue_admits_nothing_new(fleet: Fleet) -> None:
    kueue = await start(fleet, cluster_queue(), local_queue())
    await kueue.create(workload("runs"))
    await kueue.delete(kinds.CLUSTER_QUEUE, "queue")

    await kueue.create(workload("late"))

    assert await kueue.admitted() == ["runs"]
    [active] = (await kueue.queue())["status"]["conditions"]
    assert (active["status"], active["reason"], active["message"]) == (
        "False",
        "Terminating",
        "Can't admit new workloads; clusterQueue is terminating",
    )


@pytest.mark.rule("kueue 3.2")
async def test_s24_requests_must_stay_within_limits_and_ranges(fleet: Fleet) -> None:
    limits = [
        {"type": "Pod", "max": {"cpu": "2"}},
        {"type": "Container", "min": {"cpu": "500m"}},
    ]
    kueue = await start(
        fleet,
        cluster_queue(),
        local_queue(),
        named("LimitRange", "v1", "limits", "default", spec={"limits": limits}),
    )
    upside_down = pod_set(cpu="2")
    upside_down["template"]["spec"]["containers"][0]["resources"]["limits"] = {"cpu": "1"}
    await kueue.create(
        workload("upside-down", sets=[upside_down]),
        workload("large", "3"),
        workload("tiny", "100m"),
        workload("right", "2"),
    )

    assert await kueue.admitted() == ["right"]
    outside = "resources didn't satisfy LimitRange constraints"
    path = "spec.podSets[0].template.spec"
    wrong = 'Invalid value: ["cpu"]: requests must not'
    for name, message in (
        (
            "upside-down",
            f"resources validation failed: {path}.containers[0]: {wrong} exceed its limits",
        ),
        ("large", f"{outside}: {path}: {wrong} be above the limitRange max"),
        ("tiny", f"{outside}: {path}.containers[0]: {wrong} be below the limitRange min"),
    ):
        told = await kueue.conditions(name)
        assert told["QuotaReserved"] == ("False", "Misconfigured", message)


@pytest.mark.rule("kueue 3.4")
@pytest.mark.rule("kueue 3.11")
async def test_s25_hold_and_drain_evicts_and_a_restart_brings_back(fleet: Fleet) -> None:
    kueue = await start(fleet, cluster_queue(), local_queue())
    for kind, name, word in (
        (kinds.CLUSTER_QUEUE, "queue", "ClusterQueue"),
        (kinds.LOCAL_QUEUE, "main", "LocalQueue"),
    ):
        await kueue.create(workload(word.lower()))
        assert await kueue.is_admitted(word.lower())

        await kueue.patch(kind, name, {"spec": {"stopPolicy": "HoldAndDrain"}})
        told = await kueue.conditions(word.lower())
        assert told["Evicted"] == ("True", f"{word}Stopped", f"The {word} is stopped")
        await kueue.stop_evicted()
        told = await kueue.conditions(word.lower())
        assert told["Requeued"][:2] == ("False", f"{word}Stopped")
        assert told["QuotaReserved"][:2] == ("False", "Suspended")
        assert await kueue.admitted() == []

        await kueue.patch(kind, name, {"spec": {"stopPolicy": "None"}})
        told = await kueue.conditions(word.lower())
        again = f"The {word} was restarted after being stopped"
        assert told["Requeued"] == ("True", f"{word}Restarted", again)
        assert await kueue.is_admitted(word.lower())


@pytest.mark.rule("kueue 2.4")
async def test_s29_a_gate_keeps_a_workload_out_until_it_is_removed(fleet: Fleet) -> None:
    kueue = await start(fleet, cluster_queue(), local_queue())
    gated = workload("gated")
    gate = "kueue.x-k8s.io/admission-gated-by"
    gated["metadata"]["annotations"] = {gate: "example.com/one,example.com/two"}
    await kueue.create(gated)
    told = await kueue.conditions("gated")
    value = "example.com/one,example.com/two"
    assert told["QuotaReserved"] == ("False", "AdmissionGated", f"Admission is gated by: {value}")

    await kueue.patch(kinds.WORKLOAD, "gated", {"metadata": {"annotations": {gate: None}}})

    assert await kueue.admitted() == ["gated"]
    assert [event[1] for event in await kueue.events("gated")] == [
        "AdmissionGated",
        "AdmissionGateCleared",
        "QuotaReserved",
        "Admitted",
    ]


@pytest.mark.rule("kueue 6.7")
@pytest.mark.parametrize("how", ["raised", "deleted"])
async def test_a_range_that_changes_is_looked_at_again(fleet: Fleet, how: str) -> None:
    def body(most: str) -> Object:
        return {"limits": [{"type": "Container", "max": {"cpu": most}}]}

    kueue = await start(
        fleet,
        cluster_queue(),
        local_queue(),
        named("LimitRange", "v1", "limits", "default", spec=body("1")),
    )
    await kueue.create(workload("large", "3"))
    assert await reason(kueue, "large") == "Misconfigured"

    if how == "raised":
        await kueue.patch(kinds.LIMIT_RANGE, "limits", {"spec": body("3")})
    else:
        await kueue.delete(kinds.LIMIT_RANGE, "limits")

    assert await kueue.admitted() == ["large"]


@pytest.mark.rule("kueue 6.7")
async def test_a_runtime_class_that_changes_is_looked_at_again(fleet: Fleet) -> None:
    limits = [{"type": "Pod", "max": {"example.com/slots": "1"}}]
    heavy = {"handler": "heavy", "overhead": {"podFixed": {"example.com/slots": "2"}}}
    kueue = await start(
        fleet,
        cluster_queue(),
        local_queue(),
        named("LimitRange", "v1", "limits", "default", spec={"limits": limits}),
        named("RuntimeClass", "node.k8s.io/v1", "heavy", **heavy),
        config="resources: {excludeResourcePrefixes: [example.com/]}",
    )
    await kueue.create(workload("runs", sets=[pod_set(pod={"runtimeClassName": "heavy"}, cpu="1")]))
    assert await reason(kueue, "runs") == "Misconfigured"

    await kueue.delete(kinds.RUNTIME_CLASS, "heavy")

    assert await kueue.admitted() == ["runs"]


@pytest.mark.rule("kueue 6.7")
async def test_s30_what_a_pod_asks_for_is_completed(fleet: Fleet) -> None:
    limits = [{"type": "Container", "defaultRequest": {"cpu": "2"}}]
    kueue = await start(
        fleet,
        cluster_queue(quota={"default": {"cpu": "20", "memory": "1Gi"}}),
        local_queue(),
        named("LimitRange", "v1", "limits", "default", spec={"limits": limits}),
        named(
            "RuntimeClass",
            "node.k8s.io/v1",
            "heavy",
            handler="heavy",
            overhead={"podFixed": {"cpu": "1"}},
        ),
    )
    limited = pod_set()
    most = {"cpu": "4", "memory": "1Mi"}
    limited["template"]["spec"]["containers"][0]["resources"] = {"limits": most}
    await kueue.create(
        workload("heavy", sets=[pod_set(pod={"runtimeClassName": "heavy"}, cpu="3")]),
        workload("silent", sets=[pod_set()]),
        workload("limited", sets=[limited]),
    )

    used = {}
    for name in ("heavy", "silent", "limited"):
        found = await kueue.workload(name)
        [assigned] = found["status"]["admission"]["podSetAssignments"]
        used[name] = assigned["resourceUsage"]
    assert used == {
        "heavy": {"cpu": "4"},
        "silent": {"cpu": "2"},
        "limited": {"cpu": "2", "memory": "1Mi"},
    }


# Checks


@pytest.mark.rule("kueue 3.3")
async def test_s31_checks_of_other_flavors_are_left_out(fleet: Fleet) -> None:
    kueue = await start(
        fleet,
        flavor("one"),
        flavor("two"),
        *(admission_check(name, "example.com/it") for name in ("all", "first", "second")),
        cluster_queue(
            quota=two_flavors("1", "4"), **with_checks("all", first=["one"], second=["two"])
        ),
        local_queue(),
    )
    for name in ("all", "first", "second"):
        await kueue.activate(name)
    await kueue.create(workload("small", "1"), workload("large", "2"))

    checks = {
        name: [each["name"] for each in (await kueue.workload(name))["status"]["admissionChecks"]]
        for name in ("small", "large")
    }
    assert checks == {"small": ["all", "first"], "large": ["all", "second"]}


@pytest.mark.rule("kueue 3.5")
@pytest.mark.rule("kueue 3.3")
async def test_s38_a_check_that_wants_a_retry_says_when(fleet: Fleet) -> None:
    kueue = await start(
        fleet,
        admission_check("check", "example.com/it"),
        cluster_queue(**with_checks("check")),
        local_queue(),
    )
    await kueue.activate("check")
    await kueue.create(workload("retried"))
    await kueue.check("retried", "check", "Retry", message="later", requeueAfterSeconds=60)
    told = await kueue.conditions("retried")
    message = 'Evicted due to AdmissionCheck in Retry state: "check" (later)'
    assert told["Evicted"] == ("True", "AdmissionCheck", message)
    [check] = (await kueue.workload("retried"))["status"]["admissionChecks"]
    assert check["state"] == "Pending"
    assert check["message"] == "Reset to Pending after eviction. Previously: Retry"
    assert check["retryCount"] == 1

    await kueue.stop_evicted()
    told = await kueue.conditions("retried")
    assert told["Requeued"][:2] == ("False", "AdmissionCheck")
    await fleet.passes(seconds=50)
    assert await reason(kueue, "retried") != ""

    await fleet.passes(seconds=20)
    await fleet.settle()
    told = await kueue.conditions("retried")
    assert told["Requeued"] == ("True", "BackoffFinished", "The workload backoff was finished")
    assert told["QuotaReserved"][0] == "True"
