"""Training jobs of kubeflow.org/v1 on a whole server, pods moved by hand."""

from typing import Any

import pytest
from tests.support import apps, training
from tests.support.training import JAX, PYTORCH

from fleetqueue.api.crds import all_crds
from fleetqueue.kube import subresources
from fleetqueue.kube.calls import PatchType
from fleetqueue.kube.errors import NotFound
from fleetqueue.kube.frame import Operator, controller_of
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.kinds import POD, SERVICE
from fleetqueue.runtime.operators import jax_job, paddle_job, pytorch_job, tf_job, xgboost_job
from fleetqueue.runtime.operators.pytorch_autoscaler import AUTOSCALER
from fleetqueue.runtime.operators.training_kinds import Family
from fleetqueue.testing import Fleet, FleetCluster

pytestmark = [pytest.mark.rule("jobs B.4"), pytest.mark.rule("jobs D.4")]

OPERATORS: tuple[Operator, ...] = (
    pytorch_job.OPERATOR,
    tf_job.OPERATOR,
    xgboost_job.OPERATOR,
    paddle_job.OPERATOR,
    jax_job.OPERATOR,
)


async def start(fleet: Fleet, family: Family) -> FleetCluster:
    cluster = await fleet.add_cluster("one")
    for crd in all_crds("kubeflow.org"):
        if crd["spec"]["names"]["kind"] == family.name:
            await cluster.client.create(crd)
    await fleet.settle()
    [operator] = [each for each in OPERATORS if each.kind == family.kind]
    fleet.run(controller_of(operator), on=cluster)
    return cluster


async def create(fleet: Fleet, cluster: FleetCluster, obj: Object) -> None:
    del obj["metadata"]["uid"]
    await cluster.client.create(obj)
    await fleet.settle()


async def read(cluster: FleetCluster, family: Family) -> Object:
    return dict(await cluster.client.get(family.kind, "mnist", "default"))


async def move(
    fleet: Fleet, cluster: FleetCluster, family: Family, pod: str, phase: str, code: int = 0
) -> None:
    status: Object = {"phase": phase}
    if phase in ("Succeeded", "Failed"):
        ended = {"exitCode": code, "reason": "Error" if code else "Completed"}
        status["containerStatuses"] = [
            {
                "name": family.container,
                "image": "i",
                "imageID": "",
                "ready": False,
                "restartCount": 0,
                "state": {"terminated": ended},
            }
        ]
    await cluster.client.patch(
        POD,
        f"mnist-{pod}",
        {"status": status},
        "default",
        type=PatchType.STRATEGIC,
        subresource="status",
    )
    await fleet.settle()


async def bind(cluster: FleetCluster) -> None:
    """A node takes the pods, so that they end only when it says so."""
    for pod in await apps.pods(cluster.client):
        if not pod["spec"].get("nodeName"):
            await subresources.bind(cluster.client, pod["metadata"]["name"], "node", "default")


def states(found: Object) -> list[tuple[str, str]]:
    return [(each["type"], each["status"]) for each in found["status"]["conditions"]]


async def names(cluster: FleetCluster, kind: Any) -> list[str]:
    found = (await cluster.client.list(kind, "default")).items
    return sorted(
        each["metadata"]["name"] for each in found if each["metadata"]["name"].startswith("mnist")
    )


async def events(fleet: Fleet, cluster: FleetCluster) -> list[tuple[str, str]]:
    await fleet.passes(seconds=1)
    found = (await cluster.client.list(apps.EVENT, "default")).items
    return [(each["reason"], each["message"]) for each in found]


LED = {"PyTorchJob": "master", "XGBoostJob": "master", "PaddleJob": "master", "TFJob": "chief"}


@pytest.mark.rule("jobs B.10")
@pytest.mark.parametrize("family", training.FAMILIES, ids=lambda family: family.name)
async def test_a_job_runs_to_its_end(fleet: Fleet, family: Family) -> None:
    cluster = await start(fleet, family)
    leader = LED.get(family.name)
    roles = {leader.capitalize(): 1, "Worker": 1} if leader else {"Worker": 2}
    policy = {"cleanPodPolicy": "Running"}
    await create(fleet, cluster, training.job(family, roles, runPolicy=policy))
    pods = [f"{leader}-0", "worker-0"] if leader else ["worker-0", "worker-1"]
    assert await names(cluster, POD) == [f"mnist-{pod}" for pod in pods]
    assert await names(cluster, SERVICE) == [f"mnist-{pod}" for pod in pods]

    for pod in pods:
        await move(fleet, cluster, family, pod, "Running")
    found = await read(cluster, family)
    assert states(found) == [("Created", "True"), ("Running", "True")]
    assert found["status"]["replicaStatuses"]["Worker"]["active"] == (1 if leader else 2)

    await move(fleet, cluster, family, pods[0], "Succeeded")
    if not leader:
        await move(fleet, cluster, family, pods[1], "Succeeded")
    found = await read(cluster, family)
    assert states(found) == [("Created", "True"), ("Running", "False"), ("Succeeded", "True")]
    assert found["status"]["completionTime"]
    if leader:
        assert found["status"]["replicaStatuses"]["Worker"]["succeeded"] == 1
        assert await names(cluster, POD) == [f"mnist-{leader}-0"]
        assert await names(cluster, SERVICE) == [f"mnist-{leader}-0"]
    told = await events(fleet, cluster)
    assert ("SuccessfulCreatePod", f"Created pod: mnist-{pods[0]}") in told
    assert ("ExitedWithCode", f"Pod: default.mnist-{pods[0]} exited with code 0") in told
    assert f"{family.name}Succeeded" in [reason for reason, _ in told]
    revision = cluster.instance.core.store.revision
    await fleet.passes(minutes=5)
    assert cluster.instance.core.store.revision == revision


async def test_a_failed_worker_is_replaced(fleet: Fleet) -> None:
    cluster = await start(fleet, PYTORCH)
    roles = {"Master": 1, "Worker": {"replicas": 1, "restartPolicy": "ExitCode"}}
    await create(fleet, cluster, training.job(PYTORCH, roles))
    await move(fleet, cluster, PYTORCH, "master-0", "Running")
    await move(fleet, cluster, PYTORCH, "worker-0", "Running")
    first = await cluster.client.get(POD, "mnist-worker-0", "default")
    await move(fleet, cluster, PYTORCH, "worker-0", "Failed", 137)
    second = await cluster.client.get(POD, "mnist-worker-0", "default")
    assert first["metadata"]["uid"] != second["metadata"]["uid"]
    assert second["status"]["phase"] == "Pending"
    told = await events(fleet, cluster)
    text = "job mnist is restarting because Worker replica(s) failed."
    assert ("PyTorchJobRestarting", text) in told
    assert ("ExitedWithCode", "Pod: default.mnist-worker-0 exited with code 137") in told
    await move(fleet, cluster, PYTORCH, "worker-0", "Running")
    assert states(await read(cluster, PYTORCH)) == [("Created", "True"), ("Running", "True")]
    await move(fleet, cluster, PYTORCH, "worker-0", "Failed", 3)
    found = await read(cluster, PYTORCH)
    assert states(found)[-1] == ("Failed", "True")
    assert found["status"]["conditions"][-1]["message"] == (
        'job "mnist" is failing because "Worker" replica(s) failed.'
    )


async def test_suspension_ends_when_the_pods_are_gone_and_resumption_starts_anew(
    fleet: Fleet,
) -> None:
    cluster = await start(fleet, JAX)
    await create(fleet, cluster, training.job(JAX, {"Worker": 2}))
    await bind(cluster)
    for pod in ("worker-0", "worker-1"):
        await move(fleet, cluster, JAX, pod, "Running")
    await fleet.passes(minutes=1)
    patch = {"spec": {"runPolicy": {"suspend": True}}}
    await cluster.client.patch(JAX.kind, "mnist", patch, "default")
    await fleet.settle()
    found = await read(cluster, JAX)
    assert states(found) == [("Created", "True"), ("Running", "False"), ("Suspended", "True")]
    assert found["status"]["replicaStatuses"]["Worker"]["active"] == 2
    assert await names(cluster, SERVICE) == []

    await fleet.passes(minutes=1)
    patch = {"spec": {"runPolicy": {"suspend": False}}}
    await cluster.client.patch(JAX.kind, "mnist", patch, "default")
    await fleet.settle()
    found = await read(cluster, JAX)
    assert states(found)[-1] == ("Suspended", "False")
    assert ("Failed", "True") not in states(found)
    for pod in ("mnist-worker-0", "mnist-worker-1"):
        await cluster.client.delete(POD, pod, "default", grace_period_seconds=0)
    await fleet.settle()
    assert await names(cluster, POD) == ["mnist-worker-0", "mnist-worker-1"]
    for pod in ("worker-0", "worker-1"):
        await move(fleet, cluster, JAX, pod, "Running")
    assert states(await read(cluster, JAX))[-1] == ("Running", "True")


async def test_a_job_that_runs_too_long_fails_and_is_gone_later(fleet: Fleet) -> None:
    cluster = await start(fleet, JAX)
    policy = {"activeDeadlineSeconds": 60, "ttlSecondsAfterFinished": 60}
    await create(fleet, cluster, training.job(JAX, {"Worker": 1}, runPolicy=policy))
    await move(fleet, cluster, JAX, "worker-0", "Running")
    await fleet.passes(seconds=50)
    assert states(await read(cluster, JAX))[-1] == ("Running", "True")
    await fleet.passes(seconds=15)
    found = await read(cluster, JAX)
    assert found["status"]["conditions"][-1]["message"] == (
        "Job mnist has failed because it was active longer than specified deadline"
    )
    assert await names(cluster, POD) == []
    await fleet.passes(seconds=70)
    with pytest.raises(NotFound):
        await read(cluster, JAX)


async def test_an_elastic_job_scales_by_its_workers(fleet: Fleet) -> None:
    cluster = await start(fleet, PYTORCH)
    target = {"type": "Utilization", "averageUtilization": 80}
    metrics = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    elastic = {"minReplicas": 1, "maxReplicas": 3, "metrics": metrics}
    await create(fleet, cluster, training.job(PYTORCH, {"Worker": 2}, elasticPolicy=elastic))
    scaler = await cluster.client.get(AUTOSCALER, "mnist", "default")
    assert (scaler["spec"]["minReplicas"], scaler["spec"]["maxReplicas"]) == (1, 3)
    for count in (3, 1):
        patch = {"spec": {"replicas": count}}
        await cluster.client.patch(PYTORCH.kind, "mnist", patch, "default", subresource="scale")
        await fleet.settle()
        assert await names(cluster, POD) == [f"mnist-worker-{index}" for index in range(count)]
        assert await names(cluster, SERVICE) == await names(cluster, POD)
    await move(fleet, cluster, PYTORCH, "worker-0", "Succeeded")
    assert states(await read(cluster, PYTORCH))[-1] == ("Succeeded", "True")


@pytest.mark.rule("jobs A.18")
@pytest.mark.parametrize("family", training.FAMILIES, ids=lambda family: family.name)
async def test_a_job_that_another_manages_is_not_touched(fleet: Fleet, family: Family) -> None:
    cluster = await start(fleet, family)
    policy = {"managedBy": "kueue.x-k8s.io/multikueue"}
    await create(fleet, cluster, training.job(family, {"Worker": 1}, runPolicy=policy))
    assert "status" not in await read(cluster, family)
    assert await names(cluster, POD) == []
    assert await names(cluster, SERVICE) == []


@pytest.mark.rule("jobs A.18")
async def test_a_job_that_waits_for_a_queue_leaves_no_trace_but_its_conditions(
    fleet: Fleet,
) -> None:
    cluster = await start(fleet, PYTORCH)
    await create(fleet, cluster, training.job(PYTORCH, {"Worker": 1}, runPolicy={"suspend": True}))
    found = await read(cluster, PYTORCH)
    assert states(found) == [("Created", "True"), ("Suspended", "True")]
    assert found["status"].keys() == {"conditions"}
    assert await names(cluster, POD) == []
