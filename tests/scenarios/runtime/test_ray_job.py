"""RayJobs on a whole server with the operators of clusters and Jobs, pods moved by hand: with a Ray
that answers, and with pods that stand in for it.
"""

from typing import Any

import pytest
from tests.support import apps, operated, ray
from tests.support.ray import FakeRay, worker_group

from fleetqueue.kube.errors import NotFound
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.kinds import JOB, RAY_CLUSTER, RAY_JOB, SERVICE
from fleetqueue.runtime.ray_dashboard import JobInfo
from fleetqueue.testing import Fleet, FleetCluster

pytestmark = [pytest.mark.rule("jobs B.7"), pytest.mark.rule("jobs D.6")]


async def read(cluster: FleetCluster) -> Object:
    return dict(await cluster.client.get(RAY_JOB, "j", "default"))


async def status(cluster: FleetCluster) -> Object:
    return dict((await read(cluster))["status"])


async def phase(cluster: FleetCluster) -> tuple[str, str, str]:
    """How far the operator is, what Ray says, and why."""
    found = await status(cluster)
    fields = ("jobDeploymentStatus", "jobStatus", "reason")
    deployment, job, reason = (found.get(field, "") for field in fields)
    return deployment, job, reason


async def names(cluster: FleetCluster, kind: Any) -> list[str]:
    found = (await cluster.client.list(kind, "default")).items
    return sorted(each["metadata"]["name"] for each in found)


async def change(fleet: Fleet, cluster: FleetCluster, spec: Any) -> None:
    await cluster.client.patch(RAY_JOB, "j", {"spec": spec}, "default")
    await fleet.passes(seconds=3)


async def create(fleet: Fleet, cluster: FleetCluster, *groups: Object, **spec: Any) -> None:
    await ray.create(fleet, cluster, ray.ray_job_of(*groups, **spec))


@pytest.mark.rule("jobs C.7")
@pytest.mark.rule("jobs B.10")
@pytest.mark.rule("jobs B.11")
async def test_without_ray_a_job_follows_the_pod_that_runs_it(fleet: Fleet) -> None:
    cluster = await ray.start(fleet)
    made = ray.ray_job_of(worker_group(), shutdownAfterJobFinishes=True, ttlSecondsAfterFinished=60)
    made["metadata"] |= {"labels": {"team": "a"}, "annotations": {"note": "b"}}
    await ray.create(fleet, cluster, made)
    found = await status(cluster)
    assert found["jobDeploymentStatus"] == "Initializing"
    assert found["jobId"].startswith("j-")
    name = found["rayClusterName"]
    owned = await cluster.client.get(RAY_CLUSTER, name, "default")
    assert (
        owned["metadata"]["labels"].items()
        >= {
            "team": "a",
            "ray.io/originated-from-cr-name": "j",
            "ray.io/originated-from-crd": "RayJob",
        }.items()
    )
    assert owned["metadata"]["annotations"] == {"note": "b"}
    assert "ray.io/rayjob-finalizer" in (await read(cluster))["metadata"]["finalizers"]
    assert await names(cluster, JOB) == []

    await ray.move(fleet, cluster, "Running")
    assert await phase(cluster) == ("Running", "PENDING", "")
    assert (await status(cluster))[
        "dashboardURL"
    ] == f"{name}-head-svc.default.svc.cluster.local:8265"
    submitter = await cluster.client.get(JOB, "j", "default")
    assert submitter["spec"]["backoffLimit"] == 2
    assert {"j-head-svc", f"{name}-head-svc"} <= set(await names(cluster, SERVICE))
    await ray.move(fleet, cluster, "Running", "j-")
    assert await phase(cluster) == ("Running", "RUNNING", "")
    await submit_ends(fleet, cluster, 0)
    assert await phase(cluster) == ("Complete", "SUCCEEDED", "")
    found = await status(cluster)
    assert found["message"] == "Job finished successfully."
    assert (found["succeeded"], found["failed"]) == (1, 0)
    assert found["endTime"]

    assert await names(cluster, RAY_CLUSTER) == [name]
    await fleet.passes(seconds=61)
    assert await names(cluster, RAY_CLUSTER) == []
    assert await names(cluster, JOB) == ["j"]
    told = [reason for reason, _ in await apps.events(cluster.client, "RayJob")]
    assert sorted(told) == [
        "CreatedRayCluster",
        "CreatedRayJobSubmitter",
        "CreatedService",
        "DeletedRayCluster",
    ]


async def submit_ends(fleet: Fleet, cluster: FleetCluster, code: int) -> None:
    """The submitter's container ends."""
    terminated = {"exitCode": code, "reason": "Completed" if code == 0 else "Error"}
    [pod] = [
        pod
        for pod in await apps.pods(cluster.client)
        if "batch.kubernetes.io/job-name" in pod["metadata"]["labels"]
        and pod["status"].get("phase") not in ("Succeeded", "Failed")
    ]
    name = pod["spec"]["containers"][0]["name"]
    to = "Failed" if code else "Succeeded"
    state = {name: {"terminated": terminated}}
    await ray.move(fleet, cluster, to, pod["metadata"]["name"], state)


@pytest.mark.rule("jobs C.7")
async def test_without_ray_an_entry_point_that_fails_is_not_run_again(fleet: Fleet) -> None:
    cluster = await ray.start(fleet)
    await create(fleet, cluster)
    await ray.move(fleet, cluster, "Running")
    await submit_ends(fleet, cluster, 3)
    assert await phase(cluster) == ("Failed", "FAILED", "AppFailed")
    assert (await status(cluster))["message"] == "Job entrypoint command failed with exit code 3"
    await fleet.passes(minutes=2)
    pods = [pod for pod in await apps.pods(cluster.client) if "head" not in pod["metadata"]["name"]]
    assert len(pods) == 1


@pytest.mark.rule("jobs C.7")
@pytest.mark.parametrize(("code", "end"), [(0, "Complete"), (1, "Failed")])
async def test_a_sidecar_submits_from_the_head(fleet: Fleet, code: int, end: str) -> None:
    cluster = await ray.start(fleet)
    await create(fleet, cluster, submissionMode="SidecarMode")
    [head] = await apps.pods(cluster.client)
    assert [each["name"] for each in head["spec"]["containers"]] == ["ray", "ray-job-submitter"]
    assert head["spec"]["restartPolicy"] == "Never"
    await ray.move(fleet, cluster, "Running")
    assert (await phase(cluster))[0] == "Running"
    assert await names(cluster, JOB) == []
    ended = {"terminated": {"exitCode": code, "finishedAt": "2026-01-01T00:00:00Z"}}
    await ray.move(fleet, cluster, "Running", "", {"ray-job-submitter": ended})
    assert (await phase(cluster))[0] == end


async def test_a_job_ends_when_ray_and_the_submitter_have(fleet: Fleet) -> None:
    dashboard = FakeRay()
    cluster = await ray.start(fleet, dashboard)
    await create(fleet, cluster)
    await ray.move(fleet, cluster, "Running")
    id = (await status(cluster))["jobId"]
    dashboard.jobs[id] = JobInfo("RUNNING", "running", start_milliseconds=1_767_225_600_000)
    await fleet.passes(seconds=2)
    assert await phase(cluster) == ("Running", "RUNNING", "")
    assert (await status(cluster))["rayJobInfo"] == {"startTime": "2026-01-01T00:00:00Z"}
    dashboard.jobs[id] = JobInfo("FAILED", "boom")
    await fleet.passes(seconds=2)
    assert await phase(cluster) == ("Running", "FAILED", "")
    await submit_ends(fleet, cluster, 0)
    assert await phase(cluster) == ("Failed", "FAILED", "AppFailed")
    assert (await status(cluster))["message"] == "boom"


async def test_a_stopped_job_is_complete(fleet: Fleet) -> None:
    dashboard = FakeRay()
    cluster = await ray.start(fleet, dashboard)
    await create(fleet, cluster, submissionMode="HTTPMode")
    await ray.move(fleet, cluster, "Running")
    await fleet.passes(seconds=2)
    [request] = dashboard.submitted
    assert request["entrypoint"] == "python train.py"
    assert await names(cluster, JOB) == []
    assert await phase(cluster) == ("Running", "PENDING", "")
    dashboard.jobs[request["submission_id"]] = JobInfo("STOPPED", "stopped")
    await fleet.passes(seconds=2)
    assert await phase(cluster) == ("Complete", "STOPPED", "")
    assert (await status(cluster))["succeeded"] == 0


async def test_a_submitter_that_ray_never_heard_of_fails_the_job(fleet: Fleet) -> None:
    cluster = await ray.start(fleet, FakeRay())
    await create(fleet, cluster)
    await ray.move(fleet, cluster, "Running")
    await submit_ends(fleet, cluster, 0)
    await fleet.passes(seconds=2)
    assert await phase(cluster) == ("Failed", "", "AppFailed")
    text = "Submitter completed but Ray job not found in RayCluster."
    assert (await status(cluster))["message"] == text


async def test_a_submitter_that_fails_on_its_own_is_told_apart(fleet: Fleet) -> None:
    cluster = await ray.start(fleet, FakeRay())
    await create(fleet, cluster, submitterConfig={"backoffLimit": 0})
    await ray.move(fleet, cluster, "Running")
    await submit_ends(fleet, cluster, 1)
    await fleet.passes(seconds=2)
    assert await phase(cluster) == ("Failed", "", "SubmissionFailed")
    message = (await status(cluster))["message"]
    assert message.startswith("Job submission has failed. Reason: BackoffLimitExceeded. Message: ")


async def test_a_dashboard_that_stays_silent_fails_the_job(fleet: Fleet) -> None:
    dashboard = FakeRay()
    dashboard.is_down = True
    cluster = await ray.start(fleet, dashboard)
    await create(fleet, cluster, submissionMode="HTTPMode")
    await ray.move(fleet, cluster, "Running")
    assert (await status(cluster))["jobStatusCheckFailureStartTime"]
    await fleet.passes(seconds=290)
    assert (await phase(cluster))[0] == "Running"
    await fleet.passes(seconds=15)
    assert await phase(cluster) == ("Failed", "", "JobStatusCheckTimeoutExceeded")


async def test_an_interactive_job_waits_for_the_name_of_its_job(fleet: Fleet) -> None:
    dashboard = FakeRay()
    cluster = await ray.start(fleet, dashboard)
    await create(fleet, cluster, submissionMode="InteractiveMode")
    assert "jobId" not in await status(cluster)
    await ray.move(fleet, cluster, "Running")
    assert (await phase(cluster))[0] == "Waiting"
    dashboard.jobs["mine"] = JobInfo("SUCCEEDED", "done")
    await change(fleet, cluster, {"jobId": "mine"})
    assert await phase(cluster) == ("Complete", "SUCCEEDED", "")


async def test_a_suspended_job_gives_up_all_it_has(fleet: Fleet) -> None:
    cluster = await ray.start(fleet)
    await create(fleet, cluster, worker_group(), shutdownAfterJobFinishes=True)
    await ray.move(fleet, cluster, "Running")
    before = await status(cluster)
    assert before["jobDeploymentStatus"] == "Running"
    await change(fleet, cluster, {"suspend": True})
    found = await status(cluster)
    assert found["jobDeploymentStatus"] == "Suspended"
    assert not {"jobId", "rayClusterName", "dashboardURL", "jobStatus", "message"} & found.keys()
    assert "state" not in found["rayClusterStatus"]
    assert await names(cluster, RAY_CLUSTER) == []
    assert await names(cluster, JOB) == []

    await change(fleet, cluster, {"suspend": False})
    again = await status(cluster)
    assert again["jobDeploymentStatus"] == "Initializing"
    assert again["jobId"] != before["jobId"]
    assert again["rayClusterName"] != before["rayClusterName"]


@pytest.mark.rule("jobs A.19")
async def test_a_job_is_suspended_when_its_pods_are_gone(fleet: Fleet) -> None:
    cluster = await ray.start(fleet)
    template = ray.template()
    template["spec"] |= {"nodeName": "one", "restartPolicy": "Never"}
    wanted = {"shutdownAfterJobFinishes": True, "submitterPodTemplate": template}
    await create(fleet, cluster, worker_group(template=template), **wanted)
    await ray.move(fleet, cluster, "Running")
    await change(fleet, cluster, {"suspend": True})
    assert len(await apps.pods(cluster.client)) == 2
    assert (await phase(cluster))[0] == "Suspending"
    await operated.remove_ended_pods(fleet, cluster)
    assert await apps.pods(cluster.client) == []
    assert (await phase(cluster))[0] == "Suspended"


async def test_a_job_created_suspended_makes_nothing(fleet: Fleet) -> None:
    cluster = await ray.start(fleet)
    await create(fleet, cluster, shutdownAfterJobFinishes=True, suspend=True)
    assert (await phase(cluster))[0] == "Suspended"
    assert await apps.events(cluster.client, "RayCluster") == []
    assert await apps.pods(cluster.client) == []


async def test_each_retry_has_its_own_cluster(fleet: Fleet) -> None:
    cluster = await ray.start(fleet)
    await create(fleet, cluster, backoffLimit=1)
    await ray.move(fleet, cluster, "Running")
    first = await status(cluster)
    await submit_ends(fleet, cluster, 1)
    second = await status(cluster)
    assert second["jobDeploymentStatus"] == "Initializing"
    assert second["failed"] == 1
    assert second["rayClusterName"] != first["rayClusterName"]
    assert second["jobId"] != first["jobId"]
    assert await names(cluster, RAY_CLUSTER) == [second["rayClusterName"]]
    await ray.move(fleet, cluster, "Running")
    await submit_ends(fleet, cluster, 1)
    assert await phase(cluster) == ("Failed", "FAILED", "AppFailed")
    assert (await status(cluster))["failed"] == 2


async def test_a_deadline_ends_a_job_for_good(fleet: Fleet) -> None:
    cluster = await ray.start(fleet)
    await create(fleet, cluster, activeDeadlineSeconds=30, backoffLimit=3)
    started = (await status(cluster))["startTime"]
    await fleet.passes(seconds=31)
    assert await phase(cluster) == ("Failed", "", "DeadlineExceeded")
    when = started.replace("T", " ").replace("Z", " +0000 UTC")
    assert (await status(cluster))["message"] == (
        f"The RayJob has passed the activeDeadlineSeconds. StartTime: {when}."
        " ActiveDeadlineSeconds: 30"
    )


async def test_what_is_wrong_is_told_until_it_is_right(fleet: Fleet) -> None:
    cluster = await ray.start(fleet)
    await create(fleet, cluster, suspend=True)
    assert await phase(cluster) == ("ValidationFailed", "", "ValidationFailed")
    text = (
        "The RayJob spec is invalid: a RayJob with shutdownAfterJobFinishes set to false is not"
        " allowed to be suspended"
    )
    assert (await status(cluster))["message"] == text
    await fleet.passes(seconds=1)
    told = await apps.events(cluster.client, "RayJob")
    assert told == [("InvalidRayJobSpec", f"default/j: {text}")]
    await change(fleet, cluster, {"shutdownAfterJobFinishes": True})
    assert await phase(cluster) == ("Suspended", "", "")


async def test_a_job_that_is_deleted_is_stopped(fleet: Fleet) -> None:
    dashboard = FakeRay()
    cluster = await ray.start(fleet, dashboard)
    await create(fleet, cluster)
    await ray.move(fleet, cluster, "Running")
    id = (await status(cluster))["jobId"]
    await cluster.client.delete(RAY_JOB, "j", "default")
    await fleet.settle()
    assert dashboard.stopped == [id]
    with pytest.raises(NotFound):
        await read(cluster)


async def test_a_job_may_run_on_a_cluster_that_there_is(fleet: Fleet) -> None:
    cluster = await ray.start(fleet)
    await create(fleet, cluster, clusterSelector={"ray.io/cluster": "c"})
    assert (await phase(cluster))[0] == "Initializing"
    await fleet.passes(seconds=1)
    assert "RayClusterNotFound" in dict(await apps.events(cluster.client, "RayJob"))
    await ray.create(fleet, cluster, ray.ray_cluster_of())
    await ray.move(fleet, cluster, "Running")
    await ray.move(fleet, cluster, "Running", "j-")
    await submit_ends(fleet, cluster, 0)
    assert await phase(cluster) == ("Complete", "SUCCEEDED", "")
    assert await names(cluster, RAY_CLUSTER) == ["c"]


async def test_deletion_rules_take_away_more_and_more(fleet: Fleet) -> None:
    cluster = await ray.start(fleet)
    rules = [
        {"policy": policy, "condition": {"jobStatus": "SUCCEEDED", "ttlSeconds": seconds}}
        for policy, seconds in (("DeleteWorkers", 0), ("DeleteCluster", 60), ("DeleteSelf", 120))
    ]
    strategy = {"deletionRules": rules}
    await create(fleet, cluster, worker_group(replicas=2), deletionStrategy=strategy)
    await ray.move(fleet, cluster, "Running")
    await submit_ends(fleet, cluster, 0)
    [name] = await names(cluster, RAY_CLUSTER)
    left = [
        pod["metadata"]["labels"].get("ray.io/node-type") for pod in await apps.pods(cluster.client)
    ]
    assert sorted(filter(None, left)) == ["head"]
    await fleet.passes(seconds=62)
    assert name not in await names(cluster, RAY_CLUSTER)
    await fleet.passes(seconds=62)
    assert await names(cluster, RAY_JOB) == []
