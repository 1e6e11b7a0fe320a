"""TrainJobs on a whole server with the JobSet and Job controllers, pods moved by hand."""

from typing import Any

import pytest
from tests.support import apps, operated, train_jobs

from fleetqueue.kube.errors import Forbidden, Invalid, NotFound
from fleetqueue.kube.resources import Object, Resource
from fleetqueue.runtime.controllers import job
from fleetqueue.runtime.kinds import (
    CLUSTER_TRAINING_RUNTIME,
    CONFIG_MAP,
    JOB,
    JOB_SET,
    SECRET,
    SERVICE,
    TRAIN_JOB,
    TRAINING_RUNTIME,
)
from fleetqueue.runtime.operators import job_set, train_job
from fleetqueue.runtime.operators.training_runtimes import preinstalled, runtimes
from fleetqueue.testing import Fleet, FleetCluster

pytestmark = [
    pytest.mark.rule("jobs B.6"),
    pytest.mark.rule("jobs B.10"),
    pytest.mark.rule("jobs D.2"),
]

QUOTA = Resource("", "v1", "resourcequotas", "ResourceQuota")


async def start(fleet: Fleet, *named: str) -> FleetCluster:
    """With these of the runtimes; the usual one where none is named."""
    cluster = await operated.start(
        fleet,
        job.job_operator(),
        job_set.OPERATOR,
        train_job.OPERATOR,
        groups=("jobset.x-k8s.io", "trainer.kubeflow.org"),
        webhooks=(job_set.WEBHOOK, *train_job.WEBHOOKS),
    )
    for obj in preinstalled():
        wanted = named or ("torch-distributed",)
        if obj["kind"] != "ClusterTrainingRuntime" or obj["metadata"]["name"] in wanted:
            await cluster.client.create(obj)
    await fleet.settle()
    return cluster


async def create(fleet: Fleet, cluster: FleetCluster, *about: str, **spec: Any) -> Object:
    return await operated.create(fleet, cluster, train_jobs.job(*about, **spec))


async def read(cluster: FleetCluster) -> Object:
    return await operated.get(cluster, TRAIN_JOB, "run")


async def move(fleet: Fleet, cluster: FleetCluster, phase: str) -> None:
    for pod in await apps.pods(cluster.client):
        await apps.move(cluster.client, pod, phase, ready=phase == "Running", at=fleet.clock.now())
    await fleet.settle()


@pytest.mark.rule("jobs D.9")
async def test_two_nodes_run_to_completion(fleet: Fleet) -> None:
    cluster = await start(fleet)
    trainer = {
        "numNodes": 2,
        "resourcesPerNode": {"requests": {"cpu": 2.0}, "limits": {"cpu": 2.0}},
    }
    await create(fleet, cluster, trainer=trainer)
    found = await apps.pods(cluster.client)
    assert [pod["metadata"]["name"][:13] for pod in found] == ["run-node-0-0-", "run-node-0-1-"]
    container = found[1]["spec"]["containers"][0]
    told = {each["name"]: each.get("value") for each in container["env"]}
    assert told["PET_NNODES"] == "2"
    assert told["PET_NPROC_PER_NODE"] == "2"
    assert found[1]["spec"]["subdomain"] == "run"
    assert found[1]["spec"]["hostname"] == "run-node-0-1"
    assert container["ports"] == [{"containerPort": 29500, "protocol": "TCP"}]
    await move(fleet, cluster, "Running")
    running = await read(cluster)
    assert "conditions" not in running["status"]
    assert running["status"]["jobsStatus"] == [
        {"name": "node", "ready": 1, "succeeded": 0, "failed": 0, "active": 1, "suspended": 0}
    ]
    await move(fleet, cluster, "Succeeded")
    assert operated.conditions(await read(cluster)) == {
        "Complete": ("True", "AllJobsCompleted", "jobset completed successfully")
    }
    assert await operated.names(cluster, JOB_SET) == ["run"]
    await cluster.client.delete(TRAIN_JOB, "run", "default")
    await fleet.passes(seconds=60)
    await fleet.settle()
    for kind in (JOB_SET, JOB, SERVICE, SECRET):
        assert "run" not in "".join(await operated.names(cluster, kind))
    left = await operated.names(cluster, CONFIG_MAP)
    assert not [name for name in left if name.startswith("run")]


async def test_a_failed_job_set_fails_the_job(fleet: Fleet) -> None:
    cluster = await start(fleet)
    source = train_jobs.runtime("plain")
    source["metadata"]["name"] = "once"
    spec = source["spec"]["template"]["spec"]
    spec["replicatedJobs"][0]["template"]["spec"]["backoffLimit"] = 0
    spec["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["restartPolicy"] = "Never"
    await cluster.client.create(source)
    await fleet.settle()
    await create(fleet, cluster, "once")
    await move(fleet, cluster, "Failed")
    failed = operated.conditions(await read(cluster))["Failed"]
    theirs = operated.conditions(await operated.get(cluster, JOB_SET, "run"))["Failed"]
    assert failed == theirs
    assert failed[:2] == ("True", "FailedJobs")


@pytest.mark.rule("jobs A.18")
async def test_suspended_jobs_wait_take_patches_and_go_on(fleet: Fleet) -> None:
    cluster = await start(fleet)
    patch = {"manager": "kueue.x-k8s.io/manager"}
    await create(fleet, cluster, suspend=True, runtimePatches=[patch])
    assert await apps.pods(cluster.client) == []
    waiting = await operated.get(cluster, JOB_SET, "run")
    assert waiting["spec"]["suspend"] is True
    assert operated.conditions(await read(cluster)) == {
        "Suspended": ("True", "Suspended", "TrainJob is suspended")
    }
    template = {
        "spec": {
            "template": {
                "metadata": {"labels": {"from": "queue"}},
                "spec": {"nodeSelector": {"pool": "a"}},
            }
        }
    }
    spec = {"replicatedJobs": [{"name": "node", "template": template}]}
    filled = {**patch, "trainingRuntimeSpec": {"template": {"spec": spec}}}
    change = {"spec": {"suspend": False, "runtimePatches": [filled]}}
    await operated.change(fleet, cluster, TRAIN_JOB, "run", change)
    (pod,) = await apps.pods(cluster.client)
    assert pod["metadata"]["labels"]["from"] == "queue"
    assert pod["spec"]["nodeSelector"] == {"pool": "a"}
    resumed = operated.conditions(await read(cluster))
    assert resumed == {"Suspended": ("False", "Resumed", "TrainJob is resumed")}
    with pytest.raises(Forbidden, match="RuntimePatches can only be modified when"):
        await operated.change(
            fleet, cluster, TRAIN_JOB, "run", {"spec": {"runtimePatches": [patch]}}
        )
    await operated.change(fleet, cluster, TRAIN_JOB, "run", {"spec": {"suspend": True}})
    await operated.remove_ended_pods(fleet, cluster)
    assert (await operated.get(cluster, JOB_SET, "run"))["spec"]["suspend"] is True
    assert await apps.pods(cluster.client) == []


async def test_a_deadline_ends_the_job_and_its_pods(fleet: Fleet) -> None:
    cluster = await start(fleet)
    await create(fleet, cluster, activeDeadlineSeconds=30)
    await move(fleet, cluster, "Running")
    await fleet.passes(seconds=40)
    await fleet.settle()
    assert operated.conditions(await read(cluster)) == {
        "Failed": ("True", "DeadlineExceeded", "TrainJob exceeded its active deadline")
    }
    assert await operated.names(cluster, JOB_SET) == []
    await fleet.passes(minutes=5)
    assert await operated.names(cluster, JOB_SET) == []


async def test_a_job_runs_on_after_its_runtime_is_gone(fleet: Fleet) -> None:
    cluster = await start(fleet)
    await create(fleet, cluster, suspend=True)
    await cluster.client.delete(CLUSTER_TRAINING_RUNTIME, "torch-distributed")
    await fleet.settle()
    await cluster.client.delete(JOB_SET, "run", "default")
    await fleet.settle()
    assert await operated.names(cluster, JOB_SET) == ["run"]


async def test_a_job_that_is_made_again_under_its_name_starts_anew(fleet: Fleet) -> None:
    cluster = await start(fleet)
    await create(fleet, cluster)
    await move(fleet, cluster, "Succeeded")
    await cluster.client.delete(TRAIN_JOB, "run", "default")
    parent = train_jobs.job()
    parent["metadata"] = {"name": "run", "namespace": "default"}
    await cluster.client.create(parent)
    await fleet.passes(seconds=30)
    await operated.remove_ended_pods(fleet, cluster)
    await fleet.passes(seconds=30)
    assert "conditions" not in (await read(cluster))["status"]
    (pod,) = await apps.pods(cluster.client)
    assert pod["status"]["phase"] == "Pending"


async def test_mpi_gets_keys_and_hosts_and_the_launcher_waits_for_its_nodes(fleet: Fleet) -> None:
    cluster = await start(fleet, "deepspeed-distributed")
    await create(fleet, cluster, "deepspeed-distributed", trainer={"numNodes": 3})
    secret = await operated.get(cluster, SECRET, "run-mpi-ssh-auth")
    assert secret["type"] == "kubernetes.io/ssh-auth"
    assert set(secret["data"]) == {"ssh-privatekey", "ssh-publickey"}
    hosts = await operated.get(cluster, CONFIG_MAP, "run-mpi-hostfile")
    assert hosts["data"]["hostfile"].splitlines() == [
        "run-launcher-0-0.run slots=1",
        "run-node-0-0.run slots=1",
        "run-node-0-1.run slots=1",
    ]
    assert await operated.names(cluster, JOB) == ["run-node-0"]
    await move(fleet, cluster, "Running")
    assert await operated.names(cluster, JOB) == ["run-launcher-0", "run-node-0"]
    before = (await operated.get(cluster, SECRET, "run-mpi-ssh-auth"))["data"]
    assert before == secret["data"]


@pytest.mark.rule("jobs A.18")
async def test_a_job_for_another_controller_is_not_touched(fleet: Fleet) -> None:
    cluster = await start(fleet)
    await create(fleet, cluster, managedBy="kueue.x-k8s.io/multikueue")
    assert await operated.names(cluster, JOB_SET) == []
    assert "status" not in await read(cluster)


async def test_a_runtime_of_the_namespace_is_taken_when_named(fleet: Fleet) -> None:
    cluster = await start(fleet)
    local = {**train_jobs.runtime("plain"), "kind": "TrainingRuntime"}
    local["metadata"] = {"name": "mine", "namespace": "default"}
    await cluster.client.create(local)
    parent = train_jobs.job("mine")
    parent["spec"]["runtimeRef"]["kind"] = "TrainingRuntime"
    await operated.create(fleet, cluster, parent)
    assert len(await apps.pods(cluster.client)) == 1


async def test_a_refused_job_set_is_told_and_tried_again(fleet: Fleet) -> None:
    cluster = await start(fleet)
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "none", "namespace": "default"},
        "spec": {"hard": {"count/jobsets.jobset.x-k8s.io": "0"}},
    }
    await cluster.client.create(quota)
    await fleet.passes(seconds=1)
    await cluster.client.create(
        {**train_jobs.job(suspend=True), "metadata": {"name": "run", "namespace": "default"}}
    )
    await fleet.passes(seconds=2)
    told = await apps.events(cluster.client, "TrainJob")
    assert told
    assert {reason for reason, _ in told} == {"TrainJobResourcesCreationFailed"}
    assert told[0][1].startswith("TrainJob resources reconciliation failed: ")
    assert "Suspended" in operated.conditions(await read(cluster))
    await cluster.client.delete(QUOTA, "none", "default")
    await fleet.settle()
    assert await operated.names(cluster, JOB_SET) == ["run"]


@pytest.mark.rule("jobs B.6.4")
async def test_bad_jobs_are_refused(fleet: Fleet) -> None:
    cluster = await start(fleet)
    with pytest.raises(Forbidden) as error:
        await create(fleet, cluster, "none")
    assert str(error.value).startswith(
        'admission webhook "validator.trainjob.trainer.kubeflow.org" denied the request: '
        "spec.RuntimeRef: Invalid value: "
    )
    with pytest.raises(Invalid, match="must match RFC 1035 DNS label format"):
        await create(fleet, cluster, name="1run")
    with pytest.raises(Invalid, match="ManagedBy must be "):
        await create(fleet, cluster, managedBy="acme.io/x")
    await create(fleet, cluster)
    change = {"spec": {"runtimeRef": {"name": "jax-distributed"}}}
    with pytest.raises(Invalid, match="field is immutable"):
        await operated.change(fleet, cluster, TRAIN_JOB, "run", change)


@pytest.mark.rule("jobs D.3")
@pytest.mark.rule("jobs D.9")
async def test_preinstalled_runtimes_are_stored_as_they_are_said(fleet: Fleet) -> None:
    cluster = await start(fleet, *(each["metadata"]["name"] for each in runtimes()))
    found = (await cluster.client.list(CLUSTER_TRAINING_RUNTIME)).items
    frameworks = {
        each["metadata"]["name"]: each["metadata"]["labels"]["trainer.kubeflow.org/framework"]
        for each in found
    }
    assert frameworks == {
        "torch-distributed": "torch",
        "jax-distributed": "jax",
        "xgboost-distributed": "xgboost",
        "plain": "plain",
        "deepspeed-distributed": "deepspeed",
        "mlx-distributed": "mlx",
        "torchtune-llama3.2-1b": "torchtune",
        "torchtune-llama3.2-3b": "torchtune",
        "torchtune-qwen2.5-1.5b": "torchtune",
    }
    policies = {each["metadata"]["name"]: each["spec"]["mlPolicy"] for each in found}
    assert policies["torch-distributed"] == {"numNodes": 1, "torch": {}}
    assert policies["plain"] == {"numNodes": 1}
    for each in found:
        for replicated in each["spec"]["template"]["spec"]["replicatedJobs"]:
            for container in replicated["template"]["spec"]["template"]["spec"]["containers"]:
                # The SDK fails on limits that name none of the devices it knows.
                limits = (container.get("resources") or {}).get("limits")
                assert limits is None or "nvidia.com/gpu" in limits
    public = await cluster.client.get(CONFIG_MAP, "kubeflow-trainer-public", "kubeflow-system")
    assert public["data"] == {"kubeflow_trainer_version": "v2.3.0"}


@pytest.mark.rule("jobs D.3")
async def test_a_runtime_has_one_policy(fleet: Fleet) -> None:
    cluster = await start(fleet)
    both = train_jobs.runtime()
    both["metadata"]["name"] = "both"
    both["spec"]["mlPolicy"]["jax"] = {}
    with pytest.raises(Invalid, match="Only one of the policy can be configured"):
        await cluster.client.create(both)
    with pytest.raises(NotFound):
        await cluster.client.get(TRAINING_RUNTIME, "both", "default")
