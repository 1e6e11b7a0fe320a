"""Kinds without a field that hands them over: pods, alone and in groups, and sets of them."""

from typing import Any

import pytest
from tests.support.dispatched import SETTINGS_OF_MANAGER as SETTINGS
from tests.support.job_looks import pods, thing

from fleetqueue.jobs.names import workload_name
from fleetqueue.kube.resources import Object
from fleetqueue.kube.sources import Listed
from fleetqueue.multikueue.adapter import Copied, Copying
from fleetqueue.multikueue.adapters.registry import adapters, handed_over

K = "kueue.x-k8s.io"
KNOWN = {each.framework: each for each in adapters(SETTINGS).values()}
POD, SET, GROUP_SET = (
    KNOWN[name] for name in ("pod", "statefulset", "leaderworkerset.x-k8s.io/leaderworkerset")
)
GATED = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}
PENDING = {"phase": "Pending", "conditions": [GATED]}


def pod(
    name: str = "p", *, gated: bool = True, status: Object | None = None, **more: Any
) -> Object:
    spec = dict(pods()["spec"])
    if gated:
        spec["schedulingGates"] = [{"name": f"{K}/admission"}]
    return thing("v1", "Pod", name, spec=spec, status=status or PENDING, **more)


def reference(owner: Object, **more: Any) -> Object:
    metadata = owner["metadata"]
    named = {"apiVersion": owner["apiVersion"], "kind": owner["kind"]}
    return {**named, "name": metadata["name"], "uid": metadata["uid"], **more}


def workload(name: str, *owners: Object, **more: Any) -> Object:
    return thing(f"{K}/v1beta2", "Workload", name, ownerReferences=list(owners), **more)


GROUP = {f"{K}/is-group-workload": "true"}


# Pods


@pytest.mark.rule("POD-2")
def test_a_pod_is_sent_whole_with_its_gates() -> None:
    made = pod(labels={f"{K}/managed": "true"}, annotations={f"{K}/role-hash": "h"})
    made["metadata"]["finalizers"] = [f"{K}/managed"]
    mirror = POD.mirror(made, workload("pod-p-1", reference(made, controller=True)), SETTINGS)
    assert mirror["spec"] == made["spec"]
    name = f"{K}/prebuilt-workload-name"
    origin = {f"{K}/multikueue-origin": "multikueue"}
    assert mirror["metadata"] == {
        "name": "p",
        "namespace": "ns",
        "labels": {f"{K}/managed": "true", name: "pod-p-1", **origin},
        "annotations": {f"{K}/role-hash": "h", name: "pod-p-1"},
    }


@pytest.mark.rule("POD-5")
def test_every_pod_of_a_group_gets_a_mirror_but_those_that_were_replaced() -> None:
    first, second = pod("a"), pod("b", status={"phase": "Succeeded"})
    failed, leaving = pod("c", status={"phase": "Failed"}), pod("d", deletionTimestamp="t")
    again = pod("e")
    again["metadata"]["uid"] = "another"
    found = [first, second, failed, leaving, again]
    owners = [reference(each) for each in (*found, pod("gone"))]
    owners[4]["uid"] = "first-of-that-name"
    group = workload("g", *owners, annotations=GROUP)
    assert POD.jobs(group, Listed(found), SETTINGS) == [first, second]
    names = [
        POD.mirror(each, group, SETTINGS)["metadata"]["annotations"][f"{K}/prebuilt-workload-name"]
        for each in (first, second)
    ]
    assert names == ["g", "g"]


def test_a_pod_alone_is_found_however_it_is() -> None:
    failed = pod("c", status={"phase": "Failed"})
    own = workload("w", reference(failed, controller=True))
    assert POD.jobs(own, Listed([failed]), SETTINGS) == [failed]


SCHEDULED = {"type": "PodScheduled", "status": "True"}
READY = {"type": "Ready", "status": "True"}
RUNS = {"phase": "Running", "podIP": "10.0.0.1", "conditions": [READY, SCHEDULED]}
WAITS = {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False"}]}


@pytest.mark.rule("POD-3")
@pytest.mark.rule("POD-4")
@pytest.mark.rule("DEP-2")
@pytest.mark.parametrize(
    ("local", "status", "expected"),
    [
        pytest.param(pod(), RUNS, Copied(RUNS), id="it runs there"),
        pytest.param(pod(), WAITS, Copied(), id="it waits there"),
        pytest.param(
            pod(),
            {"phase": "Pending", "conditions": [READY]},
            Copied({"phase": "Pending", "conditions": [READY, GATED]}),
            id="it says nothing of a node",
        ),
        pytest.param(pod(gated=False), WAITS, Copied(WAITS), id="not gated"),
        pytest.param(pod(status={"phase": "Pending"}), WAITS, Copied(WAITS), id="nothing to keep"),
        pytest.param(pod(deletionTimestamp="t"), RUNS, Copied(), id="it goes here"),
        pytest.param(pod(status=RUNS), RUNS, Copied(), id="nothing new"),
    ],
)
def test_a_pod_shows_what_its_mirror_does(local: Object, status: Object, expected: Copied) -> None:
    assert POD.copy(Copying({}, local, {**local, "status": status}, SETTINGS)) == expected


@pytest.mark.rule("IMP-13")
def test_a_pod_of_a_lost_worker_waits_again() -> None:
    found = POD.reset(pod(status={**RUNS, "qosClass": "Burstable"}))
    assert found is not None
    assert (found["phase"], found["qosClass"], "podIP" in found) == ("Pending", "Burstable", False)
    assert [(each["type"], each["reason"]) for each in found["conditions"]] == [
        ("PodScheduled", "SchedulingGated")
    ]
    assert POD.reset(pod()) is None
    assert POD.reset(pod(gated=False, status=RUNS)) is None, "it runs here"


# Sets


def stateful_set() -> Object:
    return thing("apps/v1", "StatefulSet", "db", spec={"replicas": 3}, labels={"a": "b"})


def owned_set(owner: Object, name: str, *pods: Object) -> Object:
    notes = {
        **GROUP,
        f"{K}/job-owner-gvk": f"{owner['apiVersion']}, Kind={owner['kind']}",
        f"{K}/job-owner-name": owner["metadata"]["name"],
    }
    owners = [reference(each) for each in (owner, *pods)]
    return workload(name, *owners, annotations=notes)


@pytest.mark.rule("STS-2")
@pytest.mark.rule("STS-3")
@pytest.mark.rule("NAME-6")
def test_a_stateful_set_is_sent_with_its_uid_and_shows_its_own_pods() -> None:
    made = stateful_set()
    own = owned_set(made, "statefulset-db-1", pod("db-0"))
    assert SET.jobs(own, Listed([made, pod("db-0")]), SETTINGS) == [made]
    mirror = SET.mirror(made, own, SETTINGS)
    assert mirror["spec"] == made["spec"]
    assert mirror["metadata"]["annotations"] == {
        f"{K}/prebuilt-workload-name": "statefulset-db-1",
        f"{K}/multikueue-origin-uid": "uid-db",
    }
    ready = {**mirror, "status": {"readyReplicas": 3}}
    assert SET.copy(Copying(own, made, ready, SETTINGS)) == Copied()
    assert [key.name for key in SET.wakes(mirror, SETTINGS)] == ["statefulset-db-1"]


def leader_worker_set(**spec: Any) -> Object:
    return thing("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "serve", spec=spec)


@pytest.mark.rule("LWS-5")
@pytest.mark.rule("LWS-6")
@pytest.mark.rule("NAME-6")
def test_a_leader_worker_set_is_sent_without_the_name_of_a_workload() -> None:
    made = leader_worker_set(replicas=2)
    own = owned_set(made, "leaderworkerset-serve-0-1")
    assert GROUP_SET.jobs(own, Listed([made]), SETTINGS) == [made]
    assert GROUP_SET.has_components
    mirror = GROUP_SET.mirror(made, own, SETTINGS)
    assert mirror["metadata"]["annotations"] == {f"{K}/multikueue-origin-uid": "uid-serve"}
    assert f"{K}/prebuilt-workload-name" not in mirror["metadata"]["labels"]
    assert GROUP_SET.copy(Copying(own, made, mirror, SETTINGS)) == Copied()


@pytest.mark.rule("FLOW-5")
@pytest.mark.rule("NAME-4")
@pytest.mark.parametrize(
    ("spec", "count"),
    [({}, 1), ({"replicas": 3}, 3), ({"replicas": 0}, 0), ({"replicas": 1_000_001}, 0)],
)
def test_a_leader_worker_set_wakes_all_its_workloads(spec: Object, count: int) -> None:
    made = leader_worker_set(**spec)
    mirror = GROUP_SET.mirror(made, owned_set(made, "w"), SETTINGS)
    mirror["metadata"]["uid"] = "uid-there"
    group = "leaderworkerset.x-k8s.io"
    names = [
        workload_name("LeaderWorkerSet", group, f"serve-{index}", "uid-serve")
        for index in range(count)
    ]
    assert [key.name for key in GROUP_SET.wakes(mirror, SETTINGS)] == names


def test_what_is_not_ours_wakes_nobody() -> None:
    assert list(GROUP_SET.wakes(leader_worker_set(replicas=2), SETTINGS)) == []
    assert list(POD.wakes(pod(), SETTINGS)) == []


@pytest.mark.rule("POD-1")
def test_nothing_has_to_be_said_to_hand_them_over() -> None:
    assert [handed_over(each, pod()) for each in (POD, SET, GROUP_SET)] == [None] * 3
