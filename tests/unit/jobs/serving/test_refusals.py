"""What is refused of what serves while it is queued, and what its webhooks write."""

import copy
from typing import Any

import pytest
from tests.support.job_looks import (
    KUEUE,
    NOW,
    QUEUE,
    SETTINGS,
    defaulted,
    pods,
    refusals,
    sight,
    thing,
    with_settings,
)

from fleetqueue.api.kueue import admission_status as status_of
from fleetqueue.jobs.kinds import leader_worker_set, stateful_set
from fleetqueue.jobs.settings import JobSettings
from fleetqueue.kube.resources import Object

K = "kueue.x-k8s.io"
LWS = "leaderworkerset.x-k8s.io"
LWS_FRAMEWORK = f"{LWS}/leaderworkerset"
IMMUTABLE = "field is immutable"
QUEUE_PATH = f"metadata.labels[{K}/queue-name]"


def made(kind: str, replicas: int = 2, *, ready: int = 0, **more: Any) -> Object:
    spec = {"replicas": replicas, "template": pods()}
    status = {"readyReplicas": ready, **more.pop("status", {})}
    labels = more.pop("labels", QUEUE)
    return thing("apps/v1", kind, "web", labels=labels, spec=spec, status=status, **more)


def stateful(replicas: int = 2, **more: Any) -> Object:
    return defaulted(made("StatefulSet", replicas, **more), framework="statefulset")


def lws(size: int = 3, *, leader: bool = True, **more: Any) -> Object:
    template: Object = {"size": size, "workerTemplate": pods()}
    if leader:
        template["leaderTemplate"] = pods()
    spec = {"replicas": more.pop("replicas", 1), "leaderWorkerTemplate": template}
    labels = more.pop("labels", QUEUE)
    whole = thing(f"{LWS}/v1", "LeaderWorkerSet", "web", labels=labels, spec=spec, **more)
    return defaulted(whole, framework=LWS_FRAMEWORK)


def with_cpu(job: Object, template: str, cpu: str) -> Object:
    new = copy.deepcopy(job)
    at = new["spec"]
    for name in template.split("."):
        at = at[name]
    at["spec"]["containers"][0]["resources"]["requests"]["cpu"] = cpu
    return new


@pytest.mark.rule("jobs A.13.1")
@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        pytest.param(made("Deployment"), made("Deployment", 5), [], id="another size"),
        pytest.param(
            made("Deployment", labels={**QUEUE, f"{K}/queue-name": "b"}),
            made("Deployment"),
            [],
            id="another queue, with nothing ready",
        ),
        pytest.param(
            made("Deployment", labels={**QUEUE, f"{K}/queue-name": "b"}, ready=1),
            made("Deployment"),
            [f'{QUEUE_PATH}: Invalid value: "b": {IMMUTABLE}'],
            id="another queue, with a pod ready",
        ),
        pytest.param(
            made("Deployment", labels={}),
            made("Deployment"),
            [f'{QUEUE_PATH}: Invalid value: "": {IMMUTABLE}'],
            id="no queue any more",
        ),
        pytest.param(
            made("Deployment", labels={}, ready=1),
            made("Deployment"),
            [f'{QUEUE_PATH}: Invalid value: "": {IMMUTABLE}'],
            id="no queue any more, with a pod ready",
        ),
        pytest.param(
            made("Deployment", labels={**QUEUE, f"{K}/priority-class": "p"}, ready=1),
            made("Deployment"),
            [
                f'metadata.labels[{K}/priority-class]: Invalid value: "p":'
                " WorkloadPriorityClass cannot be added to a non-suspended workload"
            ],
            id="a class too late",
        ),
    ],
)
def test_deployments(new: Object, old: Object, expected: list[str]) -> None:
    assert refusals(new, old=old, framework="deployment") == expected


@pytest.mark.rule("jobs A.13.1")
def test_the_template_of_a_deployment_follows_its_queue() -> None:
    labels = {**QUEUE, f"{K}/priority-class": "p"}
    found = defaulted(made("Deployment", labels=labels), framework="deployment")
    assert found["spec"]["template"]["metadata"] == {
        "annotations": {f"{K}/pod-suspending-parent": "deployment"},
        "labels": {f"{K}/managed": "true", **labels},
    }
    plain = defaulted(made("Deployment", labels={}), framework="deployment")
    assert plain["spec"]["template"]["metadata"] == {}


def on_hold(name: str, *, held: bool) -> Object:
    found = thing(KUEUE, "Workload", name, spec={"podSets": []})
    return status_of.release(found, "OnHold" if held else "Pending", "m", NOW)


NAME = stateful_set.workload_name(sight(made("StatefulSet")))


@pytest.mark.rule("jobs A.13.2")
@pytest.mark.parametrize(
    ("new", "old", "around", "expected"),
    [
        pytest.param(stateful(0), stateful(2), [], [], id="to nothing"),
        pytest.param(
            stateful(1),
            stateful(2),
            [],
            [f"spec.replicas: Invalid value: 1: {IMMUTABLE}"],
            id="to less",
        ),
        pytest.param(stateful(2), stateful(0), [], [], id="from nothing"),
        pytest.param(
            stateful(2, status={"replicas": 1}),
            stateful(0),
            [],
            ["spec.replicas: Forbidden: scaling down is still in progress"],
            id="from nothing, too early",
        ),
        pytest.param(
            stateful(2), stateful(0), [on_hold(NAME, held=True)], [], id="from nothing, on hold"
        ),
        pytest.param(
            stateful(2),
            stateful(0),
            [on_hold(NAME, held=False)],
            [
                "spec.replicas: Forbidden: workload from previous scale-down is still being"
                " deleted"
            ],
            id="from nothing, not on hold",
        ),
        pytest.param(
            stateful(2, labels={}) | {"spec": stateful(2)["spec"]},
            stateful(2),
            [],
            [f'{QUEUE_PATH}: Invalid value: "": {IMMUTABLE}'],
            id="no queue any more",
        ),
        pytest.param(
            made("StatefulSet", 1, labels={}), made("StatefulSet", 2, labels={}), [], [],
            id="not ours",
        ),
    ],
)  # fmt: skip
def test_stateful_sets(new: Object, old: Object, around: list[Object], expected: list[str]) -> None:
    assert refusals(new, *around, old=old, framework="statefulset") == expected


@pytest.mark.rule("jobs A.13.2")
def test_the_shape_of_a_stateful_set_stays() -> None:
    old = stateful()
    [found] = refusals(with_cpu(old, "template", "2"), old=old, framework="statefulset")
    assert found.startswith("spec.template.spec.containers: Invalid value: ")
    assert found.endswith(IMMUTABLE)
    other = copy.deepcopy(old)
    other["spec"]["template"]["spec"]["containers"][0]["image"] = "new"
    assert refusals(other, old=old, framework="statefulset") == []


@pytest.mark.rule("jobs A.13.2")
def test_a_set_within_another_is_left_alone() -> None:
    child = made("StatefulSet")
    parent = {f"{K}/pod-suspending-parent": LWS_FRAMEWORK}
    child["spec"]["template"]["metadata"] = {"annotations": parent}
    assert defaulted(child, framework="statefulset")["spec"]["template"]["metadata"] == {
        "annotations": parent
    }
    assert not stateful_set.is_managed(sight(child))


@pytest.mark.rule("jobs A.1")
def test_the_name_of_a_stateful_sets_workload() -> None:
    plain = made("StatefulSet")
    copied = made("StatefulSet", annotations={f"{K}/multikueue-origin-uid": "uid-web"})
    copied["metadata"]["uid"] = "uid-of-the-copy"
    assert stateful_set.workload_name(sight(copied)) != NAME
    copied["metadata"]["labels"] = {f"{K}/multikueue-origin": "multikueue"}
    assert stateful_set.workload_name(sight(copied)) == NAME
    legacy = stateful_set._named(sight(plain), "")
    old = thing(KUEUE, "Workload", legacy, spec={"podSets": []})
    assert legacy != NAME
    assert stateful_set.workload_name(sight(plain, old)) == legacy


FLEXIBLE = with_settings(fixed_group_size=False)


@pytest.mark.rule("jobs A.13.3")
@pytest.mark.parametrize(
    ("new", "old", "settings", "expected"),
    [
        pytest.param(lws(replicas=5), lws(), SETTINGS, [], id="another number of replicas"),
        pytest.param(
            lws(replicas=1_000_001),
            None,
            SETTINGS,
            ["spec.replicas: Invalid value: 1000001: must be less than or equal to 1000000"],
            id="too many replicas",
        ),
        pytest.param(
            lws(4),
            lws(3),
            SETTINGS,
            [f"spec.leaderWorkerTemplate.size: Invalid value: 4: {IMMUTABLE}"],
            id="another size",
        ),
        pytest.param(lws(4), lws(3), FLEXIBLE, [], id="another size, with its gate off"),
    ],
)
def test_leader_worker_sets(
    new: Object, old: Object | None, settings: JobSettings, expected: list[str]
) -> None:
    assert refusals(new, old=old, framework=LWS_FRAMEWORK, settings=settings) == expected


@pytest.mark.rule("jobs A.13.3")
@pytest.mark.parametrize("template", ["leaderTemplate", "workerTemplate"])
def test_the_shapes_of_a_leader_worker_set_stay(template: str) -> None:
    old = lws()
    new = with_cpu(old, f"leaderWorkerTemplate.{template}", "2")
    [found] = refusals(new, old=old, framework=LWS_FRAMEWORK)
    assert found.startswith(f"spec.leaderWorkerTemplate.{template}.spec.containers: Invalid")


@pytest.mark.rule("jobs A.13.3")
@pytest.mark.parametrize(
    ("new", "old"), [(lws(leader=False), lws()), (lws(), lws(leader=False))], ids=["no", "a"]
)
def test_leaders_neither_come_nor_go(new: Object, old: Object) -> None:
    [found] = refusals(new, old=old, framework=LWS_FRAMEWORK)
    assert found.startswith("spec.leaderWorkerTemplate.leaderTemplate: Invalid value: ")
    assert found.endswith(IMMUTABLE)


@pytest.mark.rule("jobs A.13.3")
@pytest.mark.rule("jobs A.8")
def test_the_roles_of_a_replica() -> None:
    whole = lws(4)
    metadata = whole["spec"]["leaderWorkerTemplate"]["workerTemplate"]["metadata"]
    metadata["labels"] |= {
        "leaderworkerset.sigs.k8s.io/name": "web",
        "leaderworkerset.sigs.k8s.io/size": "4",
    }
    leader, worker = leader_worker_set.roles(sight(whole))
    assert (leader.name, leader.count, leader.pod_index_label) == ("leader", 1, "")
    assert (worker.name, worker.count) == ("worker", 3)
    assert worker.pods["metadata"]["labels"] == {
        **QUEUE,
        "leaderworkerset.sigs.k8s.io/name": "web",
    }
    [only] = leader_worker_set.roles(sight(lws(4, leader=False)))
    assert (only.name, only.count) == ("main", 4)


@pytest.mark.rule("jobs A.13.3")
def test_workers_that_share_a_place_with_their_leader_start_at_zero() -> None:
    whole = lws()
    worker = whole["spec"]["leaderWorkerTemplate"]["workerTemplate"]["metadata"]
    assert worker["annotations"][f"{K}/pod-index-offset"] == "1"
    plain = thing(f"{LWS}/v1", "LeaderWorkerSet", "web", labels=QUEUE, spec={
        "leaderWorkerTemplate": {
            "size": 2,
            "leaderTemplate": pods(),
            "workerTemplate": pods(annotations={f"{K}/podset-group-name": "g"}),
        }
    })  # fmt: skip
    found = defaulted(plain, framework=LWS_FRAMEWORK)
    worker = found["spec"]["leaderWorkerTemplate"]["workerTemplate"]["metadata"]
    assert f"{K}/pod-index-offset" not in worker["annotations"]
