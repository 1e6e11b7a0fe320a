"""Sources tell whose children objects are."""

from datetime import UTC, datetime

import pytest

from fleetqueue.kube.plan import Look, child
from fleetqueue.kube.resources import Object, Resource
from fleetqueue.kube.sources import Listed

SECRET = Resource("", "v1", "secrets", "Secret")


def owner(kind: str, **metadata: str) -> Object:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": "a", "uid": "1", **metadata}}


@pytest.mark.parametrize(
    ("parent", "children"),
    [
        (owner("ConfigMap", namespace="ours"), ["ours"]),
        (owner("Node"), ["ours", "theirs"]),
    ],
    ids=["a namespaced one has those of its namespace", "a cluster-scoped one has them anywhere"],
)
def test_a_parent_has_the_children_that_may_be_its_own(parent: Object, children: list[str]) -> None:
    found = [child(SECRET, parent, {"name": space}) for space in ("ours", "theirs")]
    for obj in found:
        obj["metadata"]["namespace"] = obj["metadata"]["name"]
    look = Look(parent, datetime(2026, 1, 1, tzinfo=UTC), Listed(found))
    assert [obj["metadata"]["name"] for obj in look.owned(SECRET)] == children
    assert [obj["metadata"]["name"] for obj in look.owned_by(parent, SECRET)] == children
