"""What users rely on when jobs of the AI kinds are queued, as far as their operators show it. The
test does by the API what a queue would do: it starts and stops the parent, never its children.
"""

from dataclasses import dataclass
from typing import Any

import pytest
from tests.support import (
    app_wrappers,
    job_sets,
    mpi_jobs,
    operated,
    ray,
    simulated,
    train_jobs,
    training,
)
from tests.support.simulated import World, template

from fleetqueue.kube.frame import Operator
from fleetqueue.kube.resources import Object, Resource
from fleetqueue.kube.webhook_rules import Webhook
from fleetqueue.runtime.controllers import job
from fleetqueue.runtime.kinds import (
    APP_WRAPPER,
    JOB,
    JOB_SET,
    MPI_JOB,
    RAY_CLUSTER,
    RAY_JOB,
    RAY_SERVICE,
    TRAIN_JOB,
)
from fleetqueue.runtime.operators import (
    app_wrapper,
    jax_job,
    job_set,
    mpi_job,
    paddle_job,
    pytorch_job,
    ray_cluster,
    ray_job,
    ray_service,
    tf_job,
    train_job,
    training_runtimes,
    xgboost_job,
)
from fleetqueue.runtime.operators.ray_job_draft import Settings
from fleetqueue.testing import Fleet

pytestmark = pytest.mark.rule("jobs A.18")

QUEUE = {"kueue.x-k8s.io/queue-name": "lq"}
NOTES = {"fleetqueue.io/sim-run-seconds": "30"}
INJECTED = {"kueue.x-k8s.io/podset": "main", "kueue.x-k8s.io/local-queue-name": "lq"}


def labelled(obj: Object) -> Object:
    obj["metadata"]["labels"] = dict(QUEUE)
    return obj


async def suspended(world: World) -> dict[str, bool]:
    """By name, whether each Job waits."""
    found = (await world.client.list(JOB, "default")).items
    return {each["metadata"]["name"]: each["spec"]["suspend"] for each in found}


@pytest.mark.rule("jobs B.3")
async def test_scenario_23_the_jobs_of_a_job_set_wait_and_run_as_it_does(fleet: Fleet) -> None:
    world = await simulated.start(
        fleet, *job.OPERATORS, job_set.OPERATOR,
        groups=(job_sets.GROUP,), webhooks=(job_set.WEBHOOK,),
    )  # fmt: skip
    pod = {"metadata": {"annotations": NOTES}}
    roles = [job_sets.replicated("driver", pod={**pod, **spec()}),
             job_sets.replicated("worker", 2, pods=3, pod={**pod, **spec()})]  # fmt: skip
    await world.create(labelled(job_sets.job_set(*roles, suspend=True)))
    names = ["train-driver-0", "train-worker-0", "train-worker-1"]
    assert await suspended(world) == dict.fromkeys(names, True)
    assert await world.pods() == []
    for name in names:
        made = await world.get(JOB, name)
        assert not QUEUE.items() <= made["metadata"]["labels"].items()
        assert made["metadata"]["ownerReferences"][0]["kind"] == "JobSet"
    await world.change(JOB_SET, "train", suspend=False)
    assert await suspended(world) == dict.fromkeys(names, False)
    assert len(await world.pods("Running")) == 1 + 2 * 3
    await world.change(JOB_SET, "train", suspend=True)
    assert await suspended(world) == dict.fromkeys(names, True)
    assert await world.pods() == []
    listed = (await world.get(JOB_SET, "train"))["status"]["replicatedJobsStatus"]
    assert [(each["name"], each["active"], each["suspended"]) for each in listed] == [
        ("worker", 0, 2),
        ("driver", 0, 1),
    ]
    await world.change(JOB_SET, "train", suspend=False)
    await world.passes(seconds=35)
    told = await world.conditions(JOB_SET, "train")
    assert told["Completed"] == ("True", "AllJobsCompleted", "jobset completed successfully")


def spec() -> Object:
    return {"spec": {"containers": [{"name": "main", "image": "busybox"}]}}


@pytest.mark.rule("jobs B.9")
async def test_scenario_24_only_the_wrapper_of_a_job_is_held_back(fleet: Fleet) -> None:
    world = await simulated.start(
        fleet, *job.OPERATORS, app_wrapper.OPERATOR,
        groups=(app_wrappers.GROUP,), webhooks=(app_wrapper.WEBHOOK,),
    )  # fmt: skip
    inner = labelled(app_wrappers.job(pods=2))
    inner["spec"]["template"]["metadata"] = {"annotations": NOTES}
    await world.create(app_wrappers.wrapper(inner, labels=QUEUE, suspend=True))
    assert await world.names(JOB) == []
    info = [{"labels": INJECTED, "nodeSelector": {"kubernetes.io/hostname": "sim"}}]
    component = {"template": inner, "podSetInfos": info}
    await world.change(APP_WRAPPER, "wrap", suspend=False, components=[component])
    made = await world.get(JOB, "work")
    assert made["spec"]["suspend"] is False
    assert QUEUE.items() <= made["metadata"]["labels"].items()
    owner = made["metadata"]["ownerReferences"][0]
    assert (owner["kind"], owner["name"], owner["controller"]) == ("AppWrapper", "wrap", True)
    found = await world.pods("Running")
    assert len(found) == 2
    assert all(INJECTED.items() <= pod["metadata"]["labels"].items() for pod in found)
    assert (await world.conditions(APP_WRAPPER, "wrap"))["QuotaReserved"][0] == "True"
    await world.passes(seconds=40)
    assert (await world.get(APP_WRAPPER, "wrap"))["status"]["phase"] == "Succeeded"


@pytest.mark.rule("jobs B.6")
async def test_scenario_25_a_train_job_takes_the_patch_of_the_queue(fleet: Fleet) -> None:
    world = await simulated.start(
        fleet,
        *job.OPERATORS,
        job_set.OPERATOR,
        train_job.OPERATOR,
        groups=(job_sets.GROUP, train_jobs.GROUP),
        webhooks=(job_set.WEBHOOK, *train_job.WEBHOOKS),
    )
    for obj in training_runtimes.preinstalled():
        if obj["metadata"]["name"] in ("kubeflow-system", "torch-distributed"):
            await world.client.create(obj)
    await fleet.settle()
    patch = {"manager": "kueue.x-k8s.io/manager", "trainingRuntimeSpec": {"template": {"spec": {}}}}
    made = train_jobs.job(suspend=True, trainer={"numNodes": 2}, runtimePatches=[patch])
    await world.create(labelled(made))
    child = await world.get(JOB_SET, "run")
    assert child["spec"]["suspend"] is True
    assert not QUEUE.items() <= (child["metadata"].get("labels") or {}).items()
    assert train_jobs.replicated(child, "node")["template"]["spec"]["parallelism"] == 2
    added = {"metadata": {"labels": INJECTED, "annotations": NOTES}, "spec": {}}
    jobs = [{"name": "node", "template": {"spec": {"template": added}}}]
    filled = {**patch, "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": jobs}}}}
    await world.change(TRAIN_JOB, "run", runtimePatches=[filled])
    assert await world.pods() == []
    await world.change(TRAIN_JOB, "run", suspend=False)
    found = await world.pods("Running")
    assert len(found) == 2
    assert all(INJECTED.items() <= pod["metadata"]["labels"].items() for pod in found)
    told = await world.conditions(TRAIN_JOB, "run")
    assert told == {"Suspended": ("False", "Resumed", "TrainJob is resumed")}
    await world.passes(seconds=35)
    told = await world.conditions(TRAIN_JOB, "run")
    assert list(told) == ["Suspended", "Complete"]
    assert told["Complete"] == ("True", "AllJobsCompleted", "jobset completed successfully")


@pytest.mark.rule("jobs B.7")
async def test_scenario_26_a_ray_job_that_keeps_its_cluster_cannot_wait(fleet: Fleet) -> None:
    world = await start_ray(fleet)
    made = ray.ray_job_of(suspend=True, shutdownAfterJobFinishes=False)
    await world.create(stored(labelled(made)))
    status = (await world.get(RAY_JOB, "j"))["status"]
    assert (status["jobDeploymentStatus"], status["reason"]) == ("ValidationFailed",) * 2
    assert status["message"] == (
        "The RayJob spec is invalid: a RayJob with shutdownAfterJobFinishes set to false is not "
        "allowed to be suspended"
    )
    assert await world.names(RAY_CLUSTER) == []


async def start_ray(fleet: Fleet) -> World:
    operators = (*job.OPERATORS, ray_cluster.OPERATOR, RAY_JOBS)
    return await simulated.start(fleet, *operators, groups=(ray.GROUP,))


def stored(obj: Object) -> Object:
    del obj["metadata"]["resourceVersion"]
    return obj


@pytest.mark.rule("jobs B.7")
async def test_scenario_27_all_that_a_ray_job_makes_belongs_to_it(fleet: Fleet) -> None:
    world = await start_ray(fleet)
    made = ray.ray_job_of(ray.worker_group(), suspend=True, shutdownAfterJobFinishes=True)
    submitter = template(name="submit", run_seconds="30", restartPolicy="Never")
    made["spec"]["submitterPodTemplate"] = submitter
    await world.create(stored(labelled(made)))
    await world.passes(seconds=5)
    status = (await world.get(RAY_JOB, "j"))["status"]
    assert status["jobDeploymentStatus"] == "Suspended"
    assert await world.names(RAY_CLUSTER) == []
    await world.change(RAY_JOB, "j", suspend=False)
    await world.passes(seconds=5)
    (name,) = await world.names(RAY_CLUSTER)
    child = await world.get(RAY_CLUSTER, name)
    assert QUEUE.items() <= child["metadata"]["labels"].items()
    assert "suspend" not in child["spec"] or not child["spec"]["suspend"]
    submits = await world.get(JOB, "j")
    assert submits["spec"]["suspend"] is False
    for each in (child, submits):
        owner = each["metadata"]["ownerReferences"][0]
        assert (owner["kind"], owner["name"], owner["controller"]) == ("RayJob", "j", True)
    found = await world.pods("Running")
    roles = [pod["metadata"]["labels"].get("ray.io/group", "submitter") for pod in found]
    assert sorted(roles) == ["headgroup", "small", "submitter"]
    await world.passes(seconds=40)
    status = (await world.get(RAY_JOB, "j"))["status"]
    assert (status["jobDeploymentStatus"], status["jobStatus"]) == ("Complete", "SUCCEEDED")


@pytest.mark.rule("jobs B.5")
async def test_scenario_28_the_launcher_of_an_mpi_job_waits_with_it(fleet: Fleet) -> None:
    world = await simulated.start(fleet, *job.OPERATORS, mpi_job.OPERATOR, groups=(mpi_jobs.GROUP,))
    made = mpi_jobs.job(2, run_policy={"suspend": True, "cleanPodPolicy": "Running"})
    launcher = made["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]
    launcher["metadata"] = {"annotations": NOTES}
    await world.create(labelled(made))
    assert await suspended(world) == {"pi-launcher": True}
    assert await world.pods() == []
    await world.change(MPI_JOB, "pi", runPolicy={"suspend": False})
    assert await suspended(world) == {"pi-launcher": False}
    assert len(await world.pods("Running")) == 3
    told = await world.conditions(MPI_JOB, "pi")
    assert told["Running"][:2] == ("True", "MPIJobRunning")
    await world.passes(seconds=35)
    told = await world.conditions(MPI_JOB, "pi")
    assert told["Succeeded"][:2] == ("True", "MPIJobSucceeded")
    assert len(await world.pods()) == 1


# Scenario 31

MANAGER = "kueue.x-k8s.io/multikueue"
AT = "2026-01-01T00:00:00Z"
RAY_JOBS = ray_job.ray_job_operator(ray.FakeRay(), Settings(lambda image: False))
RAY_SERVICES = ray_service.ray_service_operator(
    ray.FakeRay(), ray_service.Settings(lambda image: False)
)


@dataclass(frozen=True)
class Foreign:
    """A kind, an object of it that another controller runs, and what that one says of it."""

    kind: Resource
    operators: tuple[Operator, ...]
    obj: Object
    status: Object
    webhooks: tuple[Webhook, ...] = ()
    groups: tuple[str, ...] = ()


def trained(operator: Operator, webhook: Webhook, family: Any, **roles: int) -> Foreign:
    made = training.job(family, roles, runPolicy={"managedBy": MANAGER})
    said = {"type": "Running", "status": "True", "reason": "r", "message": "elsewhere"}
    times = {"lastUpdateTime": AT, "lastTransitionTime": AT}
    counted = {role: {"active": 1} for role in roles}
    status = {"conditions": [said | times], "replicaStatuses": counted, "startTime": AT}
    return Foreign(family.kind, (operator,), made, status, (webhook,), ("kubeflow.org",))


def said(type: str) -> list[Object]:
    whole = {"type": type, "status": "True", "reason": "Elsewhere", "message": "elsewhere"}
    return [whole | {"lastTransitionTime": AT}]


KINDS = [
    Foreign(
        JOB,
        job.OPERATORS,
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "work", "namespace": "default"},
            "spec": {"managedBy": MANAGER, "template": template(restartPolicy="Never")},
        },
        {"active": 1, "ready": 1, "startTime": AT},
    ),
    Foreign(
        JOB_SET,
        (job_set.OPERATOR,),
        job_sets.job_set(job_sets.replicated("a"), managedBy=MANAGER),
        {"conditions": said("Completed"), "terminalState": "Completed"},
        (job_set.WEBHOOK,),
        (job_sets.GROUP,),
    ),
    trained(pytorch_job.OPERATOR, pytorch_job.WEBHOOK, training.PYTORCH, Master=1, Worker=1),
    trained(tf_job.OPERATOR, tf_job.WEBHOOK, training.TF, Worker=1),
    trained(xgboost_job.OPERATOR, xgboost_job.WEBHOOK, training.XGBOOST, Master=1, Worker=1),
    trained(paddle_job.OPERATOR, paddle_job.WEBHOOK, training.PADDLE, Worker=1),
    trained(jax_job.OPERATOR, jax_job.WEBHOOK, training.JAX, Worker=1),
    Foreign(
        MPI_JOB,
        (mpi_job.OPERATOR,),
        mpi_jobs.job(1, run_policy={"managedBy": MANAGER}),
        {"replicaStatuses": {"Launcher": {"active": 1}}, "startTime": AT},
        groups=(mpi_jobs.GROUP,),
    ),
    Foreign(
        TRAIN_JOB,
        (train_job.OPERATOR,),
        train_jobs.job(managedBy=MANAGER),
        {"conditions": said("Complete")},
        groups=(train_jobs.GROUP, job_sets.GROUP),
    ),
    Foreign(
        RAY_CLUSTER,
        (ray_cluster.OPERATOR,),
        stored(ray.ray_cluster_of(ray.worker_group(), managedBy=MANAGER)),
        {"state": "ready", "desiredWorkerReplicas": 7},
        groups=(ray.GROUP,),
    ),
    Foreign(
        RAY_JOB,
        (RAY_JOBS,),
        stored(ray.ray_job_of(managedBy=MANAGER)),
        {"jobDeploymentStatus": "Running", "jobStatus": "RUNNING", "jobId": "elsewhere"},
        groups=(ray.GROUP,),
    ),
    Foreign(
        RAY_SERVICE,
        (RAY_SERVICES,),
        stored(ray.ray_service_of(managedBy=MANAGER)),
        {"serviceStatus": "Running", "numServeEndpoints": 3},
        groups=(ray.GROUP,),
    ),
    Foreign(
        APP_WRAPPER,
        (app_wrapper.OPERATOR,),
        app_wrappers.wrapper(managedBy=MANAGER),
        {"phase": "Running"},
        (app_wrapper.WEBHOOK,),
        (app_wrappers.GROUP,),
    ),
]


@pytest.mark.rule("jobs B.10")
@pytest.mark.parametrize("case", KINDS, ids=lambda case: case.kind.kind)
async def test_scenario_31_what_another_controller_manages_is_left_to_it(
    fleet: Fleet, case: Foreign
) -> None:
    cluster = await operated.start(
        fleet, *case.operators, groups=case.groups, webhooks=case.webhooks
    )
    await fleet.settle()
    world, store = World(fleet, cluster), cluster.instance.core.store
    revision = store.revision
    made = await world.create(case.obj)
    name = made["metadata"]["name"]
    await world.fleet.passes(minutes=1)
    left = await world.get(case.kind, name)
    assert left == made
    await world.write_status(case.kind, name, case.status)
    await world.fleet.passes(minutes=10)
    left = await world.get(case.kind, name)
    assert left["status"].items() >= case.status.items()
    assert store.revision == revision + len(("creation", "status"))
