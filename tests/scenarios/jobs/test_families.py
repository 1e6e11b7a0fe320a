"""Jobs that make jobs: the topmost one that the queue manages stands for all."""

from dataclasses import replace

import pytest
from tests.support import app_wrappers, job_sets, mpi_jobs, queued, train_jobs
from tests.support.queued import JOB, QUEUE, WORKLOAD, Queued, conditions
from tests.support.queued_kinds import EXAMPLES, Example

from fleetqueue.base import paths
from fleetqueue.embedded.job_blueprints import BLUEPRINTS
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.controllers import job as job_controller
from fleetqueue.runtime.kinds import CLUSTER_TRAINING_RUNTIME, MPI_JOB, TRAIN_JOB
from fleetqueue.runtime.operators import app_wrapper, job_set, job_set_webhook, mpi_job, train_job
from fleetqueue.testing import Fleet, job, named, owner_reference

pytestmark = [pytest.mark.rule("jobs A.3"), pytest.mark.rule("jobs A.18")]

SETTINGS = replace(queued.EVERYTHING, blueprints=BLUEPRINTS)
WEBHOOKS = (*train_job.WEBHOOKS, job_set_webhook.WEBHOOK)
TRAINING = (job_sets.GROUP, train_jobs.GROUP)


def plain(obj: Object, labels: dict[str, str] | None = None) -> Object:
    """As a user writes it."""
    metadata = {"name": obj["metadata"]["name"], "namespace": "default"}
    return {**obj, "metadata": {**metadata, "labels": labels} if labels else metadata}


async def jobs(here: Queued) -> list[Object]:
    return list((await here.client.list(JOB, "default")).items)


@pytest.mark.rule("kueue 13.6")
@pytest.mark.rule("kueue 9.2")
async def test_the_jobs_of_a_jobset_have_no_workloads_and_follow_it(fleet: Fleet) -> None:
    operators = [job_controller.job_operator(), job_set.OPERATOR]
    here = await queued.start(
        fleet, groups=[job_sets.GROUP], operators=operators, others=[job_set_webhook.WEBHOOK]
    )
    made = job_sets.job_set(job_sets.replicated("driver"), job_sets.replicated("worker", 2, pods=2))
    await here.create(plain(made, QUEUE))
    workload = await here.workload()
    assert workload["metadata"]["name"].startswith("jobset-train-")
    sizes = {each["name"]: each["count"] for each in workload["spec"]["podSets"]}
    assert sizes == {"driver": 1, "worker": 4}
    assert {each["spec"]["suspend"] for each in await jobs(here)} <= {True}

    await here.admit()
    assert [each["spec"]["suspend"] for each in await jobs(here)] == [False] * 3
    assert len(await here.workloads()) == 1
    labels = {pod["metadata"]["labels"]["kueue.x-k8s.io/podset"] for pod in await here.pods()}
    assert labels == {"driver", "worker"}
    await here.move("Running")
    assert conditions(await here.workload())["PodsReady"] == ("True", "Started")
    await here.move("Succeeded")
    assert conditions(await here.workload())["Finished"] == ("True", "Succeeded")


@pytest.mark.rule("kueue 9.2")
async def test_a_child_that_runs_while_its_parent_may_not_is_suspended(fleet: Fleet) -> None:
    here = await queued.start(
        fleet, groups=[job_sets.GROUP], operators=[job_controller.job_operator()]
    )
    parent = await here.create(plain(job_sets.job_set(job_sets.replicated("driver")), QUEUE))
    child = job("child", labels=QUEUE)
    child["metadata"]["ownerReferences"] = [owner_reference(parent)]
    made = await here.create(child)
    assert not made["spec"].get("suspend")
    assert (await here.read(JOB, "child"))["spec"]["suspend"] is True
    assert ("Suspended", "Kueue managed child job suspended") in await here.events()
    assert len(await here.workloads()) == 1


@pytest.mark.rule("jobs A.16")
async def test_only_the_appwrapper_around_a_queued_job_has_a_workload(fleet: Fleet) -> None:
    operators = [job_controller.job_operator(), app_wrapper.OPERATOR]
    here = await queued.start(fleet, SETTINGS, groups=[app_wrappers.GROUP], operators=operators)
    inner = app_wrappers.job("work", 1)
    inner["metadata"]["labels"] = dict(QUEUE)
    await here.create(plain(app_wrappers.wrapper(inner), QUEUE))
    workload = await here.workload()
    assert workload["metadata"]["name"].startswith("appwrapper-wrap-")
    await here.admit()
    [made] = await jobs(here)
    assert not made["spec"].get("suspend")
    assert len(await here.workloads()) == 1
    [pod] = await here.pods()
    assert pod["metadata"]["labels"]["kueue.x-k8s.io/podset"] == "wrap-0"


@pytest.mark.rule("jobs A.15")
async def test_a_trainjob_hands_what_was_admitted_to_its_jobset(fleet: Fleet) -> None:
    operators = [job_controller.job_operator(), job_set.OPERATOR, train_job.OPERATOR]
    here = await queued.start(
        fleet, SETTINGS, groups=TRAINING, operators=operators, others=WEBHOOKS
    )
    await here.create(train_jobs.runtime())
    made = train_jobs.job(trainer={"numNodes": 2})
    await here.create(plain(made, QUEUE))
    workload = await here.workload()
    sizes = {each["name"]: each["count"] for each in workload["spec"]["podSets"]}
    assert sizes == {"node": 2}

    await here.admit()
    found = await here.read(TRAIN_JOB, "run")
    [patch] = found["spec"]["runtimePatches"]
    assert patch["manager"] == "kueue.x-k8s.io/manager"
    [entry] = patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]
    assert entry["name"] == "node"
    pods = await here.pods()
    assert [pod["metadata"]["labels"]["kueue.x-k8s.io/podset"] for pod in pods] == ["node"] * 2
    assert len(await here.workloads()) == 1

    await here.evict("Preempted", "make room")
    await here.end_deleted()
    found = await here.read(TRAIN_JOB, "run")
    assert found["spec"]["suspend"] is True
    [patch] = found["spec"]["runtimePatches"]
    assert patch["trainingRuntimeSpec"]["template"]["spec"] == {}
    assert "admission" not in (await here.workload())["status"]

    await here.admit()
    await here.move("Running")
    await here.move("Succeeded")
    workload = await here.workload()
    assert conditions(workload)["Finished"] == ("True", "Succeeded")


async def run_trainjob(fleet: Fleet) -> Queued:
    """A TrainJob that was admitted to a flavor with labels and tolerations, and runs."""
    operators = [job_controller.job_operator(), job_set.OPERATOR, train_job.OPERATOR]
    here = await queued.start(
        fleet, SETTINGS, groups=TRAINING, operators=operators, others=WEBHOOKS
    )
    taints = [{"key": "spot", "operator": "Exists"}]
    await here.create(queued.flavor("spot", nodeLabels={"pool": "spot"}, tolerations=taints))
    await here.create(train_jobs.runtime())
    await here.create(plain(train_jobs.job(trainer={"numNodes": 2}), QUEUE))
    await here.admit(flavors={"cpu": "spot"})
    await here.move("Running")
    return here


@pytest.mark.rule("jobs A.15", "jobs A.18")
async def test_a_new_workload_of_a_trainjob_has_nothing_of_the_admission_before(
    fleet: Fleet,
) -> None:
    here = await run_trainjob(fleet)
    old = await here.workload()
    await here.delete(WORKLOAD, old["metadata"]["name"])
    await here.end_deleted()
    new = await here.workload()
    assert new["metadata"]["uid"] != old["metadata"]["uid"]
    assert new["spec"]["podSets"] == old["spec"]["podSets"]
    found = await here.read(TRAIN_JOB, "run")
    assert found["spec"]["suspend"] is True
    assert ("Stopped", "Workload is deleted") in await here.events("TrainJob")


@pytest.mark.rule("jobs A.15", "jobs B.6.1")
async def test_a_trainjob_runs_on_when_its_runtime_changes(fleet: Fleet) -> None:
    here = await run_trainjob(fleet)
    before = await here.workload()
    [step] = train_jobs.runtime()["spec"]["template"]["spec"]["replicatedJobs"]
    step["template"]["spec"]["template"]["spec"]["containers"][0]["image"] = "another"
    change = {"spec": {"template": {"spec": {"replicatedJobs": [step]}}}}
    await here.client.patch(CLUSTER_TRAINING_RUNTIME, "torch-distributed", change)
    await here.patch(TRAIN_JOB, "run", {"metadata": {"annotations": {"a": "b"}}})
    await here.move("Running")
    assert (await here.read(TRAIN_JOB, "run"))["spec"]["suspend"] is False
    assert (await here.workload())["metadata"]["uid"] == before["metadata"]["uid"]
    assert len(await here.pods()) == 2


@pytest.mark.rule("jobs A.15", "jobs A.19")
async def test_a_trainjob_whose_runtime_is_gone_ends_as_any_other(fleet: Fleet) -> None:
    here = await run_trainjob(fleet)
    await here.client.delete(CLUSTER_TRAINING_RUNTIME, "torch-distributed")
    await here.move("Succeeded")
    assert conditions(await here.workload())["Finished"] == ("True", "Succeeded")


@pytest.mark.rule("jobs A.15", "jobs A.19")
async def test_a_trainjob_whose_runtime_is_gone_is_stopped_as_any_other(fleet: Fleet) -> None:
    here = await run_trainjob(fleet)
    await here.client.delete(CLUSTER_TRAINING_RUNTIME, "torch-distributed")
    await here.evict("Preempted", "make room")
    await here.end_deleted()
    assert (await here.read(TRAIN_JOB, "run"))["spec"]["suspend"] is True
    workload = await here.workload()
    assert "admission" not in workload["status"]
    await here.delete(WORKLOAD, workload["metadata"]["name"])
    assert await here.workloads() == []
    await here.create(train_jobs.runtime())
    await fleet.passes(seconds=10)
    assert len(await here.workloads()) == 1


async def test_a_trainjob_without_a_queue_gets_the_patch_and_nothing_else(fleet: Fleet) -> None:
    here = await queued.start(fleet, SETTINGS, groups=TRAINING)
    made = await here.create(plain(train_jobs.job()))
    assert made["spec"]["suspend"] is False
    [patch] = made["spec"]["runtimePatches"]
    assert patch["trainingRuntimeSpec"] == {"template": {"spec": {}}}
    assert await here.workloads() == []


@pytest.mark.rule("jobs A.11")
async def test_the_launcher_of_an_mpijob_waits_for_admission(fleet: Fleet) -> None:
    operators = [job_controller.job_operator(), mpi_job.OPERATOR]
    here = await queued.start(fleet, groups=["kubeflow.org"], operators=operators)
    await here.create(plain(mpi_jobs.job(1), QUEUE))
    assert all(each["spec"].get("suspend") for each in await jobs(here))
    await here.admit()
    assert (await here.read(MPI_JOB, "pi"))["spec"]["runPolicy"]["suspend"] is False
    assert len(await here.workloads()) == 1
    assert await here.pods()


@pytest.mark.rule("jobs A.2")
@pytest.mark.rule("jobs A.17")
@pytest.mark.parametrize("example", EXAMPLES, ids=[each.kind.resource.kind for each in EXAMPLES])
async def test_jobs_of_a_queue_that_dispatches_are_managed_elsewhere(
    fleet: Fleet, example: Example
) -> None:
    groups = [example.kind.resource.group]
    here = await queued.start(fleet, SETTINGS, groups=[g for g in groups if g != "batch"])
    check = {"controllerName": "kueue.x-k8s.io/multikueue"}
    await here.create(named("AdmissionCheck", queued.KUEUE, "mk", spec=check))
    strategy = {"admissionChecks": [{"name": "mk"}]}
    spec = {"namespaceSelector": {}, "admissionChecksStrategy": strategy}
    await here.create(named("ClusterQueue", queued.KUEUE, "far", spec=spec))
    await here.create(queued.local_queue("away", "far"))
    made = await here.create(example.job({"kueue.x-k8s.io/queue-name": "away"}))
    found = paths.get(made, example.kind.managed_by)
    assert found == "kueue.x-k8s.io/multikueue"
