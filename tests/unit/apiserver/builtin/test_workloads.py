"""Deployments, ReplicaSets, StatefulSets, DaemonSets and ReplicationControllers."""

from collections.abc import Callable
from typing import Any

import pytest

from fleetqueue.apiserver.builtin import strategies

Object = dict[str, Any]
Make = Callable[..., Object]

KINDS = ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet")
OLD_LABEL = "beta.kubernetes.io/os"
MESSAGE = (
    f"spec.template.spec.nodeSelector[{OLD_LABEL}]: "
    'deprecated since v1.14; use "kubernetes.io/os" instead'
)


def template(labels: Object | None = None, **pod: Any) -> Object:
    spec = {"containers": [{"name": "c", "image": "i"}]} | pod
    return {"metadata": {"labels": labels or {"app": "x"}}, "spec": spec}


def spec(**fields: Any) -> Object:
    return {"selector": {"matchLabels": {"app": "x"}}, "template": template()} | fields


def refusals(kind: str, obj: Object, group: str = "apps") -> list[str]:
    return [str(error) for error in strategies()[group, kind].validate_create(obj)]


DEFAULTS: dict[str, Object] = {
    "Deployment": {
        "replicas": 1,
        "strategy": {
            "type": "RollingUpdate",
            "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"},
        },
        "revisionHistoryLimit": 10,
        "progressDeadlineSeconds": 600,
    },
    "ReplicaSet": {"replicas": 1},
    "StatefulSet": {
        "replicas": 1,
        "podManagementPolicy": "OrderedReady",
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
        "revisionHistoryLimit": 10,
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
    },
    "DaemonSet": {
        "updateStrategy": {
            "type": "RollingUpdate",
            "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0},
        },
        "revisionHistoryLimit": 10,
    },
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_workload_of_few_lines_becomes_whole(stored: Make, kind: str) -> None:
    obj = stored("apps", kind, spec())
    own = {k: v for k, v in obj["spec"].items() if k not in ("selector", "template")}
    assert own == DEFAULTS[kind]
    assert refusals(kind, obj) == []


@pytest.mark.parametrize("kind", KINDS)
def test_the_selector_must_match_the_template(stored: Make, kind: str) -> None:
    obj = stored("apps", kind, spec(template=template({"app": "y"})))
    assert refusals(kind, obj) == [
        'spec.template.metadata.labels: Invalid value: {"app":"y"}: '
        "`selector` does not match template `labels`"
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_pods_of_a_workload_always_restart(stored: Make, kind: str) -> None:
    obj = stored("apps", kind, spec(template=template(restartPolicy="Never")))
    assert refusals(kind, obj) == [
        'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"'
    ]


EMPTY = {
    "Deployment": "deployment",
    "ReplicaSet": "deployment",
    "StatefulSet": "statefulset",
    "DaemonSet": "daemonset",
}


@pytest.mark.parametrize(("kind", "word"), EMPTY.items())
def test_an_empty_selector_selects_too_much(stored: Make, kind: str, word: str) -> None:
    obj = stored("apps", kind, spec(selector={}))
    assert refusals(kind, obj) == [
        f"spec.selector: Invalid value: {{}}: empty selector is invalid for {word}"
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_the_selector_never_changes(stored: Make, change: Make, kind: str) -> None:
    old = stored("apps", kind, spec())
    wider = {"matchExpressions": [{"key": "app", "operator": "Exists"}]}
    new = change(old, {"spec/selector": wider})
    errors = [str(error) for error in strategies()["apps", kind].validate_update(new, old)]
    if kind == "StatefulSet":
        assert errors[0].startswith("spec: Forbidden: updates to statefulset spec for fields other")
    else:
        assert errors == [
            'spec.selector: Invalid value: {"matchExpressions":[{"key":"app",'
            '"operator":"Exists"}]}: field is immutable'
        ]


@pytest.mark.parametrize("kind", KINDS)
def test_a_template_warns_when_it_changes(stored: Make, change: Make, kind: str) -> None:
    strategy = strategies()["apps", kind]
    old = stored("apps", kind, spec(template=template(nodeSelector={OLD_LABEL: "linux"})))
    new = change(old, {"spec/template/spec/containers/0/image": "j"})
    strategy.prepare_update(new, old)
    assert strategy.warnings(old, None) == [MESSAGE]
    assert strategy.warnings(new, old) == [MESSAGE]
    assert strategy.warnings(change(old, {"metadata/labels": {"a": "b"}}), old) == []


STRATEGIES: dict[str, tuple[str, Object, list[str]]] = {
    "no way to roll": (
        "Deployment",
        {"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "0%"}}},
        [
            'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "0%": '
            "may not be 0 when `maxSurge` is 0"
        ],
    ),
    "more than all": (
        "Deployment",
        {"strategy": {"rollingUpdate": {"maxUnavailable": "101%"}}},
        [
            'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "101%": '
            "must not be greater than 100%"
        ],
    ),
    "rolling while recreating": (
        "Deployment",
        {"strategy": {"type": "Recreate", "rollingUpdate": {}}},
        [
            "spec.strategy.rollingUpdate: Forbidden: "
            "may not be specified when strategy `type` is 'Recreate'"
        ],
    ),
    "unheard of": (
        "Deployment",
        {"strategy": {"type": "Leap"}},
        [
            'spec.strategy: Unsupported value: {"Type":"Leap","RollingUpdate":null}: '
            'supported values: "Recreate", "RollingUpdate"'
        ],
    ),
    "ready after the deadline": (
        "Deployment",
        {"progressDeadlineSeconds": 5, "minReadySeconds": 5},
        ["spec.progressDeadlineSeconds: Invalid value: 5: must be greater than minReadySeconds"],
    ),
    "both more and fewer": (
        "DaemonSet",
        {"updateStrategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}}},
        [
            "spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: "
            "may not be set when maxUnavailable is non-zero"
        ],
    ),
    "an order unheard of": (
        "StatefulSet",
        {"podManagementPolicy": "Chaos"},
        [
            'spec.podManagementPolicy: Invalid value: "Chaos": '
            "must be 'OrderedReady' or 'Parallel'"
        ],
    ),
    "rolling on delete": (
        "StatefulSet",
        {"updateStrategy": {"type": "OnDelete", "rollingUpdate": {"partition": 1}}},
        [
            "spec.updateStrategy.rollingUpdate: Invalid value: "
            '{"Partition":1,"MaxUnavailable":null}: '
            "only allowed for updateStrategy 'RollingUpdate'",
        ],
    ),
    "a claim for nothing": (
        "StatefulSet",
        {"volumeClaimTemplates": [{"metadata": {"name": "d"}, "spec": {}}]},
        [
            "spec.volumeClaimTemplates[0].spec.accessModes: Required value: "
            "at least 1 access mode is required",
            "spec.volumeClaimTemplates[0].spec.resources[storage]: Required value",
        ],
    ),
}


@pytest.mark.parametrize(("kind", "given", "errors"), STRATEGIES.values(), ids=STRATEGIES.keys())
def test_a_workload_is_refused(stored: Make, kind: str, given: Object, errors: list[str]) -> None:
    assert refusals(kind, stored("apps", kind, spec(**given))) == errors


def test_pods_of_a_stateful_set_mount_its_claims(stored: Make) -> None:
    mount = {"name": "d", "mountPath": "/d"}
    pods = template(containers=[{"name": "c", "image": "i", "volumeMounts": [mount]}])
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    obj = stored(
        "apps",
        "StatefulSet",
        spec(template=pods, volumeClaimTemplates=[{"metadata": {"name": "d"}, "spec": claim}]),
    )
    assert refusals("StatefulSet", obj) == []
    assert obj["spec"]["volumeClaimTemplates"] == [
        {
            "kind": "PersistentVolumeClaim",
            "apiVersion": "v1",
            "metadata": {"name": "d"},
            "spec": {**claim, "volumeMode": "Filesystem"},
            "status": {"phase": "Pending"},
        }
    ]


def test_a_deployment_counts_changed_annotations(stored: Make, change: Make) -> None:
    strategy = strategies()["apps", "Deployment"]
    old = stored("apps", "Deployment", spec())
    new = change(old, {"metadata/annotations": {"a": "b"}})
    strategy.prepare_update(new, old)
    assert new["metadata"]["generation"] == 2


def test_a_daemon_set_counts_its_templates_in_an_annotation(stored: Make, change: Make) -> None:
    strategy = strategies()["apps", "DaemonSet"]
    key = "deprecated.daemonset.template.generation"
    old = stored("apps", "DaemonSet", spec())
    assert old["metadata"]["annotations"] == {key: "1"}
    same = change(old, {"metadata/annotations": {"a": "b"}, "spec/minReadySeconds": 3})
    other = change(old, {"spec/template/spec/hostNetwork": True})
    strategy.prepare_update(same, old)
    strategy.prepare_update(other, old)
    assert same["metadata"]["annotations"] == {"a": "b", key: "1"}
    assert other["metadata"]["annotations"] == {key: "2"}


def test_counts_in_a_status_add_up(stored: Make) -> None:
    strategy = strategies()["apps", "Deployment"]
    old = stored("apps", "Deployment", spec()) | {"status": {"collisionCount": 2}}
    status = {"replicas": 1, "readyReplicas": 2, "availableReplicas": 3, "collisionCount": 1}
    assert [str(error) for error in strategy.validate_status(old | {"status": status}, old)] == [
        "status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas",
        "status.availableReplicas: Invalid value: 3: cannot be greater than status.replicas",
        "status.availableReplicas: Invalid value: 3: cannot be greater than readyReplicas",
        "status.collisionCount: Invalid value: 1: cannot be decremented",
    ]


def test_a_replication_controller_takes_its_selector_from_the_pods(stored: Make) -> None:
    controller = stored("", "ReplicationController", {"template": template({"a": "b"})})
    assert controller["spec"]["selector"] == {"a": "b"}
    assert controller["metadata"]["labels"] == {"a": "b"}
    assert refusals("ReplicationController", controller, "") == []


def test_a_replication_controller_without_pods_is_refused(stored: Make) -> None:
    controller = stored("", "ReplicationController", {})
    assert refusals("ReplicationController", controller, "") == [
        "spec.selector: Required value",
        "spec.template: Required value",
    ]


REVISIONS: dict[str, tuple[Object, list[str]]] = {
    "an object": ({"revision": 1, "data": {"a": 1}}, []),
    "nothing": ({"revision": 1}, ["data: Required value: data is mandatory"]),
    "a list": ({"data": [1]}, ["data: Required value: data must be a valid JSON object"]),
}


@pytest.mark.parametrize(("given", "errors"), REVISIONS.values(), ids=REVISIONS.keys())
def test_the_data_of_a_revision(given: Object, errors: list[str]) -> None:
    assert refusals("ControllerRevision", {"metadata": {"name": "r"}} | given) == errors


def test_the_data_of_a_revision_never_changes() -> None:
    meta = {"name": "r", "namespace": "d", "uid": "1", "resourceVersion": "1"}
    old, new = ({"metadata": meta, "revision": 1, "data": {"a": a}} for a in (1, 2))
    errors = strategies()["apps", "ControllerRevision"].validate_update(new, old)
    assert [error.path for error in errors] == ["data"]
