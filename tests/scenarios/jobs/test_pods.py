"""Plain pods before a queue that really admits."""

import pytest
from tests.support import job_looks, kueue
from tests.support.looking import Series, read_series
from tests.support.queued import admission, conditions, message
from tests.support.queued_pods import K, gates_of, member, pod, start

from fleetqueue.admission import kinds
from fleetqueue.api.kueue import admission_status as status_of
from fleetqueue.jobs.resources import DEPLOYMENT, REPLICA_SET, STATEFUL_SET, WORKLOAD
from fleetqueue.kube.errors import NotFound
from fleetqueue.kube.plan import Look
from fleetqueue.kube.sources import Listed
from fleetqueue.runtime.kinds import JOB, POD
from fleetqueue.testing import Fleet

pytestmark = [pytest.mark.rule("jobs A.12.3"), pytest.mark.rule("jobs A.12")]


@pytest.mark.rule("jobs A.18")
@pytest.mark.rule("jobs A.19")
@pytest.mark.rule("kueue 2.3")
async def test_a_pod_is_held_admitted_let_go_and_finished(fleet: Fleet) -> None:
    here = await start(fleet)
    made = await here.create(pod("single"))
    assert gates_of(made) == ["admission", "topology"]
    assert made["metadata"]["labels"] == {
        f"{K}/managed": "true",
        f"{K}/queue-name": "main",
    }
    assert made["metadata"]["finalizers"] == [f"{K}/managed"]
    assert made["metadata"]["annotations"] == {f"{K}/role-hash": "4b0469f7"}

    workload = await here.workload()
    name = workload["metadata"]["name"]
    assert name.startswith("pod-single-")
    uid = made["metadata"]["uid"]
    assert workload["metadata"]["labels"] == {f"{K}/job-uid": uid}
    [owner] = workload["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("Pod", uid, True)
    [pod_set] = workload["spec"]["podSets"]
    assert (pod_set["name"], pod_set["count"]) == ("main", 1)
    assert pod_set["template"]["metadata"] == {}
    assert pod_set["topologyRequest"] == {"podIndexLabel": f"{K}/pod-group-pod-index"}

    going = await here.pod("single")
    assert gates_of(going) == []
    assert going["metadata"]["labels"] == {
        f"{K}/managed": "true",
        f"{K}/queue-name": "main",
        f"{K}/podset": "main",
        f"{K}/cluster-queue-name": "queue",
        f"{K}/local-queue-name": "main",
    }
    assert going["metadata"]["annotations"][f"{K}/workload"] == name

    await here.run("single")
    assert conditions(await here.workload())["PodsReady"] == ("True", "Started")
    await here.run("single", phase="Succeeded")
    workload = await here.workload()
    assert conditions(workload)["Finished"] == ("True", "Succeeded")
    assert message(workload, "Finished") == ""
    assert "finalizers" not in workload["metadata"]
    assert "finalizers" not in (await here.pod("single"))["metadata"]
    assert await here.events("Pod") == [
        ("CreatedWorkload", f"Created Workload: default/{name}"),
        ("Started", "Admitted by clusterQueue queue"),
        ("FinishedWorkload", f"Workload 'default/{name}' is declared finished"),
    ]


async def test_a_pod_that_fails_says_why(fleet: Fleet) -> None:
    here = await start(fleet)
    await here.create(pod("single"))
    status = {"status": {"phase": "Failed", "message": "out of luck"}}
    await here.patch(POD, "single", status, "status")
    workload = await here.workload()
    assert conditions(workload)["Finished"] == ("True", "Failed")
    assert message(workload, "Finished") == "out of luck"


async def test_a_pod_that_does_not_fit_waits(fleet: Fleet) -> None:
    here = await start(fleet, quota="1")
    await here.create(pod("one"))
    await here.create(pod("two"))
    assert gates_of(await here.pod("one")) == []
    assert gates_of(await here.pod("two")) == ["admission", "topology"]
    await here.run("one", phase="Succeeded")
    assert gates_of(await here.pod("two")) == []


@pytest.mark.rule("jobs A.18")
@pytest.mark.rule("kueue 3.4")
async def test_a_pod_that_is_preempted_is_told_and_deleted(fleet: Fleet) -> None:
    here = await start(fleet, quota="1")
    await here.client.patch(
        kinds.CLUSTER_QUEUE,
        "queue",
        {"spec": {"preemption": {"withinClusterQueue": "LowerPriority"}}},
    )
    for name, value in (("low", 1), ("high", 2)):
        api = {"apiVersion": kueue.API, "kind": "WorkloadPriorityClass"}
        await here.create({**api, "metadata": {"name": name}, "value": value})
    await here.create(pod("victim", labels={"priority-class": "low"}))
    await here.run("victim")
    await here.create(pod("winner", labels={"priority-class": "high"}))

    victim = await here.pod("victim")
    assert victim["metadata"]["deletionTimestamp"]
    told = conditions(victim)["TerminationTarget"]
    assert told == ("True", "WorkloadEvictedDueToPreempted")
    assert message(victim, "TerminationTarget").startswith("Preempted to accommodate a workload")
    assert gates_of(await here.pod("winner")) == []
    assert "finalizers" not in victim["metadata"]
    reasons = [reason for reason, _ in await here.events("Pod")]
    assert "Stopped" in reasons

    [left] = [each for each in await here.workloads() if "Evicted" in conditions(each)]
    told = conditions(left)
    assert told["Evicted"] == ("True", "Preempted")
    assert told["Requeued"] == ("False", "Preempted")
    assert told["QuotaReserved"] == ("False", "PendingEvaluation")
    assert told["Admitted"] == ("False", "NoReservation")
    assert told["Finished"] == ("True", "OwnerNotFound")
    assert message(left, "Requeued") == message(left, "Evicted")
    assert "admission" not in left["status"]


async def test_a_pod_whose_workload_is_deleted_goes_with_it(fleet: Fleet) -> None:
    here = await start(fleet, quota="1")
    await here.create(pod("single", cpu="2"))
    assert gates_of(await here.pod("single")) == ["admission", "topology"]
    workload = await here.workload()
    await here.delete(WORKLOAD, workload["metadata"]["name"])
    with pytest.raises(NotFound):
        await here.pod("single")
    assert await here.workloads() == []


@pytest.mark.rule("kueue 3.10")
async def test_the_workload_of_a_deleted_pod_is_over(fleet: Fleet) -> None:
    here = await start(fleet)
    await here.create(pod("single"))
    await here.run("single")
    await here.delete(POD, "single")
    workload = await here.workload()
    assert conditions(workload)["Finished"] == ("True", "OwnerNotFound")
    assert "finalizers" not in workload["metadata"]


@pytest.mark.rule("jobs A.2")
@pytest.mark.parametrize(
    ("namespace", "labels"),
    [("kube-system", {}), ("default", {"queue-name": ""})],
    ids=["a namespace that is not managed", "no queue"],
)
async def test_pods_that_are_left_alone(
    fleet: Fleet, namespace: str, labels: dict[str, str]
) -> None:
    here = await start(fleet)
    made = await here.create(pod("single", labels=labels, metadata={"namespace": namespace}))
    assert gates_of(made) == []
    assert "finalizers" not in made["metadata"]
    assert await here.workloads() == []


async def test_pods_of_a_managed_job_are_its_own_affair(fleet: Fleet) -> None:
    here = await start(fleet)
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": "j",
            "namespace": "default",
            "labels": {f"{K}/queue-name": "main"},
        },
        "spec": {"template": {"spec": pod("x")["spec"]}},
    }
    owner = await here.create(job)
    reference = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": "j",
        "uid": owner["metadata"]["uid"],
        "controller": True,
    }
    made = await here.create(pod("child", metadata={"ownerReferences": [reference]}))
    assert gates_of(made) == []
    assert len(await here.workloads()) == 1


@pytest.mark.rule("jobs A.3")
async def test_all_kinds_that_pods_may_belong_to_are_followed(fleet: Fleet) -> None:
    """A webhook on a server of others has nothing but our caches to look at."""
    here = await start(fleet)
    for kind in (POD, JOB, REPLICA_SET, DEPLOYMENT, STATEFUL_SET):
        assert here.manager.cluster.follows(kind), kind


@pytest.mark.rule("jobs A.2")
async def test_pods_without_a_queue_where_all_are_managed(fleet: Fleet) -> None:
    here = await start(fleet, config="manageJobsWithoutQueueName: true")
    made = await here.create(pod("single", labels={"queue-name": ""}))
    assert gates_of(made) == ["admission", "topology"]
    workload = await here.workload()
    assert "queueName" not in workload["spec"]
    assert gates_of(await here.pod("single")) == ["admission", "topology"]


@pytest.mark.rule("jobs A.6")
async def test_a_pod_that_contradicts_its_flavor_never_starts(fleet: Fleet) -> None:
    here = await start(fleet)
    spec = {"nodeLabels": {"pool": "a"}}
    await here.client.patch(kinds.RESOURCE_FLAVOR, "default", {"spec": spec})
    await here.create(pod("single", nodeSelector={"other": "x"}))
    assert (await here.pod("single"))["spec"]["nodeSelector"] == {"other": "x", "pool": "a"}
    blocked = pod("blocked", metadata={"annotations": {f"{K}/workload": "another"}})
    await here.create(blocked)
    found = {each["metadata"]["name"]: each for each in await here.workloads()}
    [name] = [name for name in found if name.startswith("pod-blocked-")]
    assert conditions(found[name])["Finished"] == ("True", "FailedToStart")
    assert gates_of(await here.pod("blocked")) == ["admission", "topology"]
    assert "finalizers" not in (await here.pod("blocked"))["metadata"]


@pytest.mark.rule("jobs A.6")
async def test_a_pod_that_another_cluster_runs_keeps_its_gate(fleet: Fleet) -> None:
    here = await start(fleet, quota="1")
    name = "dispatch"
    spec = {"controllerName": f"{K}/multikueue"}
    api = {"apiVersion": kueue.API, "kind": "AdmissionCheck"}
    await here.create({**api, "metadata": {"name": name}, "spec": spec})
    await here.create(pod("single", cpu="2"))
    found = await here.workload()
    now = fleet.clock.now()
    check = {
        "name": name,
        "state": "Ready",
        "message": "",
        "lastTransitionTime": now.isoformat().replace("+00:00", "Z"),
    }
    ready = status_of.changed(found, admissionChecks=[check])
    assigned = admission(found, {"cpu": "default"}, {})
    await here.write(status_of.reserve(ready, assigned, now, checks=[name]))
    assert conditions(await here.workload())["Admitted"][0] == "True"
    assert gates_of(await here.pod("single")) == ["admission", "topology"]


@pytest.mark.rule("kueue 11.2")
@pytest.mark.parametrize("places", [True, False])
async def test_how_long_pods_are_held_is_measured(fleet: Fleet, places: bool) -> None:
    """Also where nothing but the jobs' controllers follows pods."""
    here = await start(fleet, gates={"TopologyAwareScheduling": places})
    await here.create(pod("single"))
    for name in ("one", "two"):
        made = member(name, 2)
        group = made["metadata"]["labels"].pop(f"{K}/pod-group-name")
        made["metadata"]["annotations"][f"{K}/pod-group-name"] = group
        await here.create(made)

    told = Series(read_series(here.admission.metrics.text().decode()))
    gate = {"name": f"{K}/admission", "cluster_queue": "queue"}
    held = "pod_scheduling_gate_removal_seconds_count"
    assert told.value(held, **gate, is_group="false") == 1
    assert told.value(held, **gate, is_group="true") == 2
    assert told.value("workload_creation_latency_seconds_count", job_kind="Pod") == 2


@pytest.mark.rule("kueue 10.3")
@pytest.mark.parametrize("is_strict", [True, False])
async def test_finalizers_hold_for_one_version_where_that_is_wanted(
    fleet: Fleet, is_strict: bool
) -> None:
    here = await start(fleet, gates={"RemoveFinalizersWithStrictPatch": is_strict})
    [operator] = [
        loop.controller.operator
        for loop in here.manager.loops()
        if loop.controller.name == "batch/job-kueue-controller"
    ]
    job = job_looks.job(deletionTimestamp="now")
    workload = job_looks.created(job_looks.job())
    workload["metadata"]["deletionTimestamp"] = "now"

    [step] = operator.decide(Look(job, job_looks.NOW, Listed([workload]))).steps

    assert ("resourceVersion" in step.patch["metadata"]) is is_strict
