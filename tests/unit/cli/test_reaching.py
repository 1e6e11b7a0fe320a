"""Which pods and containers of a dispatched job are meant."""

from typing import Any

import pytest

from fleetqueue.cli.reaching import There, containers_of, meant
from fleetqueue.errors import UserError

Object = dict[str, Any]


def pod(name: str, note: str = "") -> Object:
    annotations = {"kubectl.kubernetes.io/default-container": note} if note else {}
    containers = [{"name": "a"}, {"name": "b"}]
    return {
        "metadata": {"name": name, "namespace": "ns", "annotations": annotations},
        "spec": {"containers": containers, "initContainers": [{"name": "first"}]},
    }


@pytest.mark.parametrize(
    ("wanted", "note", "expected"),
    [("", "", "a"), ("b", "", "b"), ("first", "", "first"), ("", "b", "b"), ("", "gone", "a")],
)
def test_a_container_is_chosen_as_kubectl_does(wanted: str, note: str, expected: str) -> None:
    assert containers_of(pod("p", note), wanted) == [expected]


def test_all_containers_are_all_of_them() -> None:
    assert containers_of(pod("p"), "", all_of_them=True) == ["first", "a", "b"]


def test_a_container_that_is_not_there_is_named() -> None:
    with pytest.raises(UserError, match='no container "x": it has first, a, b'):
        containers_of(pod("p"), "x")


def test_pods_are_narrowed_by_name() -> None:
    nobody: Any = None
    found = [There(nobody, pod("p-0")), There(nobody, pod("p-1"))]
    assert meant(found, "", "job/train") == found
    assert [each.name for each in meant(found, "p-1", "job/train")] == ["p-1"]
    with pytest.raises(UserError, match='job/train has no pod "p-2": it has p-0, p-1'):
        meant(found, "p-2", "job/train")
