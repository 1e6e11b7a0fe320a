"""batch Jobs before a queue, with the real Job controller; the test is scheduler and kubelet."""

from datetime import timedelta
from typing import Any

import pytest
from tests.support import queued
from tests.support.queued import JOB, QUEUE, Queued, conditions, message

from fleetqueue.kube.resources import Object
from fleetqueue.runtime.controllers import job as job_controller
from fleetqueue.testing import Fleet, job

pytestmark = pytest.mark.rule("jobs A.10")


async def start(fleet: Fleet, **more: Any) -> Queued:
    return await queued.start(fleet, operators=[job_controller.job_operator()], **more)


def sample(**more: Any) -> Object:
    return job("sample", cpu="1", labels={**QUEUE, **more.pop("labels", {})}, **more)


def template_of(found: Object) -> Object:
    return dict(found["spec"]["template"])


@pytest.mark.rule("jobs A.18")
@pytest.mark.rule("jobs A.4")
@pytest.mark.rule("kueue 9.3")
@pytest.mark.rule("kueue 13.6")
async def test_a_job_is_queued_admitted_run_and_finished(fleet: Fleet) -> None:
    here = await start(fleet)
    made = await here.create(sample(parallelism=2, spec={"completions": 2}))
    assert made["spec"]["suspend"] is True

    workload = await here.workload()
    uid = made["metadata"]["uid"]
    assert workload["metadata"]["name"].startswith("job-sample-")
    assert workload["metadata"]["labels"] == {"kueue.x-k8s.io/job-uid": uid}
    assert workload["metadata"]["finalizers"] == ["kueue.x-k8s.io/resource-in-use"]
    [owner] = workload["metadata"]["ownerReferences"]
    assert (owner["name"], owner["uid"], owner["controller"]) == ("sample", uid, True)
    [pod_set] = workload["spec"]["podSets"]
    assert (pod_set["name"], pod_set["count"]) == ("main", 2)
    assert pod_set["template"]["metadata"]["labels"] == {"batch.kubernetes.io/job-name": "sample"}
    assert pod_set["topologyRequest"] == {
        "podIndexLabel": "batch.kubernetes.io/job-completion-index"
    }
    assert workload["spec"]["queueName"] == "lq"
    assert workload["spec"]["priority"] == 0
    assert conditions(workload) == {"PodsReady": ("False", "WaitForStart")}

    await here.admit()
    running = await here.read(JOB, "sample")
    assert running["spec"]["suspend"] is False
    [one, _] = await here.pods()
    added = {
        "kueue.x-k8s.io/podset": "main",
        "kueue.x-k8s.io/cluster-queue-name": "cq",
        "kueue.x-k8s.io/local-queue-name": "lq",
    }
    assert added.items() <= one["metadata"]["labels"].items()
    name = workload["metadata"]["name"]
    assert one["metadata"]["annotations"] == {"kueue.x-k8s.io/workload": name}

    await here.move("Running")
    assert conditions(await here.workload())["PodsReady"] == ("True", "Started")
    await here.move("Succeeded")
    workload = await here.workload()
    assert conditions(workload)["Finished"] == ("True", "Succeeded")
    assert message(workload, "Finished") == "Reached expected number of succeeded pods"
    assert conditions(workload)["Admitted"] == ("True", "Admitted")
    assert "finalizers" not in workload["metadata"]
    assert await here.events() == [
        ("CreatedWorkload", f"Created Workload: default/{name}"),
        ("Started", "Admitted by clusterQueue cq"),
        ("FinishedWorkload", f"Workload 'default/{name}' is declared finished"),
    ]


@pytest.mark.rule("jobs A.18")
async def test_a_job_without_a_queue_is_left_alone(fleet: Fleet) -> None:
    here = await start(fleet)
    made = await here.create(job("sample", cpu="1"))
    assert not made["spec"].get("suspend")
    assert len(await here.pods()) == 1
    assert await here.workloads() == []


@pytest.mark.rule("jobs A.18")
@pytest.mark.rule("jobs A.2")
@pytest.mark.rule("kueue 4.9")
async def test_a_default_queue_takes_jobs_without_one(fleet: Fleet) -> None:
    here = await start(fleet)
    await here.create(queued.local_queue("default"))
    made = await here.create(job("sample", cpu="1"))
    assert made["metadata"]["labels"] == {"kueue.x-k8s.io/queue-name": "default"}
    assert made["spec"]["suspend"] is True
    assert (await here.workload())["spec"]["queueName"] == "default"


@pytest.mark.rule("jobs A.18")
@pytest.mark.rule("jobs A.4")
async def test_a_job_that_a_user_starts_unadmitted_is_stopped(fleet: Fleet) -> None:
    here = await start(fleet)
    await here.create(sample())
    await here.patch(JOB, "sample", {"spec": {"suspend": False}})
    found = await here.read(JOB, "sample")
    assert found["spec"]["suspend"] is True
    assert "kueue.x-k8s.io/stopping" not in (found["metadata"].get("annotations") or {})
    assert "startTime" not in found["status"]
    assert ("Stopped", "Not admitted by cluster queue") in await here.events()


@pytest.mark.rule("jobs A.18")
@pytest.mark.rule("jobs A.5")
@pytest.mark.rule("kueue 9.4")
@pytest.mark.rule("kueue 13.6")
async def test_a_suspended_job_that_changes_rewrites_its_workload(fleet: Fleet) -> None:
    here = await start(fleet)
    await here.create(sample())
    before = await here.workload()
    await here.patch(JOB, "sample", {"spec": {"parallelism": 3}})
    after = await here.workload()
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["spec"]["podSets"][0]["count"] == 3
    name = after["metadata"]["name"]
    told = f"Updated not matching Workload for suspended job: default/{name}"
    assert ("UpdatedWorkload", told) in await here.events()


@pytest.mark.rule("jobs A.18")
@pytest.mark.rule("jobs A.5")
@pytest.mark.rule("kueue 9.4")
async def test_a_running_job_that_changes_is_stopped_and_queued_anew(fleet: Fleet) -> None:
    here = await start(fleet)
    await here.create(sample(parallelism=2))
    before = await here.workload()
    await here.admit()
    await here.patch(JOB, "sample", {"spec": {"parallelism": 1}})
    await here.end_deleted()
    found = await here.read(JOB, "sample")
    assert found["spec"]["suspend"] is True
    assert "kueue.x-k8s.io/podset" not in template_of(found)["metadata"]["labels"]
    after = await here.workload()
    assert after["metadata"]["uid"] != before["metadata"]["uid"]
    assert after["spec"]["podSets"][0]["count"] == 1
    assert "admission" not in after["status"]
    name = before["metadata"]["name"]
    told = await here.events()
    restoring = "No matching Workload; restoring pod templates according to existent Workload"
    assert ("Stopped", restoring) in told
    assert ("DeletedWorkload", f"Deleted not matching Workload: default/{name}") in told


@pytest.mark.rule("jobs A.18")
@pytest.mark.rule("kueue 3.10")
async def test_a_workload_that_a_user_deletes_is_made_anew(fleet: Fleet) -> None:
    here = await start(fleet)
    await here.create(sample())
    before = await here.workload()
    await here.admit()
    await here.move("Running")
    await here.delete(queued.WORKLOAD, before["metadata"]["name"])
    assert (await here.read(JOB, "sample"))["spec"]["suspend"] is True
    after = await here.workload()
    assert after["metadata"]["uid"] != before["metadata"]["uid"]
    assert ("Stopped", "Workload is deleted") in await here.events()


@pytest.mark.rule("jobs A.18")
@pytest.mark.rule("jobs A.6")
@pytest.mark.rule("kueue 3.4")
@pytest.mark.rule("kueue 3.7")
@pytest.mark.rule("kueue 3.13")
async def test_an_evicted_job_gives_its_quota_back_when_its_pods_are_gone(fleet: Fleet) -> None:
    here = await start(fleet)
    await here.create(queued.flavor("spot", nodeLabels={"pool": "a"}))
    await here.create(sample())
    await here.admit(flavors={"cpu": "spot"})
    await here.move("Running")
    running = await here.read(JOB, "sample")
    assert template_of(running)["spec"]["nodeSelector"] == {"pool": "a"}

    await here.evict("Preempted", "make room")
    found = await here.read(JOB, "sample")
    assert found["spec"]["suspend"] is True
    assert "nodeSelector" not in template_of(found)["spec"]
    labels = template_of(found)["metadata"]["labels"]
    assert not [key for key in labels if key.startswith("kueue")]
    assert "job-name" in labels

    await here.end_deleted()
    workload = await here.workload()
    assert "admission" not in workload["status"]
    assert conditions(workload) == {
        "QuotaReserved": ("False", "PendingEvaluation"),
        "Evicted": ("True", "Preempted"),
        "Admitted": ("False", "NoReservation"),
        "Requeued": ("True", "Preempted"),
        "PodsReady": ("False", "WaitForStart"),
    }
    assert message(workload, "QuotaReserved") == "make room"
    assert ("Stopped", "make room") in await here.events()

    await here.admit()
    again = await here.read(JOB, "sample")
    assert again["spec"]["suspend"] is False
    assert conditions(await here.workload())["Evicted"] == ("False", "QuotaReserved")


@pytest.mark.rule("jobs A.18")
@pytest.mark.rule("kueue 3.6")
@pytest.mark.rule("kueue 13.6")
async def test_a_deactivated_job_stays_suspended(fleet: Fleet) -> None:
    here = await start(fleet)
    await here.create(sample())
    await here.admit()
    name = (await here.workload())["metadata"]["name"]
    await here.patch(queued.WORKLOAD, name, {"spec": {"active": False}})
    await here.evict("Deactivated", "The workload is deactivated")
    await here.end_deleted()
    assert (await here.read(JOB, "sample"))["spec"]["suspend"] is True
    assert conditions(await here.workload())["Requeued"] == ("False", "Deactivated")


@pytest.mark.rule("jobs A.18")
@pytest.mark.rule("jobs A.6")
@pytest.mark.rule("kueue 9.5")
async def test_a_selector_that_contradicts_the_flavor_ends_the_workload(fleet: Fleet) -> None:
    here = await start(fleet)
    await here.create(queued.flavor("spot", nodeLabels={"pool": "a"}))
    made = sample()
    made["spec"]["template"]["spec"]["nodeSelector"] = {"pool": "b"}
    await here.create(made)
    await here.admit(flavors={"cpu": "spot"})
    workload = await here.workload()
    assert conditions(workload)["Finished"] == ("True", "FailedToStart")
    assert message(workload, "Finished") == (
        "invalid admission check PodSetUpdate: conflict for nodeSelector:"
        " conflict for key=pool, value1=b, value2=a"
    )
    assert (await here.read(JOB, "sample"))["spec"]["suspend"] is True


@pytest.mark.rule("jobs A.6")
@pytest.mark.rule("kueue 13.6")
async def test_what_a_check_adds_reaches_the_template(fleet: Fleet) -> None:
    here = await start(fleet)
    await here.create(sample())
    update = {
        "name": "main",
        "labels": {"team": "a"},
        "annotations": {"note": "b"},
        "tolerations": [{"key": "spot", "operator": "Exists"}],
    }
    check = {
        "name": "provision",
        "state": "Ready",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
        "podSetUpdates": [update],
    }
    workload = await here.workload()
    workload["status"]["admissionChecks"] = [check]
    await here.admit(workload, checks=["provision"])
    template = template_of(await here.read(JOB, "sample"))
    assert template["metadata"]["labels"]["team"] == "a"
    assert template["metadata"]["annotations"]["note"] == "b"
    assert template["spec"]["tolerations"] == [{"key": "spot", "operator": "Exists"}]


@pytest.mark.rule("jobs A.4")
async def test_a_job_that_waits_for_checks_says_so(fleet: Fleet) -> None:
    here = await start(fleet)
    await here.create(sample())
    workload = await here.workload()
    workload["status"]["admissionChecks"] = [
        {
            "name": name,
            "state": "Pending",
            "message": text,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        for name, text in (("a", "waits"), ("b", ""), ("c", "waits too"))
    ]
    await here.admit(workload, checks=["a", "b", "c"])
    assert (await here.read(JOB, "sample"))["spec"]["suspend"] is True
    assert ("UpdatedAdmissionCheck", "a: waits; c: waits too") in await here.events()


@pytest.mark.rule("jobs A.18")
async def test_partial_admission_changes_the_parallelism_and_back(fleet: Fleet) -> None:
    here = await start(fleet)
    annotations = {"kueue.x-k8s.io/job-min-parallelism": "2"}
    await here.create(sample(parallelism=5, annotations=annotations))
    assert (await here.workload())["spec"]["podSets"][0]["minCount"] == 2
    await here.admit(counts={"main": 3})
    assert (await here.read(JOB, "sample"))["spec"]["parallelism"] == 3
    assert len(await here.pods()) == 3
    assert len(await here.workloads()) == 1
    await here.evict("Preempted", "make room")
    await here.end_deleted()
    assert (await here.read(JOB, "sample"))["spec"]["parallelism"] == 5


@pytest.mark.rule("kueue 6.6")
async def test_an_assignment_without_a_count_means_all_pods(fleet: Fleet) -> None:
    here = await start(fleet)
    annotations = {"kueue.x-k8s.io/job-min-parallelism": "2"}
    await here.create(sample(parallelism=5, annotations=annotations))
    found = await here.workload()
    assigned = queued.admission(found, {"cpu": "default"}, {})
    for each in assigned["podSetAssignments"]:
        del each["count"]
    await here.write(queued.status_of.reserve(found, assigned, fleet.clock.now()))
    assert (await here.read(JOB, "sample"))["spec"]["parallelism"] == 5
    assert len(await here.pods()) == 5


@pytest.mark.rule("jobs A.18")
async def test_completions_follow_the_parallelism_where_asked(fleet: Fleet) -> None:
    here = await start(fleet)
    annotations = {
        "kueue.x-k8s.io/job-min-parallelism": "2",
        "kueue.x-k8s.io/job-completions-equal-parallelism": "true",
    }
    spec = {"completions": 5, "completionMode": "Indexed"}
    await here.create(sample(parallelism=5, spec=spec, annotations=annotations))
    await here.admit(counts={"main": 3})
    found = (await here.read(JOB, "sample"))["spec"]
    assert (found["parallelism"], found["completions"]) == (3, 3)
    await here.evict("Preempted", "make room")
    await here.end_deleted()
    found = (await here.read(JOB, "sample"))["spec"]
    assert (found["parallelism"], found["completions"]) == (5, 5)


@pytest.mark.rule("jobs A.18")
@pytest.mark.rule("kueue 3.9")
async def test_pods_that_are_done_are_reclaimed(fleet: Fleet) -> None:
    here = await start(fleet)
    spec = {"completions": 5, "completionMode": "Indexed"}
    await here.create(sample(parallelism=5, spec=spec))
    await here.admit()
    await here.move("Running")
    await here.move("Succeeded", only=2)
    found = (await here.workload())["status"]["reclaimablePods"]
    assert found == [{"name": "main", "count": 2}]


@pytest.mark.rule("jobs A.18")
@pytest.mark.rule("jobs A.5")
@pytest.mark.rule("kueue 13.6")
async def test_a_missing_priority_class_is_told_and_waited_for(fleet: Fleet) -> None:
    here = await start(fleet)
    await here.create(sample(labels={"kueue.x-k8s.io/priority-class": "high"}))
    assert await here.workloads() == []
    told = ("WorkloadPriorityClassNotFound", 'WorkloadPriorityClass "high" not found')
    assert told in await here.events()
    await here.create(priority_class("high", 1000))
    spec = (await here.workload())["spec"]
    assert spec["priority"] == 1000
    assert spec["priorityClassRef"] == {
        "group": "kueue.x-k8s.io",
        "kind": "WorkloadPriorityClass",
        "name": "high",
    }


@pytest.mark.rule("jobs A.5")
async def test_another_priority_class_reaches_the_workload_at_any_time(fleet: Fleet) -> None:
    here = await start(fleet)
    await here.create(priority_class("low", 1))
    await here.create(priority_class("high", 1000))
    await here.create(sample(labels={"kueue.x-k8s.io/priority-class": "low"}))
    await here.admit()
    labels = {"kueue.x-k8s.io/priority-class": "high"}
    await here.patch(JOB, "sample", {"metadata": {"labels": labels}})
    workload = await here.workload()
    assert workload["spec"]["priority"] == 1000
    name = workload["metadata"]["name"]
    told = ("UpdatedWorkload", f"Updated workload priority class: default/{name}")
    assert told in await here.events()


def priority_class(name: str, value: int) -> Object:
    return queued.named("WorkloadPriorityClass", queued.KUEUE, name, value=value)


@pytest.mark.rule("kueue 13.6")
async def test_a_suspended_job_may_change_its_queue(fleet: Fleet) -> None:
    here = await start(fleet)
    await here.create(sample())
    labels = {"kueue.x-k8s.io/queue-name": "other"}
    await here.patch(JOB, "sample", {"metadata": {"labels": labels}})
    assert (await here.workload())["spec"]["queueName"] == "other"


@pytest.mark.rule("kueue 13.6")
@pytest.mark.rule("kueue 3.10")
async def test_a_job_that_is_deleted_lets_its_workload_go(fleet: Fleet) -> None:
    here = await start(fleet)
    await here.create(sample())
    await here.admit()
    await here.delete(JOB, "sample", propagation="Orphan")
    workload = await here.workload()
    assert conditions(workload)["Finished"] == ("True", "OwnerNotFound")
    assert message(workload, "Finished") == "The workload's owner no longer exists"
    assert "finalizers" not in workload["metadata"]


@pytest.mark.rule("kueue 13.6")
@pytest.mark.rule("jobs A.4")
@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
async def test_a_deleted_job_takes_its_workload_along(fleet: Fleet, propagation: str) -> None:
    here = await start(fleet)
    await here.create(sample())
    await here.delete(JOB, "sample", propagation=propagation)
    assert await here.workloads() == []


@pytest.mark.rule("jobs A.4")
async def test_a_namesake_does_not_inherit_a_workload(fleet: Fleet) -> None:
    here = await start(fleet)
    await here.create(sample())
    before = await here.workload()
    await here.client.delete(JOB, "sample", "default", propagation="Background")
    await here.client.create(sample())
    await here.fleet.settle()
    after = await here.workload()
    assert after["metadata"]["uid"] != before["metadata"]["uid"]


@pytest.mark.rule("kueue 13.6")
@pytest.mark.rule("jobs A.2")
@pytest.mark.rule("kueue 9.2")
async def test_a_job_in_an_unmanaged_namespace_is_suspended_and_left_alone(fleet: Fleet) -> None:
    here = await start(fleet)
    made = await here.create(sample(namespace="kube-system"))
    assert made["spec"]["suspend"] is True
    assert (await here.client.list(queued.WORKLOAD, "kube-system")).items == []


@pytest.mark.rule("jobs A.18")
@pytest.mark.rule("kueue 13.6")
@pytest.mark.rule("kueue 9.4")
@pytest.mark.rule("kueue 2.1")
async def test_a_prebuilt_workload_is_taken_when_it_comes(fleet: Fleet) -> None:
    here = await start(fleet)
    annotations = {"kueue.x-k8s.io/prebuilt-workload-name": "mine"}
    made = await here.create(sample(annotations=annotations))
    assert await here.workloads() == []
    await here.create(prebuilt(made, count=1))
    await here.fleet.passes(seconds=5)
    workload = await here.workload()
    [owner] = workload["metadata"]["ownerReferences"]
    assert owner["uid"] == made["metadata"]["uid"]
    assert workload["metadata"]["labels"]["kueue.x-k8s.io/job-uid"] == owner["uid"]
    await here.admit()
    assert (await here.read(JOB, "sample"))["spec"]["suspend"] is False


@pytest.mark.rule("kueue 9.5")
async def test_a_job_can_be_stopped_though_its_prebuilt_workload_lacks_labels(fleet: Fleet) -> None:
    here = await start(fleet)
    annotations = {"kueue.x-k8s.io/prebuilt-workload-name": "mine"}
    made = await here.create(sample(annotations=annotations))
    await here.create(prebuilt(made, count=1))
    await here.fleet.passes(seconds=5)
    await here.admit()
    assert (await here.read(JOB, "sample"))["spec"]["suspend"] is False

    await here.evict("Preempted", "Others need it")
    stopped = await here.read(JOB, "sample")
    assert stopped["spec"]["suspend"] is True
    assert stopped["metadata"]["annotations"] == annotations
    assert template_of(stopped) == template_of(made)


@pytest.mark.rule("jobs A.18")
@pytest.mark.rule("kueue 9.4")
async def test_a_prebuilt_workload_that_differs_is_out_of_sync(fleet: Fleet) -> None:
    here = await start(fleet)
    annotations = {"kueue.x-k8s.io/prebuilt-workload-name": "mine"}
    made = await here.create(sample(annotations=annotations))
    await here.create(prebuilt(made, count=2))
    await here.fleet.passes(seconds=5)
    workload = await here.workload()
    assert conditions(workload)["Finished"] == ("True", "OutOfSync")
    told = "The prebuilt workload is out of sync with its user job"
    assert message(workload, "Finished") == told
    assert (await here.read(JOB, "sample"))["spec"]["suspend"] is True


def prebuilt(made: Object, count: int) -> Object:
    template = {"spec": made["spec"]["template"]["spec"]}
    pod_set = {"name": "main", "count": count, "template": template}
    spec = {"queueName": "lq", "podSets": [pod_set]}
    return queued.named("Workload", queued.KUEUE, "mine", "default", spec=spec)


@pytest.mark.rule("kueue 2.4")
async def test_the_gates_of_a_job_are_those_of_its_workload(fleet: Fleet) -> None:
    here = await start(fleet)
    key = "kueue.x-k8s.io/admission-gated-by"
    await here.create(sample(annotations={key: "acme.io/one,acme.io/two"}))
    assert (await here.workload())["metadata"]["annotations"][key] == "acme.io/one,acme.io/two"
    await here.patch(JOB, "sample", {"metadata": {"annotations": {key: "acme.io/two"}}})
    assert (await here.workload())["metadata"]["annotations"][key] == "acme.io/two"
    told = ("UpdatedWorkload", 'Updated workload AdmissionGatedBy to "acme.io/two"')
    assert told in await here.events()


@pytest.mark.rule("kueue 2.4")
async def test_a_gate_taken_from_the_workload_itself_does_not_come_back(fleet: Fleet) -> None:
    """Gates can only be removed: to put it back would be refused, and the job never start."""
    here = await start(fleet)
    key = "kueue.x-k8s.io/admission-gated-by"
    await here.create(sample(annotations={key: "acme.io/one,acme.io/two"}))
    name = (await here.workload())["metadata"]["name"]
    gates = {"metadata": {"annotations": {key: "acme.io/two"}}}
    await here.patch(queued.WORKLOAD, name, gates)
    assert (await here.workload())["metadata"]["annotations"][key] == "acme.io/two"
    await here.patch(JOB, "sample", {"metadata": {"annotations": {key: "acme.io/one"}}})
    assert key not in ((await here.workload())["metadata"].get("annotations") or {})
    await here.admit()
    assert (await here.read(JOB, "sample"))["spec"]["suspend"] is False


@pytest.mark.rule("kueue 3.10")
async def test_a_job_that_the_queue_deactivated_is_deleted_after_a_while(fleet: Fleet) -> None:
    settings = queued.JobSettings(deletes_deactivated_after=timedelta(minutes=1))
    here = await start(fleet, settings=settings)
    await here.create(sample())
    await here.admit()
    name = (await here.workload())["metadata"]["name"]
    await here.patch(queued.WORKLOAD, name, {"spec": {"active": False}})
    text = "The workload is deactivated due to exceeding the maximum execution time"
    await here.evict("Deactivated", text, cause="MaximumExecutionTimeExceeded")
    await here.end_deleted()
    await here.fleet.passes(seconds=50)
    assert (await here.read(JOB, "sample"))["spec"]["suspend"] is True
    await here.fleet.passes(seconds=15)
    assert (await here.client.list(JOB, "default")).items == []
    told = ("Deleted", "Deleted job: deactivation retention period expired")
    assert told in await here.events()


@pytest.mark.rule("kueue 3.8")
async def test_the_longest_time_goes_from_the_label_to_the_workload(fleet: Fleet) -> None:
    here = await start(fleet)
    await here.create(sample(labels={"kueue.x-k8s.io/max-exec-time-seconds": "3"}))
    assert (await here.workload())["spec"]["maximumExecutionTimeSeconds"] == 3


async def test_a_settled_job_costs_no_writes(fleet: Fleet) -> None:
    here = await start(fleet)
    await here.create(sample())
    await here.admit()
    await here.move("Running")
    revision = here.cluster.instance.core.store.revision
    await here.fleet.passes(minutes=30)
    assert here.cluster.instance.core.store.revision == revision


async def test_a_stop_that_was_cut_short_is_ended(fleet: Fleet) -> None:
    here = await start(fleet)
    await here.create(sample())
    stopping = {"annotations": {"kueue.x-k8s.io/stopping": "true"}}
    await here.patch(JOB, "sample", {"metadata": stopping})
    found = await here.read(JOB, "sample")
    assert "annotations" not in found["metadata"]
    assert ("Stopped", "Not admitted by cluster queue") in await here.events()
    await here.admit()
    assert (await here.read(JOB, "sample"))["spec"]["suspend"] is False
