"""On which nodes a DaemonSet's pods belong."""

from typing import Any

import pytest

from fleetqueue.kube.resources import Object
from fleetqueue.runtime.controllers.daemon_nodes import belongs, new_pod, target_node, tolerations

pytestmark = pytest.mark.rule("jobs B.2")


def daemon_set(**spec: Any) -> Object:
    template = {"metadata": {"labels": {"app": "d"}}, "spec": {"containers": [], **spec}}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "d", "namespace": "x", "uid": "1"},
        "spec": {"template": template},
    }


def node(*taints: tuple[str, str], **labels: str) -> Object:
    spec = {"taints": [{"key": key, "effect": effect} for key, effect in taints]}
    return {"metadata": {"name": "n", "labels": labels}, "spec": spec}


def affinity(**term: Any) -> Object:
    terms = {"nodeSelectorTerms": [term]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


GPU = {"key": "gpu", "operator": "Exists"}


@pytest.mark.parametrize(
    ("why", "parent", "there", "expected"),
    [
        ("any node", daemon_set(), node(), (True, True)),
        ("another node is named", daemon_set(nodeName="m"), node(), (False, False)),
        ("this one is named", daemon_set(nodeName="n"), node(), (True, True)),
        ("a label is missing", daemon_set(nodeSelector={"a": "b"}), node(), (False, False)),
        ("the label is there", daemon_set(nodeSelector={"a": "b"}), node(a="b"), (True, True)),
        (
            "affinity asks for another",
            daemon_set(affinity=affinity(matchExpressions=[{**GPU}])),
            node(),
            (False, False),
        ),
        ("new ones are kept out", daemon_set(), node(("x", "NoSchedule")), (False, True)),
        ("all are sent away", daemon_set(), node(("x", "NoExecute")), (False, False)),
        ("a preference is no taint", daemon_set(), node(("x", "PreferNoSchedule")), (True, True)),
        (
            "a daemon stays on a node in trouble",
            daemon_set(),
            node(
                ("node.kubernetes.io/not-ready", "NoExecute"),
                ("node.kubernetes.io/unreachable", "NoExecute"),
                ("node.kubernetes.io/disk-pressure", "NoSchedule"),
                ("node.kubernetes.io/unschedulable", "NoSchedule"),
            ),
            (True, True),
        ),
        (
            "without a network only on the host's",
            daemon_set(),
            node(("node.kubernetes.io/network-unavailable", "NoSchedule")),
            (False, True),
        ),
        (
            "on the host's",
            daemon_set(hostNetwork=True),
            node(("node.kubernetes.io/network-unavailable", "NoSchedule")),
            (True, True),
        ),
    ],
)
def test_where_a_pod_belongs(
    why: str, parent: Object, there: Object, expected: tuple[bool, bool]
) -> None:
    assert belongs(there, parent) == expected, why


def test_a_pod_is_made_for_its_node_alone() -> None:
    kept = {"podAntiAffinity": {"x": 1}, **affinity(matchExpressions=[{**GPU}])}
    pod = new_pod(daemon_set(affinity=kept, nodeSelector={"a": "b"}), "n", "hash")
    assert target_node(pod) == "n"
    assert pod["spec"]["affinity"]["podAntiAffinity"] == {"x": 1}
    assert pod["spec"]["nodeSelector"] == {"a": "b"}
    assert pod["metadata"]["labels"] == {"app": "d", "controller-revision-hash": "hash"}


def test_own_tolerations_stay_and_none_is_there_twice() -> None:
    own = [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}]
    made = tolerations({"tolerations": [*own, {"operator": "Exists"}]})
    assert len(made) == 7
    assert made[:2] == [*own, {"operator": "Exists"}]
