"""How many Workloads a LeaderWorkerSet has, and which of its pods need not wait."""

from typing import Any

import pytest
from tests.support.job_looks import NAMESPACE, NOW, QUEUE, SETTINGS, defaulted, pods, sight, thing

from fleetqueue.jobs.serving.leader_worker_set import decide, decide_gone, wanted_replicas
from fleetqueue.kube.plan import Create, Delete, Look, Patch, Plan
from fleetqueue.kube.resources import Object
from fleetqueue.kube.sources import Listed

pytestmark = pytest.mark.rule("jobs A.13.3")
K = "kueue.x-k8s.io"
PREFIX = "leaderworkerset.sigs.k8s.io"
LWS = "leaderworkerset.x-k8s.io"
FRAMEWORK = f"{LWS}/leaderworkerset"


def whole(replicas: int = 2, *, surge: Any = 0) -> Object:
    spec = {
        "replicas": replicas,
        "leaderWorkerTemplate": {"size": 2, "workerTemplate": pods(), "leaderTemplate": pods()},
        "rolloutStrategy": {"rollingUpdateConfiguration": {"maxSurge": surge}},
    }
    made = thing(f"{LWS}/v1", "LeaderWorkerSet", "web", labels=QUEUE, spec=spec)
    return defaulted(made, framework=FRAMEWORK)


def leaders(revision: str = "new") -> Object:
    labels = {f"{PREFIX}/name": "web", f"{PREFIX}/template-revision-hash": revision}
    return thing("apps/v1", "StatefulSet", "web", labels=labels)


def pod(name: str, revision: str = "new", *, owner: str = "uid-web", group: str = "") -> Object:
    labels = {
        f"{PREFIX}/name": "web",
        f"{PREFIX}/group-index": "0",
        f"{PREFIX}/template-revision-hash": revision,
    }
    annotations = {f"{K}/pod-suspending-parent": FRAMEWORK}
    if group:
        annotations[f"{K}/pod-group-name"] = group
    reference = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "name": "web",
        "uid": owner,
        "controller": True,
    }
    spec = {**pods()["spec"], "schedulingGates": [{"name": f"{K}/admission"}]}
    more = {"labels": labels, "annotations": annotations, "ownerReferences": [reference]}
    return thing("v1", "Pod", name, spec=spec, **more)


def see(parent: Object, *around: Object) -> Plan:
    return decide(SETTINGS, Look(parent, NOW, Listed([NAMESPACE, *around])))


def made(plan: Plan) -> list[Object]:
    return [step.obj for step in plan.steps if isinstance(step, Create)]


@pytest.mark.parametrize("replicas", [0, 2])
def test_how_many_workloads(replicas: int) -> None:
    assert wanted_replicas(sight(whole(replicas))) == replicas


@pytest.mark.parametrize(("updated", "expected"), [(1, 3), (2, 2)])
def test_an_update_adds_some_for_its_time(updated: int, expected: int) -> None:
    parent = whole(2, surge=1)
    parent["status"] = {"replicas": 3, "updatedReplicas": updated}
    assert wanted_replicas(sight(parent)) == expected


def test_surplus_workloads_are_deleted_and_lost_ones_made_again() -> None:
    parent = whole(2)
    first, second = (
        {**each, "metadata": {**each["metadata"], "uid": each["metadata"]["name"]}}
        for each in made(see(parent))
    )
    assert first["metadata"]["annotations"][f"{K}/component-workload-index"] == "0"
    [again] = made(see(parent, second))
    assert again["metadata"]["name"] == first["metadata"]["name"]
    smaller = see(whole(1), first, second)
    deleted = [step.obj for step in smaller.steps if isinstance(step, Delete)]
    assert deleted == [second]


@pytest.mark.rule("jobs A.17")
def test_no_workloads_are_made_for_a_copy() -> None:
    parent = whole(2)
    parent["metadata"]["labels"] = {**QUEUE, f"{K}/multikueue-origin": "multikueue"}
    assert made(see(parent)) == []


def patches(plan: Plan) -> list[Any]:
    return [step.patch for step in plan.steps if isinstance(step, Patch)]


def test_a_new_pod_joins_the_group_of_its_replica() -> None:
    parent = whole(1)
    [workload] = made(see(parent))
    [patch] = patches(see(parent, workload, leaders(), pod("web-0")))
    name = workload["metadata"]["name"]
    assert patch["metadata"]["labels"] == {f"{K}/managed": "true"}
    assert patch["metadata"]["annotations"] == {
        f"{K}/pod-group-name": name,
        f"{K}/prebuilt-workload-name": name,
        f"{K}/pod-group-total-count": "2",
        f"{K}/role-hash": "leader",
    }


@pytest.mark.parametrize(
    ("revision", "owner", "goes"),
    [("new", "uid-web", False), ("old", "uid-web", True), ("new", "uid-gone", True)],
    ids=["of the newest revision", "of an old one", "of a StatefulSet that is gone"],
)
def test_which_pods_need_not_wait(revision: str, owner: str, goes: bool) -> None:
    parent = whole(1)
    [workload] = made(see(parent))
    member = pod("web-0", revision, owner=owner, group=workload["metadata"]["name"])
    found = patches(see(parent, workload, leaders(), member))
    assert found == (
        [{"metadata": {"resourceVersion": "1"}, "spec": {"schedulingGates": None}}] if goes else []
    )


def gone(*around: Object) -> Plan:
    """What is done for a set that is not there."""
    names = {"name": "web", "namespace": "ns"}
    stub = {"apiVersion": f"{LWS}/v1", "kind": "LeaderWorkerSet", "metadata": names}
    return decide_gone(SETTINGS, Look(stub, NOW, Listed([NAMESPACE, *around])))


def owned(obj: Object, kind: str, name: str) -> Object:
    reference = {"kind": kind, "name": name, "uid": f"uid-{name}", "controller": True}
    return {**obj, "metadata": {**obj["metadata"], "ownerReferences": [reference]}}


def test_a_pod_whose_statefulset_was_not_seen_yet_waits() -> None:
    parent = whole(1)
    [workload] = made(see(parent))
    member = pod("web-0", group=workload["metadata"]["name"])
    assert patches(see(parent, workload, member)) == []


@pytest.mark.parametrize(
    ("around", "goes"),
    [
        ([], False),
        ([owned(leaders(), "LeaderWorkerSet", "web")], False),
        ([leaders()], True),
    ],
    ids=["nothing was seen yet", "the set was not", "the set left it behind"],
)
def test_pods_of_a_set_that_is_not_there(around: list[Object], goes: bool) -> None:
    """One that nobody has seen yet is no reason to let pods run without any quota."""
    leader = pod("web-0")
    worker = owned(pod("web-0-1"), "StatefulSet", "web-0")
    workers = owned(thing("apps/v1", "StatefulSet", "web-0"), "Pod", "web-0")
    found = patches(gone(leader, worker, workers, *around))
    assert len(found) == (2 if goes else 0)
