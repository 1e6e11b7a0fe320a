import json
from typing import Any

import pytest

from fleetqueue.apiserver.merge.apply import apply
from fleetqueue.apiserver.merge.conflicts import Conflicts
from fleetqueue.apiserver.merge.managed import track_update
from fleetqueue.apiserver.problems import ApiError
from fleetqueue.apiserver.schema.node import Node

EARLIER = "2020-01-01T00:00:00Z"
NOW = "2026-01-01T00:00:00Z"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

Object = dict[str, Any]


def a_deployment(spec: Object | None = None, **metadata: Any) -> Object:
    named = {"name": "web", "namespace": "n", **metadata}
    obj = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": named}
    return obj if spec is None else {**obj, "spec": spec}


class Cluster:
    """One Deployment, and the ways to write to it."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.live: Object | None = None

    def apply(self, obj: Object, manager: str, now: str = EARLIER, **more: Any) -> Object:
        asked: Any = {"subresource": "", "force": False, **more}
        self.live = apply(self.live, obj, self.node, manager=manager, now=now, **asked)
        self.live["metadata"].setdefault("uid", "u")
        return self.live

    def update(self, obj: Object, manager: str, now: str = EARLIER) -> Object:
        fields = track_update(
            self.live,
            obj,
            self.node,
            manager=manager,
            api_version="apps/v1",
            subresource="",
            now=now,
        )
        named = {**obj["metadata"], "uid": "u", "managedFields": fields}
        self.live = {**obj, "metadata": named}
        return self.live

    def owned(self, manager: str, operation: str = "Apply") -> Any:
        assert self.live is not None
        for entry in self.live["metadata"].get("managedFields", []):
            if (entry["manager"], entry["operation"]) == (manager, operation):
                return entry["fieldsV1"]
        return None


@pytest.fixture
def cluster(deployment: Node) -> Cluster:
    return Cluster(deployment)


def test_applying_to_nothing_creates_the_object(cluster: Cluster) -> None:
    made = cluster.apply(a_deployment({"replicas": 1}, labels={"a": "b"}), "me")
    assert made["spec"] == {"replicas": 1}
    assert made["metadata"]["managedFields"] == [
        {
            "manager": "me",
            "operation": "Apply",
            "apiVersion": "apps/v1",
            "time": EARLIER,
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:metadata": {"f:labels": {"f:a": {}}}, "f:spec": {"f:replicas": {}}},
        }
    ]


def test_one_conflict_is_told_in_one_line(cluster: Cluster) -> None:
    cluster.update(a_deployment({"replicas": 1}), "kubectl-client-side-apply")
    with pytest.raises(Conflicts) as raised:
        cluster.apply(a_deployment({"replicas": 2}), "me")
    error = raised.value.as_api_error()
    assert error.status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "Apply failed with 1 conflict: "
        'conflict with "kubectl-client-side-apply" using apps/v1: .spec.replicas',
        "reason": "Conflict",
        "details": {
            "causes": [
                {
                    "reason": "FieldManagerConflict",
                    "message": 'conflict with "kubectl-client-side-apply" using apps/v1',
                    "field": ".spec.replicas",
                }
            ]
        },
        "code": 409,
    }
    assert raised.value.paths == [
        (".spec.replicas", '"kubectl-client-side-apply" using apps/v1'),
    ]


def test_several_conflicts_are_told_by_manager(cluster: Cluster) -> None:
    containers = [{"name": "c", "image": "1"}]
    cluster.apply(a_deployment({"template": {"spec": {"containers": containers}}}), "b")
    cluster.apply(a_deployment({"replicas": 1, "paused": True}), "a", subresource="scale")
    changed = {"template": {"spec": {"containers": [{"name": "c", "image": "2"}]}}}
    with pytest.raises(Conflicts) as raised:
        cluster.apply(a_deployment({"replicas": 2, "paused": False, **changed}), "me")
    assert str(raised.value) == (
        'Apply failed with 3 conflicts: conflicts with "a" with subresource "scale":\n'
        "- .spec.paused\n"
        "- .spec.replicas\n"
        'conflicts with "b":\n'
        '- .spec.template.spec.containers[name="c"].image'
    )


def test_force_takes_fields_over(cluster: Cluster) -> None:
    cluster.apply(a_deployment({"replicas": 1, "paused": True}), "other")
    cluster.apply(a_deployment({"replicas": 2}), "me", force=True)
    assert cluster.owned("other") == {"f:spec": {"f:paused": {}}}
    assert cluster.owned("me") == {"f:spec": {"f:replicas": {}}}


def test_the_same_value_is_owned_together(cluster: Cluster) -> None:
    cluster.apply(a_deployment({"replicas": 1}), "other")
    cluster.apply(a_deployment({"replicas": 1}), "me", now=NOW)
    assert cluster.owned("other") == cluster.owned("me") == {"f:spec": {"f:replicas": {}}}
    cluster.apply(a_deployment(), "me")
    assert cluster.live is not None
    assert cluster.live["spec"] == {"replicas": 1}
    assert cluster.owned("me") is None


def test_what_is_no_longer_applied_goes(cluster: Cluster) -> None:
    containers = [{"name": "a", "image": "1"}, {"name": "b", "image": "1"}]
    cluster.apply(a_deployment({"template": {"spec": {"containers": containers}}}), "me")
    spec = {"template": {"spec": {"containers": containers[1:]}}}
    after = cluster.apply(a_deployment(spec), "me")
    assert after["spec"]["template"]["spec"]["containers"] == [{"name": "b", "image": "1"}]


def test_what_someone_else_set_in_an_item_keeps_the_item(cluster: Cluster) -> None:
    one = {"template": {"spec": {"containers": [{"name": "a", "image": "1"}]}}}
    cluster.apply(a_deployment(one), "me")
    other = {"template": {"spec": {"containers": [{"name": "a", "tty": True}]}}}
    cluster.apply(a_deployment(other), "other")
    after = cluster.apply(a_deployment(), "me")
    assert after["spec"]["template"]["spec"]["containers"] == [{"name": "a", "tty": True}]


def test_fields_of_nobody_stay(cluster: Cluster) -> None:
    cluster.live = a_deployment({"replicas": 3, "paused": True}, uid="u")
    cluster.live["metadata"]["managedFields"] = []
    cluster.apply(a_deployment({"minReadySeconds": 1}), "me")
    after = cluster.apply(a_deployment(), "me")
    assert after["spec"] == {"replicas": 3, "paused": True}


def test_what_was_there_before_the_first_apply_has_an_owner(cluster: Cluster) -> None:
    cluster.live = a_deployment({"replicas": 3}, uid="u")
    with pytest.raises(Conflicts, match='"before-first-apply" using apps/v1'):
        cluster.apply(a_deployment({"replicas": 1}), "me")
    cluster.apply(a_deployment({"replicas": 1}), "me", force=True)
    cluster.live = a_deployment({"replicas": 3}, uid="u")
    cluster.apply(a_deployment({"replicas": 3}), "me")
    assert cluster.owned("before-first-apply", "Update") == {"f:spec": {"f:replicas": {}}}


def test_a_time_is_renewed_only_when_the_object_changes(cluster: Cluster) -> None:
    cluster.apply(a_deployment({"replicas": 1}, labels={"a": "b"}), "me")
    same = cluster.apply(a_deployment({"replicas": 1}, labels={"a": "b"}), "me", now=NOW)
    assert same["metadata"]["managedFields"][0]["time"] == EARLIER
    changed = cluster.apply(a_deployment({"replicas": 2}, labels={"a": "b"}), "me", now=NOW)
    assert changed["metadata"]["managedFields"][0]["time"] == NOW


def test_fields_that_the_resource_resets_are_not_owned(cluster: Cluster) -> None:
    obj = {**a_deployment({"replicas": 1}), "status": {"replicas": 1}}
    cluster.apply(obj, "me", reset={"f:status": {}})
    assert cluster.owned("me") == {"f:spec": {"f:replicas": {}}}


def test_names_and_versions_are_nobodys(cluster: Cluster) -> None:
    applied = cluster.apply(a_deployment(), "me")
    assert "managedFields" not in applied["metadata"]


def test_an_explicit_null_is_owned_and_leaves_no_trace(cluster: Cluster) -> None:
    cluster.apply(a_deployment({"replicas": 1}), "me")
    after = cluster.apply(a_deployment({"replicas": None}), "me")
    assert after["spec"] == {}
    assert cluster.owned("me") == {"f:spec": {"f:replicas": {}}}


def test_a_custom_resource_keeps_the_null_that_is_applied(widget: Node) -> None:
    obj = {"apiVersion": "t.io/v1", "kind": "T", "metadata": {"labels": None}, "spec": {"s": None}}
    asked: Any = {"manager": "me", "subresource": "", "force": False, "now": NOW}
    made = apply(None, obj, widget, **asked)
    assert made["spec"] == {"s": None}
    assert "labels" not in made["metadata"]


@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        ({"kind": "Pod"}, 400, "invalid object type: apps/v1, Kind=Pod"),
        ({"apiVersion": "v1"}, 400, "invalid object type: /v1, Kind=Deployment"),
        ({"metadata": {"managedFields": []}}, 400, "metadata.managedFields must be nil"),
        (
            {"spec": {"replica": 1}},
            500,
            "failed to create typed patch object (n/web; apps/v1, Kind=Deployment): "
            ".spec.replica: field not declared in schema",
        ),
        (
            {"spec": {"template": {"spec": {"containers": [{"name": "a"}, {"name": "a"}]}}}},
            500,
            "failed to create typed patch object (n/web; apps/v1, Kind=Deployment): "
            '.spec.template.spec.containers: duplicate entries for key [name="a"]',
        ),
    ],
)
def test_a_configuration_that_cannot_be_applied_is_refused(
    deployment: Node, change: Object, code: int, message: str
) -> None:
    live = a_deployment()
    with pytest.raises(ApiError) as raised:
        apply(
            live,
            {**live, **change},
            deployment,
            manager="me",
            subresource="",
            force=False,
            now=NOW,
        )
    assert (raised.value.code, raised.value.message) == (code, message)


@pytest.mark.parametrize(
    ("managed", "begins"),
    [
        ([], "failed to create manager for existing fields: failed to convert new object ("),
        (
            [{"manager": "m", "operation": "Update", "apiVersion": "t.io/v1"}],
            "failed to create typed",
        ),
    ],
)
def test_a_live_object_that_cannot_be_indexed_is_told_of(
    widget: Node, managed: list[Object], begins: str
) -> None:
    metadata = {"name": "w", "managedFields": managed}
    live = {"apiVersion": "t.io/v1", "kind": "T", "metadata": metadata, "spec": {"items": [{}]}}
    obj = {**live, "metadata": {"name": "w"}, "spec": {"items": [{"name": "a"}]}}
    with pytest.raises(ApiError) as raised:
        apply(live, obj, widget, manager="me", subresource="", force=True, now=NOW)
    assert raised.value.message.startswith(begins)
    assert ".items: element 0: associative list with keys" in raised.value.message


def test_kubectl_may_change_what_it_applied_on_its_own_side(cluster: Cluster) -> None:
    before = a_deployment({"replicas": 1, "paused": True})
    noted = a_deployment(before["spec"], annotations={LAST_APPLIED: json.dumps(before)})
    cluster.update(noted, "kubectl-client-side-apply")
    after = cluster.apply(a_deployment({"replicas": 2}), "kubectl")
    assert after["spec"] == {"replicas": 2, "paused": True}
    assert after["metadata"]["annotations"][LAST_APPLIED] == (
        '{"apiVersion":"apps/v1","kind":"Deployment",'
        '"metadata":{"name":"web","namespace":"n"},"spec":{"replicas":2}}\n'
    )


def test_kubectl_may_not_change_what_others_changed_since(cluster: Cluster) -> None:
    before = a_deployment({"replicas": 1, "paused": True})
    noted = a_deployment(before["spec"], annotations={LAST_APPLIED: json.dumps(before)})
    cluster.update(noted, "kubectl-client-side-apply")
    cluster.update(
        a_deployment({"replicas": 5, "paused": True}, annotations=noted["metadata"]["annotations"]),
        "autoscaler",
    )
    with pytest.raises(Conflicts) as raised:
        cluster.apply(a_deployment({"replicas": 2, "paused": False}), "kubectl")
    assert [path for path, _ in raised.value.paths] == [".spec.replicas"]


def test_the_input_is_shared_and_never_changed(deployment: Node) -> None:
    live = a_deployment({"replicas": 1, "template": {"spec": {"nodeName": "x"}}}, uid="u")
    before = json.dumps(live)
    new = apply(
        live,
        a_deployment({"replicas": 2}),
        deployment,
        manager="me",
        subresource="",
        force=True,
        now=NOW,
    )
    assert json.dumps(live) == before
    assert new["spec"]["template"] is live["spec"]["template"]


def test_an_applier_is_the_same_in_all_versions() -> None:
    """v2 calls `data` `content`: what was applied as one is dropped as the other."""
    text = {"type": "object", "additionalProperties": {"type": "string"}}
    names = {"v1": "data", "v2": "content"}
    nodes = {
        version: Node({"type": "object", "properties": {name: text}})
        for version, name in names.items()
    }

    def convert(obj: Object, version: str) -> tuple[Object, Node]:
        spoken = names[obj["apiVersion"]]
        kept = {key: value for key, value in obj.items() if key != spoken}
        if obj.get(spoken) is not None:
            kept[names[version]] = obj[spoken]
        return {**kept, "apiVersion": version}, nodes[version]

    asked: Any = {"manager": "me", "subresource": "", "force": False, "convert": convert}
    one = {"apiVersion": "v1", "kind": "C", "metadata": {}, "data": {"a": "1", "b": "1"}}
    stored = apply(None, one, nodes["v1"], now=EARLIER, **asked)
    live, _ = convert(stored, "v2")
    two = {"apiVersion": "v2", "kind": "C", "metadata": {}, "content": {"a": "1"}}
    after = apply(live, two, nodes["v2"], now=NOW, **asked)
    assert after["content"] == {"a": "1"}
    (entry,) = after["metadata"]["managedFields"]
    assert (entry["apiVersion"], entry["fieldsV1"]) == ("v2", {"f:content": {"f:a": {}}})
