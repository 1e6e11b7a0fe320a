import gc
import weakref

import pytest

from fleetqueue.apiserver.merge import shapes
from fleetqueue.apiserver.schema.node import Node


def test_a_built_in_kind_knows_what_go_always_writes_out(pod: Node) -> None:
    shape = shapes.of(pod)
    assert shape.has_go_type
    assert shape.standing == {"metadata": {}, "spec": {}, "status": {}}
    assert shape.fields["spec"].standing == {"containers": None}
    assert shape.fields["spec"].fields["containers"].item is not None


def test_ports_are_keyed_by_two_fields_and_one_has_a_default(pod: Node) -> None:
    container = shapes.of(pod).fields["spec"].fields["containers"].item
    assert container is not None
    ports = container.fields["ports"]
    assert ports.element({"containerPort": 80}) == 'k:{"containerPort":80,"protocol":"TCP"}'
    assert ports.element({"protocol": "UDP"}) == 'k:{"containerPort":0,"protocol":"UDP"}'


def test_quantities_and_times_are_scalars_and_raw_extensions_leaves(deployment: Node) -> None:
    container = shapes.of(deployment).fields["spec"].fields["template"].fields["spec"]
    item = container.fields["containers"].item
    assert item is not None
    cpu = item.fields["resources"].fields["limits"].fields["cpu"]
    assert (cpu.scalar, cpu.is_map, cpu.is_list) == ("untyped", False, False)
    revision = shapes.of(
        Node(
            {"properties": {"data": {"$ref": f"#/x/{RAW_EXTENSION}"}}, "type": "object"},
            {RAW_EXTENSION: {"type": "object"}},
        )
    )
    assert revision.fields["data"].is_atomic_map


RAW_EXTENSION = "io.k8s.apimachinery.pkg.runtime.RawExtension"


def test_a_patch_strategy_stands_in_for_a_list_type() -> None:
    schema = {
        "type": "array",
        "items": {"type": "object", "properties": {"name": {"type": "string"}}},
        "x-kubernetes-patch-strategy": "merge,retainKeys",
        "x-kubernetes-patch-merge-key": "name",
    }
    shape = shapes.of(Node({"type": "object", "properties": {"list": schema}}))
    assert shape.fields["list"].keys == ("name",)
    assert not shape.fields["list"].is_atomic_list


def test_metadata_that_a_schema_leaves_out_is_known_all_the_same(widget: Node) -> None:
    bare = shapes.of(Node({"type": "object", "properties": {"metadata": {"type": "object"}}}))
    assert bare.fields["metadata"].fields["ownerReferences"].keys == ("uid",)
    assert not bare.fields["metadata"].fields["finalizers"].is_atomic_list
    assert "apiVersion" in bare.declared
    assert shapes.of(widget).fields["metadata"].fields["finalizers"].element("x") == 'v:"x"'


def test_an_embedded_resource_has_metadata() -> None:
    schema = {"type": "object", "x-kubernetes-embedded-resource": True}
    shape = shapes.of(Node({"type": "object", "properties": {"template": schema}}))
    template = shape.fields["template"]
    assert template.fields["metadata"].fields["ownerReferences"].keys == ("uid",)


def test_what_is_below_an_open_field_is_open_too(widget: Node) -> None:
    opened = shapes.of(widget).fields["spec"].fields["open"].fields["y"]
    assert opened.fields.takes_any
    assert not shapes.of(widget).fields["spec"].fields.takes_any


@pytest.mark.parametrize(
    ("field", "item", "message"),
    [
        ("set", {"a": 1}, "associative list without keys has an element that's a map type"),
        ("set", [1], "not supported: associative list with lists as elements"),
        ("set", None, "associative list without keys has an element that's an explicit null"),
        ("items", None, "associative list with keys may not have a null element"),
        ("items", "a", "associative list with keys may not have non-map elements"),
        (
            "items",
            {"v": "x"},
            'associative list with keys has an element that omits all key fields ["name"]'
            " (and doesn't have default values for any key fields)",
        ),
    ],
)
def test_an_item_without_a_path_element_says_why(
    widget: Node, field: str, item: object, message: str
) -> None:
    with pytest.raises(ValueError, match="associative list") as raised:
        shapes.of(widget).fields["spec"].fields[field].element(item)
    assert str(raised.value) == message


def test_a_shape_goes_with_its_node() -> None:
    node = Node({"type": "object"})
    shapes.of(node)
    reference = weakref.ref(node)
    del node
    gc.collect()
    assert reference() is None
