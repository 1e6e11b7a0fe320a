"""Checks that the defaults of a CRD's schema satisfy the schema themselves."""

from collections.abc import Iterator, Mapping

from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.field_errors import FieldError
from fleetqueue.apiserver.schema import embedded, pruning, reports, rules
from fleetqueue.apiserver.schema.correlation import Pair
from fleetqueue.apiserver.schema.node import Node
from fleetqueue.apiserver.schema.structure import Schema
from fleetqueue.apiserver.schema.values import same
from fleetqueue.base import codec


def validate_defaults(schema: Schema, path: str, is_in_meta: bool = False) -> list[FieldError]:
    """For a schema that is structural. Defaults of the root's metadata are refused elsewhere."""
    errors: list[FieldError] = []
    if schema.get("default") is not None and not is_in_meta:
        errors += _default(schema, f"{path}.default")
    items = schema.get("items")
    if isinstance(items, Mapping):
        errors += validate_defaults(items, f"{path}.items", is_in_meta)
    for name, below in (schema.get("properties") or {}).items():
        errors += validate_defaults(below, f"{path}.properties[{name}]", is_in_meta)
    return errors


def _default(schema: Schema, path: str) -> Iterator[FieldError]:
    node = Node(schema)
    value = codec.copy(schema["default"])
    pruner = pruning.build(node)
    if pruner is not None:
        pruner(value, "", [])
        if not same(value, schema["default"]):
            yield fields.wrong(path, schema["default"], "must not have unknown fields")
    value = schema["default"]
    metadata: list[FieldError] = []
    if (validate := embedded.build_validator(node)) is not None:
        validate(value, path, metadata)
    if metadata:
        yield from metadata
        return
    found = reports.report(value, node, "", path).errors
    if found:
        yield from found
        return
    tree = rules.build(node)
    if tree is not None:
        failed = tree.validate(value, Pair(None, value, node), root=path)
        yield from failed or tree.validate(value, None, root=path)
