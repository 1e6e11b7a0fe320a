"""Reference scenarios of the Kubeflow kinds (E13, E14, I19 to I23), and what our user's documents
say of them: 000 (Kubeflow jobs) and 001 (managedBy).
"""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from tests.support import kueue as objects
from tests.support import mpi_jobs, shared_world, simulated, training
from tests.support.dispatching import LOCAL_QUEUE
from tests.support.fault_jobs import MPI, TRAINING
from tests.support.shared_world import READY, SharedWorld, for_queue
from tests.support.user_documents import PYTORCH_JOB, TF_JOB_AS_PRINTED, TF_JOB_PUT_RIGHT, typed

from fleetqueue.api.kueue import admission_status as status
from fleetqueue.jobs import registry
from fleetqueue.kube.errors import BadRequest, Forbidden, Invalid
from fleetqueue.kube.resources import Object, Resource
from fleetqueue.multikueue import kinds

pytestmark = pytest.mark.asyncio(loop_scope="module")
ORDINARY = "ordinary-queue"
ROOM = {"default": {"cpu": "8", "memory": "8Gi"}}
KINDS: dict[str, Resource] = {
    kind.resource.kind: kind.resource
    for kind in registry.all_kinds()
    if kind.resource.group == "kubeflow.org"
}
ROLES = {
    training.TF: {"Chief": 1, "PS": 1, "Worker": 1},
    training.JAX: {"Worker": 1},
}
FAMILIES = training.FAMILIES


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world() -> AsyncIterator[SharedWorld]:
    async with shared_world.start(TRAINING, MPI) as made:
        yield made


def job(family: Any, name: str = "one", run_seconds: str = "10", **policy: str) -> Object:
    pod = simulated.template(name=family.container, cpu="1", run_seconds=run_seconds)
    roles = ROLES.get(family, {"Master": 1, "Worker": 1})
    replicas = {
        role: {"replicas": count, "restartPolicy": "Never", "template": pod}
        for role, count in roles.items()
    }
    made = training.job(family, replicas, name=name)
    made["spec"]["runPolicy"] |= policy
    return for_queue(made)


def mpi_job(name: str = "one", **policy: str) -> Object:
    launcher = {"replicas": 1, "template": _pod("10")}
    worker = {"template": _pod("never")}
    made = mpi_jobs.job(1, name=name, launcher=launcher, worker=worker, run_policy=policy)
    return for_queue(made)


def _pod(run_seconds: str) -> Object:
    return simulated.template(cpu="1", run_seconds=run_seconds, restartPolicy="Never")


@pytest.mark.rule("E13", "I19", "I20", "KF-1", "MB-1", "MB-5", "KIND-6")
@pytest.mark.rule("S000-1", "S000-9", "S000-11", "S001-2", "IMP-8")
@pytest.mark.parametrize("family", FAMILIES, ids=[each.name for each in FAMILIES])
async def test_a_training_job_runs_there(world: SharedWorld, family: Any) -> None:
    """E13, I19, I20; S000-1 for each kind; S000-9: nobody here touches it."""
    kind = KINDS[family.name]
    await world.begin(workers={"worker1": "0", "worker2": "8"})
    await world.submit(job(family))
    here = await world.manager.get(kind, "one")
    assert here["spec"]["runPolicy"]["managedBy"] == kinds.CONTROLLER
    await world.passes(seconds=5)

    assert await world.check("one") == ("Ready", READY("worker2"))
    here = await world.manager.get(kind, "one")
    mirror = await world.workers["worker2"].get(kind, "one")
    assert here["spec"]["runPolicy"]["suspend"] is False
    assert "managedBy" not in mirror["spec"]["runPolicy"]
    assert here["status"] == mirror["status"]
    assert objects.conditions_of(here)["Running"][0] == "True"
    sets = [each["name"] for each in (await world.workload("one"))["spec"]["podSets"]]
    assert sets == [role.lower() for role in ROLES.get(family, {"Master": 1, "Worker": 1})]
    assert await world.pods(world.manager) == []

    await world.passes(seconds=20)
    here = await world.manager.get(kind, "one")
    succeeded = objects.conditions_of(here)["Succeeded"]
    assert (await world.conditions("one"))["Finished"] == ("True", "Succeeded", succeeded[2])
    assert await world.is_clean()


@pytest.mark.rule("E13", "S000-12", "S001-5")
async def test_what_the_master_did_is_told_here(world: SharedWorld) -> None:
    """E13: managedBy may be said (S000-12)."""
    await world.begin()
    await world.submit(job(training.PYTORCH, managedBy=kinds.CONTROLLER))
    await world.passes(seconds=30)
    here = await world.manager.get(KINDS["PyTorchJob"], "one")
    master = here["status"]["replicaStatuses"]["Master"]
    assert (master.get("active", 0), master["succeeded"]) == (0, 1)
    assert master["selector"] == (
        "training.kubeflow.org/job-name=one,training.kubeflow.org/operator-name="
        "pytorchjob-controller,training.kubeflow.org/replica-type=master"
    )
    assert status.is_finished(await world.workload("one"))
    assert await world.is_clean()


@pytest.mark.rule("E14", "I22", "S001-1", "S001-2")
async def test_an_mpi_job_runs_there(world: SharedWorld) -> None:
    """E14, I22."""
    await world.begin()
    await world.submit(mpi_job(managedBy=kinds.CONTROLLER))
    await world.passes(seconds=5)
    assert await world.check("one") == ("Ready", READY("worker1"))
    here = await world.manager.get(KINDS["MPIJob"], "one")
    mirror = await world.workers["worker1"].get(KINDS["MPIJob"], "one")
    assert here["status"] == mirror["status"]
    assert "managedBy" not in mirror["spec"]["runPolicy"]

    await world.passes(seconds=30)
    here = await world.manager.get(KINDS["MPIJob"], "one")
    launcher = here["status"]["replicaStatuses"]["Launcher"]
    assert (launcher.get("active", 0), launcher["succeeded"]) == (0, 1)
    assert status.is_finished(await world.workload("one"))
    assert await world.is_clean()
    assert await world.pods(world.manager) == []


@pytest.mark.rule("S001-1")
async def test_two_queues_of_mpi_jobs_use_both_workers(world: SharedWorld) -> None:
    """S001-1: nothing runs beyond the quotas."""
    await world.begin(quota="4", workers="2")
    strategy = {"admissionChecks": [{"name": "multikueue"}]}
    await world.add(
        world.manager,
        objects.cluster_queue("more", "4", admissionChecksStrategy=strategy),
        objects.local_queue("more-queue", "more"),
    )
    for side in world.workers.values():
        await world.add(side, objects.local_queue("more-queue", "cluster-queue"))
    for number in range(4):
        queue = LOCAL_QUEUE if number % 2 else "more-queue"
        await world.submit(for_queue(mpi_job(f"mpi-{number}"), queue))
    used = set()
    for _ in range(40):
        await world.fleet.passes(seconds=1)
        for name, side in world.workers.items():
            running = [
                each
                for each in await world.pods(side)
                if (each.get("status") or {}).get("phase") == "Running"
            ]
            assert len(running) <= 2
            used |= {name} if running else set()
    assert used == {"worker1", "worker2"}
    assert all(status.is_finished(each) for each in await world.manager.workloads())


@pytest.mark.rule("I23", "KF-3", "MB-2", "FLOW-7")
async def test_a_job_of_somebody_else_is_not_sent(world: SharedWorld) -> None:
    """I23."""
    await world.begin()
    other = "example.com/other-controller-not-mpi-operator"
    await world.submit(mpi_job(managedBy=other))
    await world.passes(seconds=5)
    assert await world.check("one") == (
        "Rejected",
        "The owner is not managed by Kueue: Expecting spec.runPolicy.managedBy to be"
        f' "{kinds.CONTROLLER}" not "{other}", Previously: "Pending"',
    )
    assert await world.is_clean()
    found = await world.conditions("one")
    assert found["Evicted"][:2] == ("True", "DeactivatedDueToAdmissionCheck")
    assert (await world.workload("one"))["spec"]["active"] is False


@pytest.mark.rule("KF-3", "FLOW-58")
async def test_a_job_of_somebody_else_that_has_no_quota_waits_and_says_why(
    world: SharedWorld,
) -> None:
    """Checks are judged while quota is held; before, the scheduler refuses what has failed them,
    also when there is room.
    """
    await world.begin(quota="1")
    await world.submit(mpi_job(managedBy="example.com/other-controller-not-mpi-operator"))
    await world.passes(seconds=5)
    assert (await world.check("one"))[0] == "Rejected"
    found = await world.conditions("one")
    assert found["QuotaReserved"][0] == "False"
    assert "insufficient quota for cpu" in found["QuotaReserved"][2]
    for _ in range(2):
        await world.set_quota(world.manager, "8")
        await world.passes(minutes=1)
        found = await world.conditions("one")
        assert found["QuotaReserved"][0] == "False"
        assert found["QuotaReserved"][2] == "The workload has failed admission checks"
        assert "Evicted" not in found
        assert (await world.workload("one"))["spec"].get("active", True) is True


@pytest.mark.rule("I21", "KF-2", "KF-3")
async def test_a_job_that_names_a_stranger_is_not_even_taken(world: SharedWorld) -> None:
    """I21: where the operator's own webhook is asked, as here, it refuses such a value."""
    await world.begin()
    other = "example.com/other-controller-not-training-operator"
    with pytest.raises(Forbidden, match="supported values"):
        await world.submit(job(training.PYTORCH, managedBy=other))
    assert await world.is_clean()


@pytest.mark.rule("S000-2")
async def test_a_job_waits_for_a_set_up_that_is_not_complete(world: SharedWorld) -> None:
    """S000-2."""
    await world.begin()
    strategy = {"admissionChecks": [{"name": "nowhere"}]}
    check = objects.admission_check("nowhere", kinds.CONTROLLER)
    await world.add(
        world.manager,
        check,
        objects.cluster_queue("early", "4", admissionChecksStrategy=strategy),
        objects.local_queue("early-queue", "early"),
    )
    await world.manager.client.create(for_queue(job(training.PYTORCH), "early-queue"))
    await world.fleet.passes(seconds=5)
    here = await world.manager.get(KINDS["PyTorchJob"], "one")
    assert here["spec"]["runPolicy"]["suspend"] is True
    found = await world.conditions("one")
    assert found["QuotaReserved"][0] == "False"
    assert "Finished" not in found


@pytest.mark.rule("S000-6", "S000-4")
async def test_the_sample_of_the_documents_runs(world: SharedWorld) -> None:
    """S000-6: `pytorch-simple` as the page has it; the CRD at hand knows managedBy (S000-4)."""
    await world.begin(quota=ROOM, workers=dict.fromkeys(world.workers, ROOM))
    await world.submit(typed(PYTORCH_JOB))
    await world.passes(seconds=5)
    local = await world.workload("pytorch-simple")
    sets = {each["name"]: each["count"] for each in local["spec"]["podSets"]}
    assert sets == {"master": 1, "worker": 1}
    used = [each["resourceUsage"] for each in local["status"]["admission"]["podSetAssignments"]]
    assert used == [{"cpu": "1", "memory": "200Mi"}] * 2
    assert await world.check("pytorch-simple") == ("Ready", READY("worker1"))

    worker = world.workers["worker1"]
    kind = KINDS["PyTorchJob"]
    assert len(await world.pods(worker)) == 2
    await end_pods(world, worker)
    here = await world.manager.get(kind, "pytorch-simple")
    assert objects.conditions_of(here)["Succeeded"][0] == "True"
    assert status.is_finished(await world.workload("pytorch-simple"))
    assert await world.is_clean()


async def end_pods(world: SharedWorld, side: Any) -> None:
    """What runs there without an end of its own succeeds now."""
    for pod in await world.pods(side):
        container = {"name": pod["spec"]["containers"][0]["name"], "image": "x", "imageID": "x"}
        ended = {"terminated": {"exitCode": 0, "reason": "Completed"}}
        counts = {"ready": False, "restartCount": 0, "lastState": {}, "started": False}
        statuses = [{**container, **counts, "state": ended}]
        patch = {"status": {"phase": "Succeeded", "containerStatuses": statuses}}
        await side.client.patch(
            _POD, str(pod["metadata"]["name"]), patch, "default", subresource="status"
        )
    await world.passes(seconds=5)


_POD = Resource("", "v1", "pods", "Pod")


@pytest.mark.rule("S000-10", "S000-11", "MB-1")
async def test_the_same_kind_runs_here_on_another_queue(world: SharedWorld) -> None:
    """S000-10; S000-11: to name the operator is to say nothing."""
    await world.begin()
    await world.add(
        world.manager,
        objects.cluster_queue("ordinary", "4"),
        objects.local_queue(ORDINARY, "ordinary"),
    )
    own = "kubeflow.org/training-operator"
    await world.submit(
        job(training.PYTORCH, "there", managedBy=own),
        for_queue(job(training.PYTORCH, "here"), ORDINARY),
    )
    await world.passes(seconds=5)
    kind = KINDS["PyTorchJob"]
    there, here = [await world.manager.get(kind, name) for name in ("there", "here")]
    assert there["spec"]["runPolicy"]["managedBy"] == kinds.CONTROLLER
    assert "managedBy" not in here["spec"]["runPolicy"]
    owners = {
        each["metadata"]["ownerReferences"][0]["name"] for each in await world.pods(world.manager)
    }
    assert owners == {"here"}
    assert await world.check("there") == ("Ready", READY("worker1"))
    await world.passes(seconds=20)
    found = [await world.manager.condition(kind, name, "Succeeded") for name in ("there", "here")]
    assert [each and each[0] for each in found] == ["True", "True"]


@pytest.mark.rule("S000-13", "MB-3")
@pytest.mark.parametrize("value", ["kubeflow.org/training-operator", None])
async def test_who_manages_a_job_is_not_changed(world: SharedWorld, value: str | None) -> None:
    """S000-13."""
    await world.begin()
    await world.submit(job(training.PYTORCH))
    patch = {"spec": {"runPolicy": {"managedBy": value}}}
    with pytest.raises(Forbidden, match=r"spec\.runPolicy\.managedBy.*field is immutable"):
        await world.manager.patch(KINDS["PyTorchJob"], "one", patch)


@pytest.mark.rule("S001-7")
async def test_the_job_as_printed_is_refused_with_a_hint(world: SharedWorld) -> None:
    """S001-7: nothing is queued, and the message says where `tfReplicaSpecs` belongs."""
    await world.begin()
    printed = typed(TF_JOB_AS_PRINTED)
    with pytest.raises(Invalid, match=r"spec\.tfReplicaSpecs: Required value"):
        await world.submit(printed)
    # As kubectl asks, which lets no field pass that nobody knows.
    with pytest.raises(BadRequest) as refused:
        await world.manager.client.create(printed, field_validation="Strict")
    assert 'unknown field "spec.runPolicy.tfReplicaSpecs"' in str(refused.value)
    assert 'it belongs at "spec.tfReplicaSpecs"' in str(refused.value)
    assert await world.manager.workloads() == []
    assert await world.manager.all(KINDS["TFJob"]) == []


@pytest.mark.rule("S001-4", "S001-5", "S001-6")
async def test_the_job_put_right_is_sent(world: SharedWorld) -> None:
    """S001-6; S001-4: the field is kept here, and everything else there."""
    await world.begin()
    await world.submit(typed(TF_JOB_PUT_RIGHT))
    await world.passes(seconds=5)
    kind = KINDS["TFJob"]
    local = await world.workload("example-tfjob")
    sets = {each["name"]: each["count"] for each in local["spec"]["podSets"]}
    assert sets == {"chief": 1, "worker": 2}
    assert await world.check("example-tfjob") == ("Ready", READY("worker1"))
    here = await world.manager.get(kind, "example-tfjob")
    mirror = await world.workers["worker1"].get(kind, "example-tfjob")
    assert here["spec"]["runPolicy"]["managedBy"] == kinds.CONTROLLER
    assert "managedBy" not in mirror["spec"]["runPolicy"]
    for role in ("Chief", "Worker"):
        [container] = mirror["spec"]["tfReplicaSpecs"][role]["template"]["spec"]["containers"]
        assert (container["name"], container["args"]) == ("tensorflow", ["python", "model.py"])
        assert container["image"] == "tensorflow/tensorflow:latest"
    assert len(await world.pods(world.workers["worker1"])) == 3


@pytest.mark.rule("S001-8")
async def test_the_field_elsewhere_means_nothing(world: SharedWorld) -> None:
    """S001-8: on an ordinary queue, where nothing is filled in."""
    await world.begin()
    await world.add(
        world.manager,
        objects.cluster_queue("ordinary", "4"),
        objects.local_queue(ORDINARY, "ordinary"),
    )
    made = for_queue(job(training.TF), ORDINARY)
    made["spec"]["managedBy"] = kinds.CONTROLLER
    await world.submit(made)
    await world.passes(seconds=5)
    here = await world.manager.get(KINDS["TFJob"], "one")
    assert "managedBy" not in here["spec"]
    assert "managedBy" not in here["spec"]["runPolicy"]
    assert len(await world.pods(world.manager)) == 3
    assert await world.is_clean()
