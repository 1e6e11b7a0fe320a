"""What may change in a pod after its creation, and by which path."""

from collections.abc import Callable
from typing import Any

import pytest

from fleetqueue.apiserver.builtin import strategies

Object = dict[str, Any]
Make = Callable[..., Object]

POD = strategies()["", "Pod"]
C: Object = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
GATE = [{"name": "g"}]
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
TERMS = f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms"
ONLY = (
    "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only "
    "additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set "
    "to 1 if it was previously negative)\n"
)


def nodes(*terms: list[str]) -> Object:
    """Node affinity with these keys in its terms."""
    listed = [
        {"matchExpressions": [{"key": key, "operator": "Exists"} for key in keys]} for keys in terms
    ]
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": listed}}}


UPDATES: dict[str, tuple[Object, Object, list[str]]] = {
    "another image": ({}, {"spec/containers/0/image": "j"}, []),
    "no image": (
        {},
        {"spec/containers/0/image": ""},
        ["spec.containers[0].image: Required value", "spec.containers[0].image: Required value"],
    ),
    "a container more": (
        {},
        {"spec/containers": [C, {"name": "d", "image": "i"}]},
        ["spec.containers: Forbidden: pod updates may not add or remove containers"],
    ),
    "the same amount, spelled otherwise": (
        {},
        {"spec/containers/0/resources/requests/cpu": "1000m"},
        [],
    ),
    "a shorter deadline": (
        {"activeDeadlineSeconds": 9},
        {"spec/activeDeadlineSeconds": 5},
        [],
    ),
    "a longer deadline": (
        {"activeDeadlineSeconds": 5},
        {"spec/activeDeadlineSeconds": 9},
        [
            "spec.activeDeadlineSeconds: Invalid value: 9: "
            "must be less than or equal to previous value"
        ],
    ),
    "no deadline any more": (
        {"activeDeadlineSeconds": 5},
        {"spec/activeDeadlineSeconds": None},
        [
            "spec.activeDeadlineSeconds: Invalid value: null: "
            "must not update from a positive integer to nil value"
        ],
    ),
    "a toleration more": (
        {"tolerations": [{"key": "a", "operator": "Exists"}]},
        {
            "spec/tolerations": [
                {"key": "a", "operator": "Exists"},
                {"key": "b", "operator": "Exists"},
            ]
        },
        [],
    ),
    "a toleration less": (
        {"tolerations": [{"key": "a", "operator": "Exists"}]},
        {"spec/tolerations": []},
        [
            "spec.tolerations: Forbidden: "
            "existing toleration can not be modified except its tolerationSeconds"
        ],
    ),
    "a gate less": ({"schedulingGates": GATE}, {"spec/schedulingGates": []}, []),
    "a gate more": (
        {"schedulingGates": GATE},
        {"spec/schedulingGates": [*GATE, {"name": "h"}]},
        [
            "spec.schedulingGates[1].name: Forbidden: "
            "only deletion is allowed, but found new scheduling gate 'h'"
        ],
    ),
    "a gated pod picks its nodes": (
        {"schedulingGates": GATE, "nodeSelector": {"a": "b"}},
        {"spec/nodeSelector": {"a": "b", "c": "d"}, "spec/affinity": nodes(["x"])},
        [],
    ),
    "a gated pod changes its mind": (
        {"schedulingGates": GATE, "nodeSelector": {"a": "b"}},
        {"spec/nodeSelector": {"a": "c"}},
        [
            'spec.nodeSelector: Invalid value: {"a":"c"}: '
            "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        ],
    ),
    "a gated pod narrows its affinity": (
        {"schedulingGates": GATE, "affinity": nodes(["x"])},
        {"spec/affinity": nodes(["x", "y"])},
        [],
    ),
    "a gated pod widens its affinity": (
        {"schedulingGates": GATE, "affinity": nodes(["x"])},
        {"spec/affinity": nodes(["x"], ["y"])},
        [
            f'{TERMS}: Invalid value: [{{"MatchExpressions":[{{"Key":"x","Operator":"Exists",'
            '"Values":null}],"MatchFields":null},{"MatchExpressions":[{"Key":"y",'
            '"Operator":"Exists","Values":null}],"MatchFields":null}]: '
            "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        ],
    ),
    "a node selector without a gate": (
        {},
        {"spec/nodeSelector": {"a": "b"}},
        [
            ONLY + "@@ -41,7 +41,9 @@\n"
            '  "TerminationGracePeriodSeconds": 30,\n'
            '  "ActiveDeadlineSeconds": null,\n'
            '  "DNSPolicy": "ClusterFirst",\n'
            '- "NodeSelector": null,\n'
            '+ "NodeSelector": {\n'
            '+  "a": "b"\n'
            "+ },\n"
            '  "ServiceAccountName": "",\n'
            '  "AutomountServiceAccountToken": null,\n'
            '  "NodeName": "",\n'
        ],
    ),
    "a mirror annotation": (
        {"nodeName": "n"},
        {"metadata/annotations": {"kubernetes.io/config.mirror": "x"}},
        [
            "metadata.annotations[kubernetes.io/config.mirror]: Forbidden: "
            "may not add mirror pod annotation"
        ],
    ),
}


@pytest.mark.parametrize(("given", "changes", "errors"), UPDATES.values(), ids=UPDATES.keys())
def test_an_update(
    stored: Make, change: Make, given: Object, changes: Object, errors: list[str]
) -> None:
    old = stored("", "Pod", {"containers": [C]} | given)
    new = change(old, changes)
    POD.default(new)
    POD.prepare_update(new, old)
    assert [str(error) for error in POD.validate_update(new, old)] == errors


def written(part: str, old: Object, new: Object) -> tuple[Object, list[str]]:
    aspect = POD.aspects[part]
    assert aspect.validate is not None
    POD.default(new)
    result = aspect.restrict(new, old)
    return result, [str(error) for error in aspect.validate(result, old)]


RESIZES: dict[str, tuple[Object, Object, list[str]]] = {
    "more cpu": ({}, {"spec/containers/0/resources/requests/cpu": "2"}, []),
    "no request any more": (
        {},
        {"spec/containers/0/resources": {}},
        [
            'spec: Invalid value: "Burstable": '
            "Pod QOS Class may not change as a result of resizing",
            "spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed",
        ],
    ),
    "other resources": (
        {},
        {"spec/containers/0/resources/requests": {"cpu": "1", "ephemeral-storage": "1"}},
        ["spec: Forbidden: only cpu and memory resources are mutable"],
    ),
    "another name": (
        {},
        {"spec/containers/0/name": "d"},
        [
            "spec.containers[0].name: Forbidden: "
            "containers may not be renamed or reordered on resize"
        ],
    ),
    "a pod with resources of its own": (
        {"resources": {"requests": {"cpu": "2"}}},
        {"spec/containers/0/resources/requests/cpu": "2"},
        ["[]: Forbidden: pods with pod-level resources cannot be resized"],
    ),
    "a step of the start": (
        {"initContainers": [C | {"name": "x"}]},
        {"spec/initContainers/0/resources/requests/cpu": "2"},
        ["spec: Forbidden: resources for non-sidecar init containers are immutable"],
    ),
}


@pytest.mark.parametrize(("given", "changes", "errors"), RESIZES.values(), ids=RESIZES.keys())
def test_a_resize(
    stored: Make, change: Make, given: Object, changes: Object, errors: list[str]
) -> None:
    old = stored("", "Pod", {"containers": [C]} | given)
    _, found = written("resize", old, change(old, changes))
    assert found == errors


def test_a_resize_changes_nothing_else(stored: Make, change: Make) -> None:
    old = stored("", "Pod", {"containers": [C]})
    wish = {
        "spec/containers/0/resources/requests/cpu": "2",
        "spec/containers/0/image": "other",
        "metadata/labels": {"a": "b"},
    }
    new, errors = written("resize", old, change(old, wish))
    assert errors == []
    assert new["spec"]["containers"][0]["image"] == "i"
    assert "labels" not in new["metadata"]


def test_ephemeral_containers_are_added_and_stay(stored: Make, change: Make) -> None:
    old = stored("", "Pod", {"containers": [C]})
    debugger = {"name": "d", "image": "i", "targetContainerName": "c"}
    new, errors = written(
        "ephemeralcontainers", old, change(old, {"spec/ephemeralContainers": [debugger]})
    )
    assert errors == []
    _, errors = written("ephemeralcontainers", new, change(old, {}))
    assert errors == [
        "spec.ephemeralContainers: Forbidden: "
        'existing ephemeral containers "d" may not be removed\n'
    ]


def test_an_ephemeral_container_has_no_resources(stored: Make, change: Make) -> None:
    old = stored("", "Pod", {"containers": [C]})
    debugger = {"name": "d", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    _, errors = written(
        "ephemeralcontainers", old, change(old, {"spec/ephemeralContainers": [debugger]})
    )
    assert errors == [
        "spec.ephemeralContainers[0].resources: Forbidden: cannot be set for an Ephemeral Container"
    ]


def ended(code: int) -> list[Object]:
    return [{"name": "c", "state": {"terminated": {"exitCode": code}}}]


STATUSES: dict[str, tuple[str, Object, Object, list[str]]] = {
    "it runs": ("Always", {}, {"phase": "Running", "podIP": "10.0.0.1"}, []),
    "another quality of service": (
        "Always",
        {},
        {"qosClass": "Guaranteed"},
        ['status.qosClass: Invalid value: "Guaranteed": field is immutable'],
    ),
    "a condition of an odd name": (
        "Always",
        {},
        {"conditions": [{"type": "", "status": "True"}]},
        [
            'status.conditions[0].Type: Invalid value: "": name part must be non-empty',
            'status.conditions[0].Type: Invalid value: "": name part must consist of alphanumeric '
            "characters, '-', '_' or '.', and must start and end with an alphanumeric character "
            "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
            "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
        ],
    ),
    "two addresses of one family": (
        "Always",
        {},
        {"podIPs": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}]},
        [
            'status.podIPs: Invalid value: [{"IP":"10.0.0.1"},{"IP":"10.0.0.2"}]: '
            "may specify no more than one IP for each IP family"
        ],
    ),
    "back from the dead": (
        "Never",
        {"containerStatuses": ended(1)},
        {"containerStatuses": [{"name": "c", "state": {"running": {}}}]},
        [
            "status.containerStatuses[0].state: Forbidden: "
            "may not be transitioned to non-terminated state"
        ],
    ),
    "another try after a failure": (
        "OnFailure",
        {"containerStatuses": ended(1)},
        {"containerStatuses": [{"name": "c", "state": {"running": {}}}]},
        [],
    ),
    "another try after a success": (
        "OnFailure",
        {"containerStatuses": ended(0)},
        {"containerStatuses": [{"name": "c", "state": {"running": {}}}]},
        [
            "status.containerStatuses[0].state: Forbidden: "
            "may not be transitioned to non-terminated state"
        ],
    ),
}


@pytest.mark.parametrize(("policy", "before", "after", "errors"), STATUSES.values(), ids=STATUSES)
def test_a_status(
    stored: Make, change: Make, policy: str, before: Object, after: Object, errors: list[str]
) -> None:
    old = stored("", "Pod", {"containers": [C], "restartPolicy": policy})
    old["status"] |= before
    new = change(old, {"status": old["status"] | after})
    POD.prepare_status(new, old)
    assert [str(error) for error in POD.validate_status(new, old)] == errors


def test_a_status_keeps_what_its_writer_does_not_know(stored: Make, change: Make) -> None:
    old = stored("", "Pod", {"containers": [C]}, ownerReferences=[{"name": "o"}])
    known = {"type": "Ready", "status": "True", "observedGeneration": 3}
    old["status"] |= {"observedGeneration": 3, "conditions": [known]}
    blind = {"podIP": "10.0.0.1", "conditions": [{"type": "Ready", "status": "False"}]}
    new = change(old, {"status": blind, "metadata/ownerReferences": []})
    POD.default(new)
    POD.prepare_status(new, old)
    assert new["metadata"]["ownerReferences"] == [{"name": "o"}]
    assert new["status"] == {
        "qosClass": "Burstable",
        "observedGeneration": 3,
        "podIP": "10.0.0.1",
        "podIPs": [{"ip": "10.0.0.1"}],
        "conditions": [{"type": "Ready", "status": "False", "observedGeneration": 3}],
    }
