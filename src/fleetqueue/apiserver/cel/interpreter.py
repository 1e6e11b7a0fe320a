"""Evaluates a checked expression step by step, with CEL's rules about which errors matter.

`false && error` is false on whichever side the error is; the same goes for `true || error`, and for
all and exists. Slower than the generated Python by far, and asked only when that has failed.
"""

from collections.abc import Iterator
from typing import Any

from fleetqueue.apiserver.cel import support
from fleetqueue.apiserver.cel.equality import addition, equality
from fleetqueue.apiserver.cel.errors import CelError, CostExceeded
from fleetqueue.apiserver.cel.generator import target
from fleetqueue.apiserver.cel.overloads import choose
from fleetqueue.apiserver.cel.support import Budget
from fleetqueue.apiserver.cel.syntax import (
    Call,
    Expr,
    Ident,
    ListLiteral,
    Literal,
    Loop,
    MapLiteral,
    OptionalMap,
    Select,
)
from fleetqueue.apiserver.cel.values import Optional, equal, index, optional_index


def interpret(expr: Expr, values: dict[str, Any], budget: Budget) -> Any:
    """Raises CelError."""
    return _Interpreter(budget).visit(expr, values)


class _Interpreter:
    def __init__(self, budget: Budget) -> None:
        self.budget = budget

    def visit(self, expr: Expr, scope: dict[str, Any]) -> Any:
        self.budget.spend(1)
        match expr:
            case Literal():
                return expr.value
            case Ident():
                return expr.type.parameters[0] if expr.is_type else scope[expr.name]
            case Select():
                return self._select(expr, scope)
            case Call():
                return self._call(expr, scope)
            case ListLiteral():
                return support.make_list(
                    (self.visit(item, scope), i in expr.optional)
                    for i, item in enumerate(expr.items)
                )
            case MapLiteral():
                return support.make_map(
                    (self.visit(key, scope), self.visit(value, scope), is_optional)
                    for key, value, is_optional in expr.entries
                )
            case Loop():
                return self._loop(expr, scope)
            case OptionalMap():
                return self._optional_map(expr, scope)

    def _boolean(self, expr: Expr, scope: dict[str, Any]) -> bool:
        return support.as_bool(self.visit(expr, scope))

    def _select(self, expr: Select, scope: dict[str, Any]) -> Any:
        operand = self.visit(expr.operand, scope)
        if not expr.field:
            return operand
        name, load = target(expr)
        shape = expr.operand.type.shape
        is_nullable = shape is not None and shape.is_nullable(expr.field)
        if expr.is_test:
            return (support.has_set if is_nullable else support.has)(operand, name)
        if expr.is_optional or isinstance(operand, Optional):
            return support.optional_select(operand, name, load)
        value = (support.select_set if is_nullable else support.select)(operand, name)
        return value if load is None else load(value)

    def _call(self, expr: Call, scope: dict[str, Any]) -> Any:
        match expr.function:
            case "_&&_":
                return self._decided([(a, scope) for a in expr.arguments], decider=False)
            case "_||_":
                return self._decided([(a, scope) for a in expr.arguments], decider=True)
            case "_?_:_":
                condition, then, otherwise = expr.arguments
                return self.visit(then if self._boolean(condition, scope) else otherwise, scope)
        values = tuple(self.visit(argument, scope) for argument in expr.arguments)
        match expr.function:
            case "_==_" | "_!=_":
                compare = equality(expr.arguments[0].type) or equality(expr.arguments[1].type)
                return (compare or equal)(*values) == (expr.function == "_==_")
            case "_+_" if isinstance(values[0], list) and isinstance(values[1], list):
                return addition(expr.arguments[0].type)(*values)
            case "_[_]":
                return index(*values)
            case "_[?_]":
                return optional_index(*values)
        return choose(expr.candidates, values)

    def _decided(self, parts: list[tuple[Expr, dict[str, Any]]], decider: bool) -> bool:
        """One part with the deciding value settles it, whatever errors the others have."""
        problem: CelError | None = None
        for part, scope in parts:
            try:
                if self._boolean(part, scope) is decider:
                    return decider
            except CostExceeded:
                raise
            except CelError as error:
                problem = problem or error
        if problem is not None:
            raise problem
        return not decider

    def _loop(self, expr: Loop, scope: dict[str, Any]) -> Any:
        items = self.visit(expr.items, scope)
        scopes = self._scopes(expr, items, scope)
        match expr.kind:
            case "all" | "exists":
                return self._decided([(expr.body, s) for s in scopes], expr.kind == "exists")
            case "existsOne":
                return sum([self._boolean(expr.body, s) for s in scopes]) == 1
            case "filter":
                name = expr.variables[0]
                return [s[name] for s in scopes if self._boolean(expr.body, s)]
        if expr.condition is not None:
            condition = expr.condition
            scopes = (s for s in scopes if self._boolean(condition, s))
        match expr.kind:
            case "map" | "transformList":
                return [self.visit(expr.body, s) for s in scopes]
            case "transformMap":
                return {s[expr.variables[0]]: self.visit(expr.body, s) for s in scopes}
        return support.merge_entries(self.visit(expr.body, s) for s in scopes)

    def _scopes(self, expr: Loop, items: Any, scope: dict[str, Any]) -> Iterator[dict[str, Any]]:
        if len(expr.variables) == 1:
            [name] = expr.variables
            return ({**scope, name: item} for item in support.items_of(items))
        first, second = expr.variables
        return ({**scope, first: key, second: item} for key, item in support.pairs_of(items))

    def _optional_map(self, expr: OptionalMap, scope: dict[str, Any]) -> Any:
        box = self.visit(expr.target, scope)
        return support.optional_map(
            box, lambda held: self.visit(expr.body, {**scope, expr.variable: held}), expr.is_flat
        )
