"""Checks the expressions by which DeviceClasses and ResourceClaims choose devices."""

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin.checks import Errors

if TYPE_CHECKING:
    from fleetqueue.apiserver.cel import Type

EXPRESSION_BYTES_MAX = 10 * 1024


def validate_selector(selector: Mapping[str, Any], path: str) -> Errors:
    if selector.get("cel") is None:
        return [fields.required(f"{path}.cel")]
    expression, at = selector["cel"].get("expression") or "", f"{path}.cel.expression"
    if len(expression.encode()) > EXPRESSION_BYTES_MAX:
        return [fields.too_long(at, EXPRESSION_BYTES_MAX)]
    why = _why_not(expression)
    return [fields.wrong(at, expression, why)] if why else []


@cache
def _why_not(expression: str) -> str:
    """What keeps an expression from choosing devices."""
    if "cel.bind(" in expression:
        # No other expression of Kubernetes may use this macro, so ours do not know it.
        return ""
    from fleetqueue.apiserver import cel  # costly to load, and rarely needed

    try:
        program = cel.compile(expression, {"device": _device()})
    except cel.CompileError as problem:
        return f"compilation failed: {problem}"
    if program.type.name in ("bool", "any"):
        return ""
    return f"must evaluate to bool or the unknown type, not {program.type}"


@cache
def _device() -> "Type":
    """What expressions see of a device."""
    from fleetqueue.apiserver.cel import types
    from fleetqueue.apiserver.cel.schema_types import ObjectShape
    from fleetqueue.apiserver.schema.node import Node

    def by_domain(value: types.Type) -> types.Type:
        return types.map_of(types.STRING, types.map_of(types.STRING, value))

    known = {
        "driver": types.STRING,
        "attributes": by_domain(types.Type("any")),
        "capacity": by_domain(types.QUANTITY),
    }

    class Device(ObjectShape):
        def field(self, escaped: str) -> tuple[str, types.Type] | None:
            return (escaped, known[escaped]) if escaped in known else None

    return types.Type("kubernetes.DRADevice", shape=Device(Node({"type": "object"}), False))
