"""Kinds: what a class declares, what its objects say of themselves, and how kinds are found."""

import msgspec
import pytest

from fleetqueue.api.kinds import Kind, Resource, find, kind_of, kinds
from fleetqueue.api.kueue import v1beta1, v1beta2
from fleetqueue.api.meta import Key, ObjectMeta
from fleetqueue.api.model import read, write


class Gadget(Resource, kind=Kind("example.com", "v1", "gadgets")):
    size: int = 0


def test_an_object_says_who_it_is_without_being_told() -> None:
    gadget = Gadget(metadata=ObjectMeta(name="a", namespace="b"))
    assert write(gadget) == {
        "apiVersion": "example.com/v1",
        "kind": "Gadget",
        "metadata": {"name": "a", "namespace": "b"},
    }
    assert gadget.key == Key("b", "a")


def test_names_follow_from_the_class_unless_given() -> None:
    kind = kind_of(Gadget)
    assert (kind.name, kind.singular, kind.api_version) == ("Gadget", "gadget", "example.com/v1")
    assert kind.is_namespaced


def test_the_core_group_has_no_slash() -> None:
    assert Kind("", "v1", "pods").api_version == "v1"


def test_a_class_without_a_kind_has_none() -> None:
    with pytest.raises(TypeError, match="declares no kind"):
        kind_of(Resource)


def test_every_kind_of_kueue_is_found_once_per_version() -> None:
    found = [kind_of(cls) for cls in kinds() if kind_of(cls).group == "kueue.x-k8s.io"]
    names = [(kind.plural, kind.version) for kind in found]
    assert len(names) == len(set(names)) == 22


def test_a_kind_is_found_by_the_names_that_objects_carry() -> None:
    assert find("kueue.x-k8s.io", "v1beta1", "Workload") is v1beta1.Workload
    with pytest.raises(KeyError):
        find("kueue.x-k8s.io", "v9", "Workload")


def test_v1beta1_is_served_with_a_warning_except_for_multikueueconfig() -> None:
    silent = [
        kind_of(cls).name
        for cls in kinds()
        if kind_of(cls).group == "kueue.x-k8s.io"
        and kind_of(cls).version == "v1beta1"
        and not kind_of(cls).deprecation_warning
    ]
    assert silent == ["MultiKueueConfig"]


def test_objects_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        Gadget().size = 3  # type: ignore[misc]


def test_an_object_survives_the_way_out_and_back() -> None:
    raw = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": "a", "namespace": "b", "creationTimestamp": "2024-05-01T10:00:00Z"},
        "spec": {
            "queueName": "q",
            "podSets": [{"name": "main", "count": 0, "template": {"spec": {"x": 1}}}],
        },
    }
    assert write(read(v1beta2.Workload, raw)) == raw


def test_zero_counts_are_sent() -> None:
    queue = v1beta2.LocalQueue(status=read(type(v1beta2.LocalQueue().status), {"conditions": []}))
    assert write(queue)["status"] == {
        "pendingWorkloads": 0,
        "reservingWorkloads": 0,
        "admittedWorkloads": 0,
    }


def test_a_wrong_type_is_refused_with_its_place() -> None:
    with pytest.raises(msgspec.ValidationError, match=r"\$.spec.queueName"):
        read(v1beta2.Workload, {"spec": {"queueName": 1}})
