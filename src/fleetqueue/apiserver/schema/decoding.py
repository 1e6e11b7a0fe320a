"""Reads the body of a built-in kind as Go's strict decoder does, and prints it back as Go would.

Built-in kinds live in Go structs on a real server: unknown fields are lost, nulls mean "not set",
quantities and times take their canonical form, and empty values vanish where `omitempty` says so.
"""

from typing import Any, NamedTuple

from fleetqueue.api import kubernetes
from fleetqueue.apiserver.schema import go_structs, go_types
from fleetqueue.apiserver.schema.go_scalars import Mismatch, Refusal
from fleetqueue.apiserver.schema.node import Node


class Decoded(NamedTuple):
    """`error` is Go's message if the body does not fit the type; then `value` is meaningless."""

    value: Any
    unknown: list[str]
    """Paths of the fields that were dropped because the kind does not have them."""
    error: str


def decode(body: Any, node: Node) -> Decoded:
    """`body` is left as it is; the value shares nothing with it but scalars and raw extensions."""
    struct = go_structs.struct_of(node)
    if struct is None:
        return Decoded(body, [], "")
    try:
        return Decoded(struct.read(body), [], "")
    except (go_types.Unfit, Mismatch, Refusal):
        return _decode_carefully(body, struct)


def _decode_carefully(body: Any, struct: go_structs.Struct) -> Decoded:
    state = go_types.State()
    try:
        value = struct.decode(body, None, state)
    except Refusal as problem:
        return Decoded(body, state.unknown, str(problem))
    return Decoded(value, state.unknown, state.mismatch)


def normalise(obj: Any, node: Node) -> Any:
    """What Go prints for the object: fields without `omitempty` are there, empty others are not."""
    struct = go_structs.struct_of(node)
    return obj if struct is None else struct.encode(obj)


def settle(obj: Any, node: Node) -> None:
    """Change the object to what is read after it was stored: protobuf knows no empty lists."""
    struct = go_structs.struct_of(node)
    if struct is not None:
        struct.settle(obj)


def node_of(definition: str) -> Node:
    """The schema with this name, such as "io.k8s.api.batch.v1.Job"."""
    return Node({"$ref": f"#/components/schemas/{definition}"}, kubernetes.definitions())
