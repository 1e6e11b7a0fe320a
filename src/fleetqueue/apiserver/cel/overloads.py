"""One way to call a function: the types it takes, what it gives, and the Python that does it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from fleetqueue.apiserver.cel.errors import CelError
from fleetqueue.apiserver.cel.types import Type, parse_type, split_list
from fleetqueue.apiserver.cel.values import kind_of


@dataclass(frozen=True, slots=True, eq=False)
class Overload:
    function: str
    parameters: tuple[Type, ...]
    """The target of a method comes first."""
    result: Type
    is_member: bool
    call: Callable[..., Any]
    code: str = ""
    """Python source with {0}, {1} for the arguments, where an inline form is right and faster."""

    def accepts(self, values: tuple[Any, ...]) -> bool:
        """Whether these values can be passed; of a list, the first item speaks for all."""
        return len(values) == len(self.parameters) and all(map(_fits, self.parameters, values))


def overload(function: str, signature: str, call: Callable[..., Any], code: str = "") -> Overload:
    """`signature` is `string.(int) -> string` for a method, `(int, int) -> int` for a function."""
    head, _, result = signature.rpartition("->")
    target, opening, inside = head.strip().partition(".(")
    if not opening:
        target, inside = "", head.strip().removeprefix("(")
    inside = inside.rstrip().removesuffix(")")
    parameters = [parse_type(part) for part in split_list(inside)]
    if target:
        parameters.insert(0, parse_type(target))
    return Overload(function, tuple(parameters), parse_type(result), bool(target), call, code)


def choose(candidates: Iterable[Overload], values: tuple[Any, ...]) -> Any:
    """Call the candidate that fits the values; used where types are known only at run time."""
    for candidate in candidates:
        if candidate.accepts(values):
            return candidate.call(*values)
    raise _no_overload(list(candidates), values)


def _fits(parameter: Type, value: Any) -> bool:
    if parameter.is_parameter or parameter.name == "dyn":
        return True
    if parameter.name != kind_of(value):
        return False
    if parameter.name == "list" and value:
        return _fits(parameter.parameters[0], value[0])
    return True


def _no_overload(candidates: list[Overload], values: tuple[Any, ...]) -> CelError:
    function = candidates[0].function if candidates else ""
    if function == "size":
        return CelError("no such overload: size")
    if len(candidates) < 2 or function.startswith(("_", "@", "-", "!")):
        return CelError("no such overload")
    kinds = ", ".join(kind_of(value) for value in values)
    return CelError(f"no such overload: {function}({kinds})")
