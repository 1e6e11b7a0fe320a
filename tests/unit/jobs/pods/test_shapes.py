"""The hash of a pod's shape is the one that Kueue computes."""

from typing import Any

import pytest

from fleetqueue.jobs.pods.shapes import role_hash, shape_of
from fleetqueue.kube.resources import Object

pytestmark = pytest.mark.rule("jobs A.12.1")


def pod(requests: Any = None, **more: Any) -> Object:
    resources = {} if requests is None else {"requests": requests}
    return {"containers": [{"name": "c", "resources": resources}], **more}


TOLERATED = [
    {
        "effect": "NoExecute",
        "key": f"node.kubernetes.io/{name}",
        "operator": "Exists",
        "tolerationSeconds": 300,
    }
    for name in ("not-ready", "unreachable")
]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param(pod(), "7aa6c7b8", id="no requests"),
        pytest.param(pod({}), "a9f06f3a", id="empty requests"),
        pytest.param(pod({"cpu": "1"}), "dc85db45", id="one cpu"),
        pytest.param(pod({"cpu": "1000m"}), "dc85db45", id="the same, written otherwise"),
        pytest.param(
            pod({"cpu": "1"}, priority=0, tolerations=TOLERATED),
            "4b0469f7",
            id="as a recording has it",
        ),
    ],
)
def test_hashes(spec: Object, expected: str) -> None:
    assert role_hash(spec) == expected


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        pytest.param({}, {"restartPolicy": "Never"}, True, id="what does not count"),
        pytest.param({}, {"nodeSelector": {}}, True, id="nothing selected"),
        pytest.param({}, {"nodeSelector": {"a": "b"}}, False, id="a selector"),
        pytest.param(
            {"nodeSelector": {"b": "1", "a": "2"}},
            {"nodeSelector": {"a": "2", "b": "1"}},
            True,
            id="the order of a map",
        ),
        pytest.param(
            {"tolerations": [{"value": "v", "key": "k"}]},
            {"tolerations": [{"key": "k", "value": "v", "effect": ""}]},
            True,
            id="the order of members, and an empty one",
        ),
        pytest.param({}, {"initContainers": [{"name": "i"}]}, False, id="an init container"),
        pytest.param({}, {"resources": {}}, False, id="resources of the pod"),
        pytest.param({}, {"overhead": {"cpu": "1"}}, False, id="overhead"),
    ],
)
def test_what_counts(left: Object, right: Object, same: bool) -> None:
    assert (role_hash(pod(**left)) == role_hash(pod(**right))) == same


def test_members_are_in_the_order_of_their_declarations() -> None:
    spread = {
        "labelSelector": {"matchExpressions": [], "matchLabels": {"b": "1", "a": "2"}},
        "whenUnsatisfiable": "DoNotSchedule",
        "topologyKey": "zone",
        "maxSkew": 1,
    }
    term = {
        "topologyKey": "host",
        "labelSelector": {
            "matchExpressions": [{"values": ["x"], "operator": "In", "key": "app"}],
        },
    }
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    nodes = {"nodeSelectorTerms": [{"matchExpressions": [{"operator": "Exists", "key": "gpu"}]}]}
    port = {"hostIP": "", "protocol": "TCP", "containerPort": 80, "name": "web", "hostPort": 0}
    spec = {
        "containers": [{"name": "c", "ports": [port]}],
        "topologySpreadConstraints": [spread],
        "affinity": {"podAntiAffinity": {required: [term]}, "nodeAffinity": {required: nodes}},
    }
    made = shape_of(spec)
    [constraint] = made["topologySpreadConstraints"]
    assert list(constraint) == ["maxSkew", "topologyKey", "whenUnsatisfiable", "labelSelector"]
    assert constraint["labelSelector"] == {"matchLabels": {"a": "2", "b": "1"}}
    assert list(constraint["labelSelector"]["matchLabels"]) == ["a", "b"]
    assert list(made["affinity"]) == ["nodeAffinity", "podAntiAffinity"]
    [first] = made["affinity"]["podAntiAffinity"][required]
    assert list(first) == ["labelSelector", "topologyKey"]
    assert list(first["labelSelector"]["matchExpressions"][0]) == ["key", "operator", "values"]
    assert list(made["containers"][0]["ports"][0]) == ["name", "containerPort", "protocol"]
    assert list(made) == sorted(made)
