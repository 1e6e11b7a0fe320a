"""What users rely on when Jobs are queued, as far as the Job controller and the scheduler show it.

The test does by the API what a queue would do: it starts a Job with what its flavor adds to the
template, and stops it in the three steps that give the template back.
"""

from typing import Any

import pytest
from tests.support import simulated
from tests.support.operated import conditions
from tests.support.simulated import World, gates_of, scheduled, template

from fleetqueue.kube.errors import Invalid
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.controllers import job
from fleetqueue.runtime.kinds import JOB, POD, PYTORCH_JOB
from fleetqueue.runtime.nodes import NodeSpec
from fleetqueue.runtime.operators import pytorch_job
from fleetqueue.testing import Fleet

pytestmark = [pytest.mark.rule("jobs A.18"), pytest.mark.rule("jobs B.1")]

QUEUE = {"kueue.x-k8s.io/queue-name": "lq"}
ELASTIC = "kueue.x-k8s.io/elastic-job"
INJECTED = {
    "kueue.x-k8s.io/podset": "main",
    "kueue.x-k8s.io/cluster-queue-name": "cq",
    "kueue.x-k8s.io/local-queue-name": "lq",
}
DONE = "Reached expected number of succeeded pods"
SLOW_TO_GO = {"pod-delete.stage.kwok.x-k8s.io/delay": "20s"}


async def start(fleet: Fleet, *nodes: NodeSpec) -> World:
    given = {"nodes": nodes} if nodes else {}
    return await simulated.start(fleet, *job.OPERATORS, **given)


def batch_job(name: str = "work", *, pod: Object | None = None, **spec: Any) -> Object:
    labels = spec.pop("labels", QUEUE)
    given = pod or template()
    given["spec"].setdefault("restartPolicy", "Never")
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default", "labels": labels},
        "spec": {"template": given, **spec},
    }


async def admit(world: World, name: str = "work", **more: Any) -> None:
    """One patch: no longer suspended, and what the flavor and the queue add to the template."""
    selector = more.pop("selector", None)
    added: Object = {"metadata": {"labels": INJECTED}}
    if selector:
        added["spec"] = {"nodeSelector": selector}
    await world.change(JOB, name, suspend=False, template=added, **more)


async def stop(world: World, name: str = "work", **more: Any) -> None:
    await world.change(JOB, name, suspend=True)
    await world.write_status(JOB, name, {"startTime": None})
    labels = dict.fromkeys(INJECTED)
    plain: Object = {"metadata": {"labels": labels}, "spec": {"nodeSelector": None}}
    await world.change(JOB, name, template=plain, **more)


async def job_status(world: World, name: str = "work") -> Object:
    found: Object = (await world.get(JOB, name)).get("status") or {}
    return found


def counts(status: Object) -> tuple[int, ...]:
    """Active, ready, succeeded and failed."""
    return tuple(status.get(each) or 0 for each in ("active", "ready", "succeeded", "failed"))


async def test_scenario_1_a_suspended_job_runs_once_it_is_admitted(fleet: Fleet) -> None:
    world = await start(fleet)
    pod = template(run_seconds="5")
    await world.create(batch_job(suspend=True, parallelism=2, completions=2, pod=pod))
    assert await world.pods() == []
    assert "startTime" not in await job_status(world)
    assert await world.conditions(JOB, "work") == {
        "Suspended": ("True", "JobSuspended", "Job suspended")
    }
    await admit(world)
    found = await world.pods()
    assert len(found) == 2
    for each in found:
        assert INJECTED.items() <= each["metadata"]["labels"].items()
        assert each["spec"]["nodeName"] == "sim"
    await world.passes(seconds=10)
    told = await world.conditions(JOB, "work")
    assert list(told) == ["Suspended", "SuccessCriteriaMet", "Complete"]
    assert told["Suspended"] == ("False", "JobResumed", "Job resumed")
    assert told["Complete"] == ("True", "CompletionsReached", DONE)
    said = await world.events("Job")
    assert [reason for reason, _ in said] == [
        "Suspended", "SuccessfulCreate", "SuccessfulCreate", "Resumed", "Completed",
    ]  # fmt: skip
    assert said[-1] == ("Completed", "Job completed")


async def test_scenario_2_a_job_without_a_queue_runs_at_once(fleet: Fleet) -> None:
    world = await start(fleet)
    made = await world.create(batch_job(labels={}, pod=template(run_seconds="5")))
    assert made["spec"]["suspend"] is False
    assert (await world.pods())[0]["status"]["phase"] == "Running"
    await world.passes(seconds=6)
    told = await world.conditions(JOB, "work")
    assert list(told) == ["SuccessCriteriaMet", "Complete"]


async def test_scenario_3_the_name_of_a_queue_alone_holds_no_job_back(fleet: Fleet) -> None:
    """Whoever sets the label must suspend the Job too; pods do not get it."""
    world = await start(fleet)
    made = await world.create(batch_job(labels={"kueue.x-k8s.io/queue-name": "default"}))
    assert made["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "default"
    (pod,) = await world.pods("Running")
    assert "kueue.x-k8s.io/queue-name" not in pod["metadata"]["labels"]


async def test_scenario_4_a_job_that_is_stopped_right_after_it_was_started(fleet: Fleet) -> None:
    world = await start(fleet)
    await world.create(batch_job(suspend=True, parallelism=3))
    await world.client.patch(JOB, "work", {"spec": {"suspend": False}}, "default")
    await world.fleet.passes(seconds=0.2)
    assert len(await world.pods()) == 3
    await world.change(JOB, "work", suspend=True)
    assert await world.pods() == []
    status = await job_status(world)
    assert counts(status) == (0, 0, 0, 0)
    assert (await world.conditions(JOB, "work"))["Suspended"][0] == "True"
    await world.passes(hours=1)
    assert await world.pods() == []


async def test_scenario_5_what_may_change_in_a_job_that_never_started(fleet: Fleet) -> None:
    world = await start(fleet)
    await world.create(batch_job(suspend=True))
    spec = {"nodeSelector": {"kubernetes.io/hostname": "sim"}, "tolerations": [{"key": "spot"}]}
    await world.change(JOB, "work", template={"metadata": {"labels": {"team": "a"}}, "spec": spec})
    asked = {"name": "main", "image": "busybox", "resources": {"requests": {"cpu": "2"}}}
    with pytest.raises(Invalid, match=r"spec.template: Invalid value: .*: field is immutable"):
        await world.change(JOB, "work", template={"spec": {"containers": [asked]}})
    await world.change(JOB, "work", suspend=False)
    (pod,) = await world.pods("Running")
    assert pod["spec"]["nodeSelector"] == spec["nodeSelector"]
    assert pod["metadata"]["labels"]["team"] == "a"
    with pytest.raises(Invalid, match="field is immutable"):
        await world.change(JOB, "work", template={"spec": {"nodeSelector": {"pool": "b"}}})


@pytest.mark.rule("jobs B.4")
async def test_scenario_5_requests_of_a_suspended_training_job_may_change(fleet: Fleet) -> None:
    world = await simulated.start(fleet, pytorch_job.OPERATOR, groups=("kubeflow.org",))

    def replica(cpu: str) -> Object:
        return {"Worker": {"replicas": 1, "template": template(name="pytorch", cpu=cpu)}}

    await world.create(
        {
            "apiVersion": "kubeflow.org/v1",
            "kind": "PyTorchJob",
            "metadata": {"name": "mnist", "namespace": "default", "labels": QUEUE},
            "spec": {"runPolicy": {"suspend": True}, "pytorchReplicaSpecs": replica("1")},
        }
    )
    await world.change(PYTORCH_JOB, "mnist", pytorchReplicaSpecs=replica("3"))
    assert await world.pods() == []
    await world.change(PYTORCH_JOB, "mnist", runPolicy={"suspend": False})
    (pod,) = await world.pods("Running")
    assert pod["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "3"}


async def test_scenario_6_a_running_job_gets_more_pods_and_fewer(fleet: Fleet) -> None:
    world = await start(fleet)
    await world.create(batch_job(parallelism=2))
    before = {pod["metadata"]["uid"] for pod in await world.pods()}
    await world.change(JOB, "work", parallelism=4)
    after = {pod["metadata"]["uid"] for pod in await world.pods("Running")}
    assert len(after) == 4
    assert before <= after
    await stop(world, parallelism=2)
    assert await world.pods() == []
    assert counts(await job_status(world)) == (0, 0, 0, 0)
    await admit(world)
    assert len(await world.pods("Running")) == 2


async def test_scenario_7_a_stopped_job_says_when_no_pod_is_active_any_more(fleet: Fleet) -> None:
    world = await start(fleet)
    pod = template(annotations=SLOW_TO_GO)
    await world.create(batch_job(parallelism=2, pod=pod))
    assert counts(await job_status(world)) == (2, 2, 0, 0)
    await world.client.patch(JOB, "work", {"spec": {"suspend": True}}, "default")
    await world.fleet.passes(seconds=5)
    status = await job_status(world)
    assert (counts(status), status["terminating"]) == ((0, 0, 0, 0), 2)
    assert len(await world.pods()) == 2
    await world.passes(seconds=20)
    status = await job_status(world)
    assert (counts(status), status.get("terminating", 0)) == ((0, 0, 0, 0), 0)
    assert await world.pods() == []


async def test_scenario_8_a_stopped_job_has_its_own_template_again(fleet: Fleet) -> None:
    world = await start(fleet, NodeSpec("sim", mode="simulated", labels={"pool": "a"}))
    made = await world.create(batch_job(suspend=True))
    await admit(world, selector={"pool": "a"})
    assert len(await world.pods("Running")) == 1
    await stop(world)
    restored = await world.get(JOB, "work")
    assert restored["spec"]["template"] == made["spec"]["template"]
    assert "startTime" not in restored["status"]
    assert (await world.conditions(JOB, "work"))["Suspended"][0] == "True"
    await world.passes(hours=1)
    assert await world.pods() == []
    assert (await world.get(JOB, "work"))["metadata"]["generation"] == restored["metadata"][
        "generation"
    ]


async def test_scenario_9_a_job_with_priority_gets_the_room_when_the_pods_are_gone(
    fleet: Fleet,
) -> None:
    world = await start(fleet, NodeSpec("sim", mode="simulated", capacity={"cpu": "2"}))
    pod = template(cpu="1", run_seconds="60", annotations=SLOW_TO_GO)
    await world.create(batch_job("victim", suspend=True, parallelism=2, completions=2, pod=pod))
    await admit(world, "victim")
    await world.client.patch(JOB, "victim", {"spec": {"suspend": True}}, "default")
    await world.fleet.passes(seconds=1)
    urgent = template(cpu="2", run_seconds="60")
    await world.client.create(batch_job("urgent", pod=urgent))
    await world.fleet.passes(seconds=5)
    (waiting,) = [pod for pod in await world.pods() if "urgent" in pod["metadata"]["name"]]
    assert scheduled(waiting)[:2] == ("False", "Unschedulable")
    assert "1 Insufficient cpu" in scheduled(waiting)[2]
    assert len(await world.pods()) == 3
    await world.fleet.passes(seconds=20)
    (running,) = await world.pods("Running")
    assert running["metadata"]["name"] == waiting["metadata"]["name"]
    await world.passes(seconds=65)
    assert "Complete" in await world.conditions(JOB, "urgent")
    await stop(world, "victim")
    await admit(world, "victim")
    await world.passes(seconds=65)
    assert "Complete" in await world.conditions(JOB, "victim")
    assert counts(await job_status(world, "victim")) == (0, 0, 2, 0)


async def test_scenario_10_a_flavor_says_on_which_nodes_a_job_runs(fleet: Fleet) -> None:
    pools = [NodeSpec(pool, mode="simulated", labels={"pool": pool}) for pool in ("a", "b")]
    world = await start(fleet, *pools)
    await world.create(batch_job(suspend=True, parallelism=4))
    for pool in ("b", "a"):
        await admit(world, selector={"pool": pool})
        found = await world.pods("Running")
        assert [each["spec"]["nodeName"] for each in found] == [pool] * 4
        await stop(world)
        spec = (await world.get(JOB, "work"))["spec"]["template"]["spec"]
        assert "nodeSelector" not in spec


async def test_scenario_11_a_selector_that_no_node_has_keeps_the_pods_waiting(
    fleet: Fleet,
) -> None:
    world = await start(fleet, NodeSpec("sim", mode="simulated", labels={"pool": "a"}))
    await world.create(batch_job(suspend=True, pod=template(nodeSelector={"pool": "b"})))
    await world.passes(hours=1)
    assert await world.pods() == []
    await world.change(JOB, "work", suspend=False)
    (pod,) = await world.pods("Pending")
    assert scheduled(pod) == (
        "False",
        "Unschedulable",
        "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector. "
        "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
    )
    assert counts(await job_status(world)) == (1, 0, 0, 0)


@pytest.mark.parametrize("mode", ["NonIndexed", "Indexed"])
async def test_scenario_12_a_job_that_is_admitted_in_part(fleet: Fleet, mode: str) -> None:
    world = await start(fleet)
    note = {"kueue.x-k8s.io/job-min-parallelism": "2"}
    is_indexed = mode == "Indexed"
    made = batch_job(suspend=True, parallelism=5, completions=5, completionMode=mode)
    made["metadata"]["annotations"] = note
    await world.create(made)
    fewer = {"parallelism": 3} | ({"completions": 3} if is_indexed else {})
    await admit(world, **fewer)
    assert len(await world.pods("Running")) == 3
    await stop(world, parallelism=5, **({"completions": 5} if is_indexed else {}))
    spec = (await world.get(JOB, "work"))["spec"]
    assert (spec["parallelism"], spec["completions"]) == (5, 5)
    if not is_indexed:
        with pytest.raises(Invalid, match=r"spec.completions: Invalid value: 3: field is immut"):
            await world.change(JOB, "work", completions=3)
    await admit(world)
    assert len(await world.pods("Running")) == 5


async def test_scenario_13_a_job_tells_which_of_its_pods_are_not_needed_any_more(
    fleet: Fleet,
) -> None:
    world = await start(fleet)
    spec = {"parallelism": 5, "completions": 5, "completionMode": "Indexed"}
    await world.create(batch_job(**spec))
    assert counts(await job_status(world)) == (5, 5, 0, 0)
    for pod in (await world.pods())[1:4:2]:
        await world.write_status(POD, pod["metadata"]["name"], {"phase": "Succeeded"})
    status = await job_status(world)
    assert counts(status) == (3, 3, 2, 0)
    assert status["completedIndexes"] == "1,3"
    assert "Complete" not in await world.conditions(JOB, "work")


async def elastic(world: World, parallelism: int, granted: int) -> None:
    pod = template(schedulingGates=[{"name": ELASTIC}])
    made = batch_job(parallelism=parallelism, pod=pod)
    made["metadata"]["annotations"] = {ELASTIC: "true"}
    await world.create(made)
    names = [each["metadata"]["name"] for each in await world.pods()]
    await world.ungate(*names[:granted], gates=(ELASTIC,))


async def test_scenario_14_an_elastic_job_grows_without_a_stop(fleet: Fleet) -> None:
    world = await start(fleet)
    await elastic(world, 3, granted=3)
    before = {pod["metadata"]["uid"] for pod in await world.pods("Running")}
    assert len(before) == 3
    await world.change(JOB, "work", parallelism=5)
    gated = [pod for pod in await world.pods() if gates_of(pod)]
    assert len(gated) == 2
    assert {scheduled(pod)[1] for pod in gated} == {"SchedulingGated"}
    assert counts(await job_status(world)) == (5, 3, 0, 0)
    await world.ungate(*(pod["metadata"]["name"] for pod in gated), gates=(ELASTIC,))
    after = {pod["metadata"]["uid"] for pod in await world.pods("Running")}
    assert len(after) == 5
    assert before <= after
    assert "Suspended" not in await world.conditions(JOB, "work")


async def test_scenario_15_an_elastic_job_shrinks_by_its_gated_pods_first(fleet: Fleet) -> None:
    world = await start(fleet)
    await elastic(world, 5, granted=3)
    running = {pod["metadata"]["uid"] for pod in await world.pods("Running")}
    await world.change(JOB, "work", parallelism=3)
    assert {pod["metadata"]["uid"] for pod in await world.pods()} == running
    await world.change(JOB, "work", parallelism=2)
    left = {pod["metadata"]["uid"] for pod in await world.pods("Running")}
    assert len(left) == 2
    assert left < running
    assert counts(await job_status(world)) == (2, 2, 0, 0)


@pytest.mark.parametrize(
    "label",
    [
        pytest.param("kueue.x-k8s.io/priority-class", id="29: its class is missing"),
        pytest.param("kueue.x-k8s.io/prebuilt-workload-name", id="30: its workload differs"),
    ],
)
async def test_scenarios_29_and_30_a_job_that_nobody_starts_stays_as_it_is(
    fleet: Fleet, label: str
) -> None:
    world = await start(fleet)
    labels = {**QUEUE, label: "nobody"}
    await world.create(batch_job(suspend=True, labels=labels, activeDeadlineSeconds=60))
    told = await world.get(JOB, "work")
    assert conditions(told) == {"Suspended": ("True", "JobSuspended", "Job suspended")}
    await world.passes(hours=1)
    assert await world.pods() == []
    assert await world.get(JOB, "work") == told
