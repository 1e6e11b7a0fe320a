"""Reference scenarios of JobSet, AppWrapper and TrainJob (E11, E12, E15, I18, I24, I27), and what
document 002 of our user says of TrainJobs.
"""

from collections.abc import AsyncIterator
from random import Random

import pytest
import pytest_asyncio
from tests.support import app_wrappers, fault_jobs, job_sets, shared_world, simulated, train_jobs
from tests.support import kueue as objects
from tests.support.fault_jobs import SETS, TRAINER, WRAPPERS
from tests.support.shared_world import READY, SharedWorld, for_queue
from tests.support.user_documents import TRAIN_JOB, TRAINING_RUNTIME, typed

from fleetqueue.api.kueue import admission_status as status
from fleetqueue.jobs import registry
from fleetqueue.kube.errors import Forbidden
from fleetqueue.kube.resources import Object
from fleetqueue.multikueue import kinds
from fleetqueue.runtime.kinds import JOB

pytestmark = pytest.mark.asyncio(loop_scope="module")
KINDS = {kind.resource.kind: kind.resource for kind in registry.all_kinds()}
JOB_SET, APP_WRAPPER, TRAIN = KINDS["JobSet"], KINDS["AppWrapper"], KINDS["TrainJob"]
USER_QUEUE = "multikueue-queue"
GPU = "nvidia.com/gpu"


def runtime(
    name: str, kind: str = "ClusterTrainingRuntime", framework: str = "torch", seconds: str = "10"
) -> Object:
    """One whose pods run for a while."""
    made = train_jobs.runtime(f"{framework}-distributed")
    made["metadata"] = {"name": name, "labels": made["metadata"].get("labels") or {}}
    made["kind"] = kind
    if kind == "TrainingRuntime":
        made["metadata"]["namespace"] = "default"
    for each in made["spec"]["template"]["spec"]["replicatedJobs"]:
        pod = each["template"]["spec"]["template"]
        pod["metadata"] = {"annotations": {"fleetqueue.io/sim-run-seconds": seconds}}
    return made


def train_job(runtime: str, kind: str = "ClusterTrainingRuntime", nodes: int = 1) -> Object:
    resources = {"requests": {"cpu": "1"}}
    made = train_jobs.job(runtime, name="one", trainer={"numNodes": nodes})
    made["spec"]["trainer"]["resourcesPerNode"] = resources
    made["spec"]["runtimeRef"]["kind"] = kind
    made["spec"].pop("suspend", None)
    return for_queue(made)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world() -> AsyncIterator[SharedWorld]:
    runtimes = [
        typed(TRAINING_RUNTIME),
        runtime("short"),
        runtime("of-the-namespace", "TrainingRuntime"),
        runtime("of-jax", framework="jax"),
    ]
    async with shared_world.start(SETS, TRAINER, WRAPPERS, furniture=runtimes) as made:
        yield made


@pytest.mark.rule("E11", "I18", "KF-1", "KIND-6")
async def test_a_job_set_runs_there(world: SharedWorld) -> None:
    """E11, I18."""
    await world.begin()
    pod = simulated.template(cpu="1", run_seconds="10", restartPolicy="Never")
    made = job_sets.job_set(job_sets.replicated("part", 2, pods=2, pod=pod), name="one")
    await world.submit(for_queue(made))
    assert (await world.manager.get(JOB_SET, "one"))["spec"]["managedBy"] == kinds.CONTROLLER
    await world.passes(seconds=5)
    assert await world.check("one") == ("Ready", READY("worker1"))
    [told] = (await world.manager.get(JOB_SET, "one"))["status"]["replicatedJobsStatus"]
    assert (told["ready"], told["active"]) == (2, 2)

    await world.passes(seconds=15)
    finished = ("True", "Succeeded", "jobset completed successfully")
    assert (await world.conditions("one"))["Finished"] == finished
    here = await world.manager.get(JOB_SET, "one")
    assert here["spec"]["suspend"] is False
    assert objects.conditions_of(here)["Completed"] == ("True", "AllJobsCompleted", finished[2])
    assert await world.is_clean()
    assert await world.manager.all(JOB) == await world.pods(world.manager) == []


@pytest.mark.rule("E12", "I27", "AW-1", "KIND-6")
async def test_what_is_wrapped_runs_there(world: SharedWorld) -> None:
    """E12, I27."""
    await world.begin()
    inner = fault_jobs.job_of("inner", Random(0), run_seconds="10", queue="", parallelism=2)
    inner["metadata"] = {"name": "inner"}
    inner["spec"]["completions"] = 2
    made = app_wrappers.wrapper(inner)
    made["metadata"]["name"] = "one"
    await world.submit(for_queue(made))
    await world.passes(seconds=5)
    assert await world.check("one") == ("Ready", READY("worker1"))
    assert (await world.manager.get(APP_WRAPPER, "one"))["status"]["phase"] == "Running"
    assert await world.manager.all(JOB) == []
    assert len(await world.pods(world.workers["worker1"])) == 2

    await world.passes(seconds=40)
    here = await world.manager.get(APP_WRAPPER, "one")
    assert (here["spec"].get("suspend", False), here["status"]["phase"]) == (False, "Succeeded")
    done = ("True", "Succeeded", "AppWrapper finished successfully")
    assert (await world.conditions("one"))["Finished"] == done
    assert await world.is_clean()


@pytest.mark.rule("E15", "I24", "TJ-1", "TJ-2", "TJ-4", "TJ-5", "MB-1", "MB-5", "KIND-6")
@pytest.mark.rule("S002-1", "S002-4", "S002-5", "S002-6", "S002-7", "S002-8", "S002-10")
@pytest.mark.rule("S002-3")
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("short", "ClusterTrainingRuntime"),
        ("of-the-namespace", "TrainingRuntime"),
        ("of-jax", "ClusterTrainingRuntime"),
    ],
)
async def test_a_train_job_runs_there(world: SharedWorld, name: str, kind: str) -> None:
    """E15, I24; S002-8: with either kind of runtime; S002-3: of more than one framework."""
    await world.begin()
    await world.submit(train_job(name, kind, nodes=2))
    here = await world.manager.get(TRAIN, "one")
    assert here["spec"]["managedBy"] == kinds.CONTROLLER
    await world.passes(seconds=5)

    assert await world.check("one") == ("Ready", READY("worker1"))
    [pod_set] = (await world.workload("one"))["spec"]["podSets"]
    assert (pod_set["name"], pod_set["count"]) == ("node", 2)
    here = await world.manager.get(TRAIN, "one")
    mirror = await world.workers["worker1"].get(TRAIN, "one")
    assert here["spec"]["suspend"] is False
    assert mirror["spec"].get("managedBy") in (None, "trainer.kubeflow.org/trainjob-controller")
    assert here["status"]["jobsStatus"] == mirror["status"]["jobsStatus"]
    assert len(await world.pods(world.workers["worker1"])) == 2
    assert await world.manager.all(JOB_SET) == await world.pods(world.manager) == []
    patches = [each["manager"] for each in mirror["spec"].get("runtimePatches") or ()]
    assert patches.count("kueue.x-k8s.io/manager") <= 1

    await world.passes(seconds=20)
    here = await world.manager.get(TRAIN, "one")
    done = objects.conditions_of(here)["Complete"]
    assert (await world.conditions("one"))["Finished"] == ("True", "Succeeded", done[2])
    assert await world.is_clean()
    assert await world.manager.all(JOB_SET) == await world.pods(world.manager) == []


@pytest.mark.rule("S002-9", "TJ-3", "FLOW-49", "FLOW-43")
async def test_another_definition_of_a_runtime_is_no_success(world: SharedWorld) -> None:
    """S002-9: what does not match is sent elsewhere, and never called finished."""
    await world.begin(workers={"worker1": "4", "worker2": "0"})
    both = [("manager", "1"), ("worker1", "2"), ("worker2", "1")]
    for name, nodes in both:
        made = runtime("differs")
        pod = made["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
        pod["spec"]["containers"][0]["args"] = [f"--nodes={nodes}"]
        side = next(each for each in world.sides if each.name == name)
        await side.client.create(made)
    await world.fleet.settle()
    await world.manager.client.create(train_job("differs"))
    await world.fleet.passes(seconds=3)
    hold = {"spec": {"stopPolicy": "Hold"}}
    await world.manager.client.patch(kinds.CLUSTER_QUEUE, "cluster-queue", hold)
    await world.fleet.passes(seconds=10)
    found = await world.conditions("one")
    assert "Finished" not in found
    assert "is out of sync with its user job, resetting for re-dispatch" in found["Evicted"][2]


@pytest.mark.rule("S002-11", "LIM-2")
async def test_a_runtime_that_is_missing_is_named(world: SharedWorld) -> None:
    """S002-11: on the manager at once, on workers before anything runs there."""
    await world.begin(workers="0")
    with pytest.raises(Forbidden, match="must be created before the TrainJob is created"):
        await world.submit(train_job("late"))

    await world.manager.client.create(runtime("late"))
    await world.fleet.settle()
    await world.submit(train_job("late"))
    await world.passes(seconds=5)
    name = str((await world.workload("one"))["metadata"]["name"])
    told = [text for _, reason, text in await world.manager.events(name) if "late" in text]
    assert any("worker1" in text and "worker2" in text for text in told)

    # A worker that gets it later is asked then.
    worker = world.workers["worker1"]
    await worker.client.create(runtime("late"))
    groups = objects.cluster_queue("cluster-queue", "9")["spec"]["resourceGroups"]
    await worker.patch(
        objects.kinds.CLUSTER_QUEUE, "cluster-queue", {"spec": {"resourceGroups": groups}}
    )
    await world.passes(seconds=70)
    assert await world.check("one") == ("Ready", READY("worker1"))


@pytest.mark.rule("S002-12", "S002-13", "S002-14")
async def test_the_job_of_the_documents_finds_the_worker_with_devices(world: SharedWorld) -> None:
    """S002-12 to S002-14: runtime and job as printed; of two workers one has devices."""
    room = {"default": {"cpu": "16", "memory": "32Gi", GPU: "4"}}
    without = {"default": {"cpu": "16", "memory": "32Gi", GPU: "0"}}
    await world.begin(quota=room, workers={"worker1": without, "worker2": room})
    for side in world.sides:
        await world.add(side, objects.local_queue(USER_QUEUE, "cluster-queue"))
    await world.manager.client.create(typed(TRAIN_JOB))
    # The nodes here have no such devices: the pods are made, and wait.
    await world.fleet.passes(seconds=5)

    local = await world.workload("pytorch-multikueue")
    [pod_set] = local["spec"]["podSets"]
    assert (pod_set["name"], pod_set["count"]) == ("node", 2)
    [assigned] = local["status"]["admission"]["podSetAssignments"]
    assert assigned["resourceUsage"] == {"cpu": "8", "memory": "16Gi", GPU: "2"}
    assert await world.check("pytorch-multikueue") == ("Ready", READY("worker2"))
    pods = await world.pods(world.workers["worker2"])
    assert len(pods) == 2
    image = "pytorch/pytorch:2.7.1-cuda12.8-cudnn9-runtime"
    assert {each["spec"]["containers"][0]["image"] for each in pods} == {image}
    assert await world.sites() == ["worker2"]
    assert await world.pods(world.manager) == await world.manager.all(JOB_SET) == []
    assert status.is_admitted(local)
