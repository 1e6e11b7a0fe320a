"""MPIJobs on a whole server with the Job controller, pods moved by hand."""

from typing import Any

import pytest
from tests.support import apps, mpi_jobs, operated

from fleetqueue.kube.resources import Object
from fleetqueue.runtime.controllers import job
from fleetqueue.runtime.kinds import CONFIG_MAP, JOB, MPI_JOB, POD, SECRET, SERVICE
from fleetqueue.runtime.operators import mpi_job
from fleetqueue.testing import Fleet, FleetCluster

pytestmark = [
    pytest.mark.rule("jobs B.5"),
    pytest.mark.rule("jobs B.10"),
    pytest.mark.rule("jobs D.5"),
]


async def start(fleet: Fleet) -> FleetCluster:
    return await operated.start(
        fleet, job.job_operator(), mpi_job.OPERATOR, groups=(mpi_jobs.GROUP,)
    )


async def create(fleet: Fleet, cluster: FleetCluster, *about: int, **spec: Any) -> Object:
    return await operated.create(fleet, cluster, mpi_jobs.job(*about, **spec))


async def read(cluster: FleetCluster) -> Object:
    return await operated.get(cluster, MPI_JOB, "pi")


async def move(fleet: Fleet, cluster: FleetCluster, role: str, phase: str) -> None:
    for pod in await apps.pods(cluster.client):
        if pod["metadata"]["labels"]["training.kubeflow.org/job-role"] == role:
            now = fleet.clock.now()
            await apps.move(cluster.client, pod, phase, ready=phase == "Running", at=now)
    await fleet.settle()


async def test_a_launcher_drives_its_workers_to_the_end(fleet: Fleet) -> None:
    cluster = await start(fleet)
    await create(fleet, cluster, run_policy={"cleanPodPolicy": "Running"})
    assert await operated.names(cluster, JOB) == ["pi-launcher"]
    stored = await read(cluster)
    assert stored["spec"]["slotsPerWorker"] == 1
    assert stored["spec"]["launcherCreationPolicy"] == "AtStartup"
    await move(fleet, cluster, "worker", "Running")
    config = await operated.get(cluster, CONFIG_MAP, "pi-config")
    assert config["data"]["discover_hosts.sh"].splitlines() == [
        "#!/bin/sh",
        "echo pi-worker-0.pi.default.svc:1",
        "echo pi-worker-1.pi.default.svc:1",
    ]
    assert "Running" not in operated.conditions(await read(cluster))
    await move(fleet, cluster, "launcher", "Running")
    running = await read(cluster)
    assert operated.conditions(running)["Running"] == (
        "True",
        "MPIJobRunning",
        "MPIJob default/pi is running.",
    )
    assert running["status"]["replicaStatuses"] == {
        "Launcher": {"active": 1},
        "Worker": {"active": 2},
    }
    await move(fleet, cluster, "launcher", "Succeeded")
    await operated.remove_ended_pods(fleet, cluster)
    over = await read(cluster)
    assert operated.conditions(over)["Succeeded"][1] == "MPIJobSucceeded"
    assert operated.conditions(over)["Running"][0] == "False"
    launcher = await operated.get(cluster, JOB, "pi-launcher")
    assert over["status"]["completionTime"] == launcher["status"]["completionTime"]
    left = [pod["metadata"]["name"] for pod in await apps.pods(cluster.client)]
    assert [name.startswith("pi-launcher") for name in left] == [True]
    reasons = [reason for reason, _ in await apps.events(cluster.client, "MPIJob")]
    assert sorted(set(reasons)) == ["MPIJobCreated", "MPIJobRunning", "MPIJobSucceeded"]
    await cluster.client.delete(MPI_JOB, "pi", "default")
    await fleet.passes(seconds=60)
    for kind in (JOB, SERVICE, CONFIG_MAP, SECRET):
        assert not [name for name in await operated.names(cluster, kind) if name.startswith("pi")]


@pytest.mark.rule("jobs A.19")
async def test_workers_of_a_suspended_job_are_active_until_they_are_gone(fleet: Fleet) -> None:
    cluster = await start(fleet)
    bound = {"template": {"spec": {"nodeName": "one", "containers": [{"name": "m", "image": "m"}]}}}
    await create(fleet, cluster, worker=bound, launcher=bound)
    await move(fleet, cluster, "worker", "Running")
    await move(fleet, cluster, "launcher", "Running")
    await operated.change(fleet, cluster, MPI_JOB, "pi", {"spec": {"runPolicy": {"suspend": True}}})
    counts = (await read(cluster))["status"]["replicaStatuses"]
    assert counts == {"Launcher": {"active": 1}, "Worker": {"active": 2}}
    await operated.remove_ended_pods(fleet, cluster)
    counts = (await read(cluster))["status"]["replicaStatuses"]
    assert counts == {"Launcher": {}, "Worker": {}}


@pytest.mark.rule("jobs A.18")
async def test_a_suspended_job_waits_and_keeps_its_launcher_waiting(fleet: Fleet) -> None:
    cluster = await start(fleet)
    await create(fleet, cluster, run_policy={"suspend": True})
    assert await operated.names(cluster, POD) == []
    assert (await operated.get(cluster, JOB, "pi-launcher"))["spec"]["suspend"] is True
    path = {"mpiReplicaSpecs": {"Launcher": {"template": {"spec": {"nodeSelector": {"p": "a"}}}}}}
    change = {"spec": {**path, "runPolicy": {"suspend": False}}}
    await operated.change(fleet, cluster, MPI_JOB, "pi", change)
    found = await apps.pods(cluster.client)
    assert len(found) == 3
    assert found[0]["spec"]["nodeSelector"] == {"p": "a"}
    await move(fleet, cluster, "worker", "Running")
    await move(fleet, cluster, "launcher", "Running")
    await operated.change(fleet, cluster, MPI_JOB, "pi", {"spec": {"runPolicy": {"suspend": True}}})
    await operated.remove_ended_pods(fleet, cluster)
    assert await operated.names(cluster, POD) == []
    told = operated.conditions(await read(cluster))
    assert told["Suspended"] == ("True", "MPIJobSuspended", "MPIJob suspended")
    assert told["Running"][0] == "False"
    await fleet.passes(minutes=1)
    resume = {"spec": {"runPolicy": {"suspend": False}}}
    await operated.change(fleet, cluster, MPI_JOB, "pi", resume)
    assert len(await apps.pods(cluster.client)) == 3
    assert operated.conditions(await read(cluster))["Suspended"][1] == "MPIJobResumed"


async def test_a_launcher_that_fails_too_often_fails_the_job(fleet: Fleet) -> None:
    cluster = await start(fleet)
    launcher = {"restartPolicy": "Never"}
    await create(fleet, cluster, 1, run_policy={"backoffLimit": 0}, launcher=launcher)
    await move(fleet, cluster, "launcher", "Failed")
    await fleet.passes(seconds=30)
    await fleet.settle()
    failed = operated.conditions(await read(cluster))["Failed"]
    assert failed[1].startswith("BackoffLimitExceeded/")
    assert failed[2].startswith("Job has reached the specified backoff limit")


async def test_a_bad_job_is_stored_and_told(fleet: Fleet) -> None:
    cluster = await start(fleet)
    await create(fleet, cluster, 0)
    await fleet.passes(seconds=1)
    ((reason, text),) = await apps.events(cluster.client, "MPIJob")
    assert reason == "ValidationError"
    assert "must be greater than or equal to 1" in text
    assert await operated.names(cluster, POD) == []
    assert "status" not in await read(cluster)


@pytest.mark.rule("jobs A.18")
async def test_a_job_for_another_controller_is_not_touched(fleet: Fleet) -> None:
    cluster = await start(fleet)
    await create(fleet, cluster, run_policy={"managedBy": "kueue.x-k8s.io/multikueue"})
    assert await operated.names(cluster, JOB) == []
    assert "status" not in await read(cluster)
