"""Turns calls that look like functions but bind variables into loops and tests."""

from fleetqueue.apiserver.cel.errors import Issue
from fleetqueue.apiserver.cel.syntax import Expr, Ident, Loop, OptionalMap, Select

_TESTS = {"all": "all", "exists": "exists", "exists_one": "existsOne", "existsOne": "existsOne"}
_NOT_A_NAME = {1: "argument is not an identifier", 2: "argument must be a simple name"}
_TRANSFORMS = ("transformList", "transformMap", "transformMapEntry")


def expand_has(argument: Expr, position: int) -> Expr | Issue:
    if isinstance(argument, Select) and not argument.is_test and not argument.is_optional:
        return Select(position, argument.operand, argument.field, is_test=True)
    return Issue(argument.position, "invalid argument to has() macro")


def expand_member(
    target: Expr, name: str, arguments: list[Expr], position: int
) -> Expr | Issue | None:
    """None if the call is an ordinary one."""
    match name, len(arguments):
        case (("all" | "exists" | "exists_one"), 2):
            return _loop(_TESTS[name], target, arguments, 1, position)
        case (("all" | "exists" | "existsOne" | "exists_one"), 3):
            return _loop(_TESTS[name], target, arguments, 2, position)
        case ("map", 2) | ("map", 3) | ("filter", 2):
            return _loop(name, target, arguments, 1, position)
        case _, (3 | 4) if name in _TRANSFORMS:
            return _loop(name, target, arguments, 2, position)
        case (("optMap" | "optFlatMap"), 2):
            return _optional_map(target, arguments, name == "optFlatMap", position)
    return None


def _loop(
    kind: str, target: Expr, arguments: list[Expr], count: int, position: int
) -> Expr | Issue:
    variables: list[str] = []
    for argument in arguments[:count]:
        if not isinstance(argument, Ident):
            return Issue(argument.position, _NOT_A_NAME[count])
        if argument.name in ("__result__", "@result"):
            return Issue(argument.position, "iteration variable overwrites accumulator variable")
        if argument.name in variables:
            return Issue(argument.position, f"duplicate variable name: {argument.name}")
        variables.append(argument.name)
    *condition, body = arguments[count:]
    return Loop(position, kind, target, tuple(variables), body, condition[0] if condition else None)


def _optional_map(
    target: Expr, arguments: list[Expr], is_flat: bool, position: int
) -> Expr | Issue:
    variable, body = arguments
    name = "optFlatMap" if is_flat else "optMap"
    if not isinstance(variable, Ident):
        return Issue(variable.position, f"{name}() variable name must be a simple identifier")
    return OptionalMap(position, target, variable.name, body, is_flat)
