from typing import Any

from fleetqueue.apiserver.merge import scale

PATHS: scale.ReplicaPaths = {"apps/v1": ("f:spec", "f:replicas"), "apps/v0": None}
TIME = "2020-01-01T00:00:00Z"
REPLICAS = {"f:spec": {"f:replicas": {}}}

Object = dict[str, Any]


def entry(manager: str, operation: str, fields: Object, version: str = "apps/v1") -> Object:
    return {
        "manager": manager,
        "operation": operation,
        "apiVersion": version,
        "time": TIME,
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }


def test_a_scale_shows_who_owns_the_replicas() -> None:
    parent = [
        entry("a", "Apply", {"f:spec": {"f:paused": {}, "f:replicas": {}}}),
        entry("b", "Update", {"f:spec": {"f:paused": {}}}),
        entry("c", "Update", REPLICAS, "apps/v0"),
    ]
    assert scale.to_scale(parent, PATHS) == [entry("a", "Apply", REPLICAS, "autoscaling/v1")]


def test_a_write_to_the_scale_takes_the_replicas_from_their_owner() -> None:
    parent = [entry("a", "Apply", {"f:spec": {"f:paused": {}, "f:replicas": {}}})]
    scaled = [{**entry("b", "Update", REPLICAS, "autoscaling/v1"), "subresource": "scale"}]
    taken = {**entry("b", "Update", REPLICAS), "subresource": "scale"}
    del taken["time"]
    assert scale.to_parent(scaled, parent, "apps/v1", PATHS) == [
        entry("a", "Apply", {"f:spec": {"f:paused": {}}}),
        taken,
    ]


def test_an_applier_that_still_owns_the_scale_keeps_its_entry() -> None:
    parent = [entry("a", "Apply", REPLICAS)]
    scaled = [entry("a", "Apply", REPLICAS, "autoscaling/v1")]
    assert scale.to_parent(scaled, parent, "apps/v1", PATHS) == parent
    assert scale.to_parent([], parent, "apps/v1", PATHS) == []


def test_entries_of_versions_that_are_gone_go() -> None:
    parent = [entry("a", "Update", {"f:x": {}}, "old/v1")]
    assert scale.to_parent([], parent, "apps/v1", PATHS) == []
