"""What happens to queued Jobs, told once for every door behind which Kueue may work."""

from collections.abc import Callable
from typing import Any

from live import objects, queues
from live.queues import is_true, offer, queued, told, workload_of
from support.kueue_doors import Door

Object = dict[str, Any]
Story = Callable[[Door], None]
API = "kueue.x-k8s.io/v1beta2"
OLD = "/apis/kueue.x-k8s.io/v1beta1"
NOW = "2026-01-01T00:00:00Z"


def job(name: str, queue: str, pods: int = 1, priority: str = "") -> Object:
    """Each pod asks for 1 cpu."""
    made = objects.job(["true"], parallelism=pods, completions=pods)
    return queued(made, name, queue, cpu="1", priority=priority)


def is_suspended(door: Door, name: str) -> bool:
    return bool(door.get("Job", name)["spec"].get("suspend"))


def starts(door: Door, name: str) -> Object:
    """Its Workload, once it is admitted and the Job may run."""
    door.until(f"{name} is admitted", lambda: is_true(door, name, "Admitted"))
    door.until(f"{name} may run", lambda: not is_suspended(door, name))
    found = workload_of(door, name)
    assert found is not None
    return found


def finishes(door: Door, name: str, pods: int = 1) -> None:
    door.end_pods(f"{name}-", pods)
    door.until(f"{name} completes", lambda: door.condition("Job", name, "Complete"))
    door.until(f"{name} finishes", lambda: is_true(door, name, "Finished"))


def waits(door: Door, name: str, type: str, reason: str) -> str:
    """The message of the condition, once it has that reason."""

    def message() -> str:
        found = told(door, name, type)
        return found[2] if found is not None and found[1] == reason else ""

    return str(door.until(f"{name} has {type}/{reason}", message))


def a_job_is_admitted_and_finishes(door: Door) -> None:
    queue = offer(door, "one", "2")
    door.create(job("a", queue, 2))
    admitted = starts(door, "a")
    assert admitted["metadata"]["name"].startswith("job-a-")
    cluster_queue = f"{door.namespace}-one"
    assert told(door, "a", "QuotaReserved") == (
        "True", "QuotaReserved", f"Quota reserved in ClusterQueue {cluster_queue}",
    )  # fmt: skip
    assert told(door, "a", "Admitted") == ("True", "Admitted", "The workload is admitted")
    usage = {"name": "cpu", "total": "2"}
    door.until(
        "the queue counts it",
        lambda: reserved(door, cluster_queue) == usage and counted(door, cluster_queue) == (0, 1),
    )
    finishes(door, "a", 2)
    assert told(door, "a", "Finished") == ("True", "Succeeded", "Reached expected number of "
                                           "succeeded pods")  # fmt: skip
    door.until("the queue is empty", lambda: counted(door, cluster_queue) == (0, 0))
    reasons = {each["reason"] for each in door.all("Event")}
    assert {
        "CreatedWorkload",
        "Started",
        "FinishedWorkload",
        "QuotaReserved",
        "Admitted",
    } <= reasons


def reserved(door: Door, cluster_queue: str) -> Object | None:
    status = door.get("ClusterQueue", cluster_queue).get("status") or {}
    for flavor in status.get("flavorsReservation") or ():
        (found,) = flavor["resources"]
        return {key: value for key, value in found.items() if key != "borrowed"}
    return None


def counted(door: Door, cluster_queue: str) -> tuple[int, int]:
    """Pending and admitted."""
    status = door.get("ClusterQueue", cluster_queue).get("status") or {}
    return status.get("pendingWorkloads", 0), status.get("admittedWorkloads", 0)


def a_job_waits_for_quota(door: Door) -> None:
    queue = offer(door, "one", "2")
    door.create(job("first", queue, 2))
    starts(door, "first")
    door.create(job("second", queue, 2))
    assert waits(door, "second", "QuotaReserved", "WaitingForQuota") == (
        "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor "
        "default-flavor, 2 more needed"
    )
    assert is_suspended(door, "second")
    finishes(door, "first", 2)
    starts(door, "second")
    finishes(door, "second", 2)


def a_higher_priority_preempts(door: Door) -> None:
    queue = offer(door, "one", "1", preemption={"withinClusterQueue": "LowerPriority"})
    high = f"{door.namespace}-high"
    body = {"apiVersion": API, "kind": "WorkloadPriorityClass", "metadata": {"name": high}}
    door.create({**body, "value": 10})
    door.create(job("low", queue))
    starts(door, "low")
    preemptor = door.create(job("high", queue, priority=high))
    starts(door, "high")
    by = workload_of(door, "high")
    assert by is not None
    path = f"/{door.namespace}-one"
    assert waits(door, "low", "Preempted", "InClusterQueue") == (
        f"Preempted to accommodate a workload (UID: {by['metadata']['uid']}, JobUID: "
        f"{preemptor['metadata']['uid']}) due to prioritization in the ClusterQueue; preemptor "
        f"path: {path}; preemptee path: {path}"
    )
    assert is_suspended(door, "low")
    assert by["spec"]["priorityClassRef"]["name"] == high
    finishes(door, "high")
    starts(door, "low")
    finishes(door, "low")


def a_cohort_takes_back_what_it_lent(door: Door) -> None:
    cohort = f"{door.namespace}-both"
    policy = {"reclaimWithinCohort": "Any"}
    ours = offer(door, "ours", "1", cohortName=cohort, preemption=policy)
    theirs = offer(door, "theirs", "1", cohortName=cohort)
    door.create(job("guest", theirs, 2))
    starts(door, "guest")
    door.create(job("owner", ours))
    starts(door, "owner")
    waits(door, "guest", "Preempted", "InCohortReclamation")
    assert is_suspended(door, "guest")
    finishes(door, "owner")
    starts(door, "guest")


def a_check_must_be_ready(door: Door) -> None:
    check = f"{door.namespace}-check"
    made = queues.named("AdmissionCheck", check, controllerName="example.com/tests")
    door.create(made)
    active = {"type": "Active", "status": "True", "reason": "Active", "message": ""}
    door.patch_status("AdmissionCheck", check,
                      {"conditions": [{**active, "lastTransitionTime": NOW}]})  # fmt: skip
    strategy = {"admissionChecks": [{"name": check}]}
    queue = offer(door, "one", "1", admissionChecksStrategy=strategy)
    door.create(job("a", queue))
    door.until("quota is reserved", lambda: is_true(door, "a", "QuotaReserved"))
    door.until("the check waits", lambda: state(door) == "Pending")
    assert is_suspended(door, "a")
    say(door, check, "Retry", "come again")
    text = f'Evicted due to AdmissionCheck in Retry state: "{check}" (come again)'
    # It has its quota again in a moment, and says then what was before.
    door.until(
        "the check puts it out",
        lambda: (told(door, "a", "Evicted") or ("", "", ""))[2] in (text, f"Previously: {text}"),
    )
    door.until("quota is reserved again", lambda: state(door) == "Pending")
    door.until("quota is reserved", lambda: is_true(door, "a", "QuotaReserved"))
    assert is_suspended(door, "a")
    update = {"name": "main", "labels": {"from": "check"}}
    say(door, check, "Ready", "go", podSetUpdates=[update])
    starts(door, "a")
    template = door.get("Job", "a")["spec"]["template"]
    assert template["metadata"]["labels"]["from"] == "check"
    finishes(door, "a")


def state(door: Door) -> str:
    """Of the only check of the only Workload."""
    (found,) = door.all("Workload")
    checks = (found.get("status") or {}).get("admissionChecks") or ()
    return "".join(each["state"] for each in checks)


def say(door: Door, check: str, verdict: str, message: str, **more: Any) -> None:
    (found,) = door.all("Workload")
    said = {"name": check, "state": verdict, "message": message, "lastTransitionTime": NOW, **more}
    door.patch_status("Workload", found["metadata"]["name"], {"admissionChecks": [said]})


def a_queue_is_stopped_and_drained(door: Door) -> None:
    queue = offer(door, "one", "1")
    cluster_queue = f"{door.namespace}-one"
    door.create(job("a", queue))
    starts(door, "a")
    door.patch("ClusterQueue", cluster_queue, {"spec": {"stopPolicy": "HoldAndDrain"}})
    assert waits(door, "a", "Evicted", "ClusterQueueStopped") == "The ClusterQueue is stopped"
    door.until("it is suspended", lambda: is_suspended(door, "a"))
    door.until("it has no pods", lambda: not door.pods())
    door.until("quota is free", lambda: counted(door, cluster_queue)[1] == 0)
    door.patch("ClusterQueue", cluster_queue, {"spec": {"stopPolicy": "None"}})
    starts(door, "a")
    finishes(door, "a")


def a_job_that_is_deactivated_stops(door: Door) -> None:
    queue = offer(door, "one", "1")
    door.create(job("a", queue))
    name = starts(door, "a")["metadata"]["name"]
    door.patch("Workload", name, {"spec": {"active": False}})
    assert waits(door, "a", "Evicted", "Deactivated") == "The workload is deactivated"
    door.until("it is suspended", lambda: is_suspended(door, "a"))
    door.patch("Workload", name, {"spec": {"active": True}})
    starts(door, "a")


def a_job_that_is_deleted_frees_its_quota(door: Door) -> None:
    queue = offer(door, "one", "1")
    door.create(job("a", queue))
    starts(door, "a")
    door.create(job("b", queue))
    waits(door, "b", "QuotaReserved", "WaitingForQuota")
    door.delete("Job", "a")
    starts(door, "b")
    door.until("its Workload is gone", lambda: len(door.all("Workload")) == 1)


def the_old_version_is_served(door: Door) -> None:
    name = f"{door.namespace}-old"
    group = queues.cluster_queue(name, "1")["spec"]["resourceGroups"]
    spec = {"cohort": f"{name}-cohort", "resourceGroups": group, "namespaceSelector": {}}
    spec["flavorFungibility"] = {"whenCanBorrow": "Borrow"}
    old = {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "ClusterQueue"}
    door.request("POST", f"{OLD}/clusterqueues", {**old, "metadata": {"name": name}, "spec": spec})
    found = door.get("ClusterQueue", name)["spec"]
    assert found["cohortName"] == f"{name}-cohort"
    assert found["flavorFungibility"]["whenCanBorrow"] == "MayStopSearch"
    assert "cohort" not in found
    offer(door, "one", "1")
    door.create(queues.named("LocalQueue", "old", clusterQueue=name))
    high = f"{door.namespace}-high"
    body = {"apiVersion": API, "kind": "WorkloadPriorityClass", "metadata": {"name": high}}
    door.create({**body, "value": 10})
    door.create(job("a", "old", priority=high))
    workload = starts(door, "a")["metadata"]["name"]
    path = f"{OLD}/namespaces/{door.namespace}/workloads/{workload}"
    seen = door.request("GET", path)
    assert seen["spec"]["priorityClassName"] == high
    assert seen["spec"]["priorityClassSource"] == "kueue.x-k8s.io/workloadpriorityclass"
    assert "priorityClassRef" not in seen["spec"]


def a_job_starts_with_fewer_pods(door: Door) -> None:
    queue = offer(door, "one", "2")
    made = job("a", queue, 4)
    made["metadata"]["annotations"] = {"kueue.x-k8s.io/job-min-parallelism": "1"}
    door.create(made)
    (assigned,) = starts(door, "a")["status"]["admission"]["podSetAssignments"]
    assert (assigned["count"], assigned["resourceUsage"]) == (2, {"cpu": "2"})
    assert door.get("Job", "a")["spec"]["parallelism"] == 2
    name = str((workload_of(door, "a") or {})["metadata"]["name"])
    door.patch("Workload", name, {"spec": {"active": False}})
    door.until("it is as it was", lambda: door.get("Job", "a")["spec"]["parallelism"] == 4)


def a_pod_waits_behind_a_gate(door: Door) -> None:
    queue = offer(door, "one", "1")
    labels = {"kueue.x-k8s.io/queue-name": queue}
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    spec = {"restartPolicy": "Never", "containers": [container]}
    for name in ("a", "b"):
        metadata = {"name": name, "labels": labels}
        made = door.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
        gates = [each["name"] for each in made["spec"]["schedulingGates"]]
        assert gates == ["kueue.x-k8s.io/admission", "kueue.x-k8s.io/topology"]
        assert made["metadata"]["labels"]["kueue.x-k8s.io/managed"] == "true"
        if name == "a":
            door.until("it may run", lambda: "schedulingGates" not in door.get("Pod", "a")["spec"])
    waits(door, "b", "QuotaReserved", "WaitingForQuota")
    assert "schedulingGates" in door.get("Pod", "b")["spec"]
    door.patch_status("Pod", "a", {"phase": "Succeeded"})
    door.until("it finishes", lambda: is_true(door, "a", "Finished"))
    door.until("the other may run", lambda: "schedulingGates" not in door.get("Pod", "b")["spec"])


STORIES: dict[Story, tuple[str, ...]] = {
    a_job_is_admitted_and_finishes: ("kueue 3.3", "kueue 9.3", "kueue 9.8"),
    a_job_waits_for_quota: ("kueue 5.9", "kueue 3.2"),
    a_higher_priority_preempts: ("kueue 7.1", "kueue 7.8"),
    a_cohort_takes_back_what_it_lent: ("kueue 7.1", "kueue 6.3"),
    a_check_must_be_ready: ("kueue 3.3", "kueue 3.4", "kueue 9.5"),
    a_queue_is_stopped_and_drained: ("kueue 3.11",),
    a_job_that_is_deactivated_stops: ("kueue 3.6",),
    a_job_that_is_deleted_frees_its_quota: ("kueue 3.10",),
    a_job_starts_with_fewer_pods: ("kueue 5.6", "jobs A.10"),
    a_pod_waits_behind_a_gate: ("jobs A.12",),
    the_old_version_is_served: ("kueue 1.7", "kueue 1.0"),
}
"""Each with the rules that it shows."""
