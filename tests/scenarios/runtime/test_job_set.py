"""JobSets on a whole server with the real Job controller, pods moved by hand."""

from typing import Any

import pytest
from tests.support import apps, job_sets
from tests.support.job_sets import replicated

from fleetqueue.api.crds import all_crds
from fleetqueue.kube.errors import NotFound
from fleetqueue.kube.frame import controller_of
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.controllers import job
from fleetqueue.runtime.kinds import JOB, JOB_SET, SERVICE
from fleetqueue.runtime.operators import job_set
from fleetqueue.testing import Fleet, FleetCluster

pytestmark = [pytest.mark.rule("jobs B.3"), pytest.mark.rule("jobs D.1")]


async def start(fleet: Fleet) -> FleetCluster:
    cluster = await fleet.add_cluster("one")
    for crd in all_crds(job_sets.GROUP):
        await cluster.client.create(crd)
    await fleet.settle()
    fleet.run(controller_of(job.job_operator()), on=cluster)
    fleet.run(controller_of(job_set.OPERATOR), on=cluster)
    return cluster


async def create(fleet: Fleet, cluster: FleetCluster, *jobs: Object, **spec: Any) -> Object:
    made = job_sets.job_set(*jobs, **spec)
    del made["metadata"]["uid"]
    created = await cluster.client.create(made)
    await fleet.settle()
    return dict(created)


async def read(cluster: FleetCluster) -> Object:
    return dict(await cluster.client.get(JOB_SET, "train", "default"))


async def names(cluster: FleetCluster, kind: Any) -> list[str]:
    found = (await cluster.client.list(kind, "default")).items
    return sorted(each["metadata"]["name"] for each in found)


async def move(fleet: Fleet, cluster: FleetCluster, phase: str, prefix: str = "") -> None:
    """All pods of that name that have not ended go into a phase."""
    for pod in await apps.pods(cluster.client):
        is_meant = pod["metadata"]["name"].startswith(f"train-{prefix}")
        if is_meant and pod["status"].get("phase") not in ("Succeeded", "Failed"):
            await apps.move(
                cluster.client, pod, phase, ready=phase == "Running", at=fleet.clock.now()
            )
    await fleet.settle()


def states(found: Object) -> dict[str, tuple[str, str]]:
    listed = found["status"].get("conditions") or ()
    return {each["type"]: (each["status"], each["reason"]) for each in listed}


def counts(found: Object, name: str) -> Object:
    [entry] = [each for each in found["status"]["replicatedJobsStatus"] if each["name"] == name]
    return {key: value for key, value in entry.items() if key != "name" and value}


async def events(fleet: Fleet, cluster: FleetCluster) -> list[tuple[str, str]]:
    await fleet.passes(seconds=1)
    found = (await cluster.client.list(apps.EVENT, "default")).items
    return [
        (each["reason"], each["message"])
        for each in found
        if each["involvedObject"]["kind"] == "JobSet"
    ]


@pytest.mark.rule("jobs B.10")
async def test_a_jobset_runs_to_its_end(fleet: Fleet) -> None:
    cluster = await start(fleet)
    await create(fleet, cluster, replicated("driver"), replicated("worker", 2, pods=2))
    assert await names(cluster, JOB) == ["train-driver-0", "train-worker-0", "train-worker-1"]
    service = await cluster.client.get(SERVICE, "train", "default")
    pods = await apps.pods(cluster.client)
    assert len(pods) == 5
    worker = next(pod for pod in pods if pod["metadata"]["name"].startswith("train-worker-1-1-"))
    assert worker["spec"]["hostname"] == "train-worker-1-1"
    assert worker["spec"]["subdomain"] == "train"
    assert service["spec"]["selector"].items() <= worker["metadata"]["labels"].items()
    assert worker["metadata"]["labels"]["jobset.sigs.k8s.io/job-global-index"] == "2"

    await move(fleet, cluster, "Running")
    found = await read(cluster)
    assert counts(found, "driver") == {"ready": 1, "active": 1}
    assert counts(found, "worker") == {"ready": 2, "active": 2}
    assert [each["name"] for each in found["status"]["replicatedJobsStatus"]] == [
        "worker",
        "driver",
    ]

    await move(fleet, cluster, "Succeeded", "driver")
    assert "terminalState" not in (await read(cluster))["status"]
    await move(fleet, cluster, "Succeeded")
    found = await read(cluster)
    assert states(found) == {"Completed": ("True", "AllJobsCompleted")}
    assert found["status"]["terminalState"] == "Completed"
    assert counts(found, "worker") == {"succeeded": 2}
    assert await events(fleet, cluster) == [("AllJobsCompleted", "jobset completed successfully")]
    revision = cluster.instance.core.store.revision
    await fleet.passes(minutes=5)
    assert cluster.instance.core.store.revision == revision


async def test_success_of_one_stops_the_others(fleet: Fleet) -> None:
    cluster = await start(fleet)
    policy = {"operator": "Any", "targetReplicatedJobs": ["driver"]}
    await create(fleet, cluster, replicated("driver"), replicated("worker"), successPolicy=policy)
    await move(fleet, cluster, "Running")
    await move(fleet, cluster, "Succeeded", "driver")
    assert (await read(cluster))["status"]["terminalState"] == "Completed"
    assert await names(cluster, JOB) == ["train-driver-0"]


@pytest.mark.rule("jobs B.3.4")
async def test_a_failure_starts_everything_again_as_often_as_allowed(fleet: Fleet) -> None:
    cluster = await start(fleet)
    worker = replicated("worker", job={"backoffLimit": 0})
    worker["template"]["spec"]["template"]["spec"]["restartPolicy"] = "Never"
    await create(fleet, cluster, replicated("driver"), worker, failurePolicy={"maxRestarts": 1})
    await move(fleet, cluster, "Running")
    await move(fleet, cluster, "Failed", "worker")
    found = await read(cluster)
    assert (found["status"]["restarts"], found["status"]["restartsCountTowardsMax"]) == (1, 1)
    assert states(found) == {"RestartingJobSet": ("True", "DefaultFailurePolicy")}

    jobs = (await cluster.client.list(JOB, "default")).items
    attempts = {each["metadata"]["labels"]["jobset.sigs.k8s.io/restart-attempt"] for each in jobs}
    assert (len(jobs), attempts) == (2, {"1"})
    await move(fleet, cluster, "Running")
    assert states(await read(cluster)) == {"RestartingJobSet": ("False", "JobsReady")}

    await move(fleet, cluster, "Failed", "worker")
    found = await read(cluster)
    assert states(found) == {
        "RestartingJobSet": ("False", "JobSetFailed"),
        "Failed": ("True", "ReachedMaxRestarts"),
    }
    assert found["status"]["terminalState"] == "Failed"
    told = await events(fleet, cluster)
    text = "applying RestartJobSet failure policy action (first failed job: train-worker-0)"
    assert ("RestartJobSetFailurePolicyAction", text) in told


@pytest.mark.rule("jobs A.18")
async def test_suspension_and_resumption_reach_the_jobs(fleet: Fleet) -> None:
    cluster = await start(fleet)
    await create(fleet, cluster, replicated("worker", 2), suspend=True)
    jobs = (await cluster.client.list(JOB, "default")).items
    assert [each["spec"]["suspend"] for each in jobs] == [True, True]
    assert await apps.pods(cluster.client) == []
    assert states(await read(cluster)) == {"Suspended": ("True", "SuspendedJobs")}

    patch = {"spec": dict((await read(cluster))["spec"], suspend=False)}
    template = patch["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    template["spec"]["nodeSelector"] = {"pool": "a"}
    template["metadata"] = {"labels": {"queue": "q"}}
    await cluster.client.patch(JOB_SET, "train", patch, "default")
    await fleet.settle()
    pods = await apps.pods(cluster.client)
    assert [pod["spec"]["nodeSelector"] for pod in pods] == [{"pool": "a"}] * 2
    assert [pod["metadata"]["labels"]["queue"] for pod in pods] == ["q", "q"]
    assert states(await read(cluster)) == {"Suspended": ("False", "ResumeJobs")}
    await move(fleet, cluster, "Running")
    assert counts(await read(cluster), "worker") == {"ready": 2, "active": 2}

    await cluster.client.patch(JOB_SET, "train", {"spec": {"suspend": True}}, "default")
    await fleet.settle()
    assert states(await read(cluster)) == {"Suspended": ("True", "SuspendedJobs")}
    assert counts(await read(cluster), "worker") == {"suspended": 2}
    assert await apps.pods(cluster.client) == []

    await cluster.client.patch(JOB_SET, "train", {"spec": {"suspend": False}}, "default")
    await fleet.settle()
    assert len(await apps.pods(cluster.client)) == 2
    assert await events(fleet, cluster) == [
        ("SuspendedJobs", "jobset is suspended"),
        ("ResumeJobs", "jobset is resumed"),
    ]


async def test_what_depends_on_another_starts_after_it(fleet: Fleet) -> None:
    cluster = await start(fleet)
    depends = [{"name": "first", "status": "Complete"}]
    await create(fleet, cluster, replicated("first"), replicated("then", dependsOn=depends))
    await move(fleet, cluster, "Running")
    assert await names(cluster, JOB) == ["train-first-0"]
    await move(fleet, cluster, "Succeeded")
    assert await names(cluster, JOB) == ["train-first-0", "train-then-0"]


async def test_a_finished_jobset_goes_after_its_time(fleet: Fleet) -> None:
    cluster = await start(fleet)
    await create(fleet, cluster, replicated("a"), ttlSecondsAfterFinished=300)
    await move(fleet, cluster, "Running")
    await move(fleet, cluster, "Succeeded")
    await fleet.passes(seconds=290)
    assert (await read(cluster))["status"]["terminalState"] == "Completed"
    await fleet.passes(seconds=20)
    with pytest.raises(NotFound):
        await read(cluster)
    assert await names(cluster, JOB) == []


@pytest.mark.rule("jobs A.18")
async def test_a_jobset_that_another_manages_is_not_touched(fleet: Fleet) -> None:
    cluster = await start(fleet)
    await create(fleet, cluster, replicated("a"), managedBy="kueue.x-k8s.io/multikueue")
    assert "status" not in await read(cluster)
    assert await names(cluster, JOB) == []
    assert "train" not in await names(cluster, SERVICE)
