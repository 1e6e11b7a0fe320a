"""Finds the type of every part of an expression, and refuses what can never work."""

from collections.abc import Mapping

from fleetqueue.apiserver.cel import literals
from fleetqueue.apiserver.cel.errors import CompileError, Issue
from fleetqueue.apiserver.cel.inference import Bindings, more_general
from fleetqueue.apiserver.cel.library import FUNCTIONS
from fleetqueue.apiserver.cel.overloads import Overload, overload
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
from fleetqueue.apiserver.cel.types import (
    BOOL,
    DYN,
    ERROR,
    INT,
    NAMED,
    STRING,
    Type,
    list_of,
    map_of,
    optional_of,
    type_of,
)


def _never(*_: object) -> object:
    raise AssertionError("logical operators are evaluated by the programs themselves")


_LOGIC = {
    "_&&_": [],
    "_||_": [],
    "_?_:_": [overload("_?_:_", "(bool, T, T) -> T", _never)],
}


def check(source: str, expr: Expr, variables: Mapping[str, Type]) -> frozenset[str]:
    """Types the tree in place; returns the variables that the expression uses."""
    checker = _Checker(variables)
    checker.visit(expr)
    if not checker.issues:
        checker.finish()
        checker.issues += literals.validate(expr)
    if checker.issues:
        raise CompileError(source, sorted(checker.issues, key=lambda issue: issue.position))
    return frozenset(checker.used)


class _Checker:
    def __init__(self, variables: Mapping[str, Type]) -> None:
        self.scopes: list[Mapping[str, Type]] = [variables]
        self.bindings = Bindings()
        self.issues: list[Issue] = []
        self.used: set[str] = set()
        self.typed: list[Expr] = []

    def issue(self, position: int, message: str) -> Type:
        self.issues.append(Issue(position, message))
        return ERROR

    def finish(self) -> None:
        for expr in self.typed:
            expr.type = self.bindings.final(expr.type)

    def visit(self, expr: Expr) -> Type:
        match expr:
            case Literal():
                return expr.type
            case Ident():
                expr.type = self._ident(expr)
            case Select():
                expr.type = self._select(expr)
            case Call():
                expr.type = self._call(expr)
            case ListLiteral():
                expr.type = self._list(expr)
            case MapLiteral():
                expr.type = self._map(expr)
            case Loop():
                expr.type = self._loop(expr)
            case OptionalMap():
                expr.type = self._optional_map(expr)
        self.typed.append(expr)
        return expr.type

    def _lookup(self, name: str) -> Type | None:
        for depth in range(len(self.scopes) - 1, -1, -1):
            if name in self.scopes[depth]:
                if depth == 0:
                    self.used.add(name)
                return self.scopes[depth][name]
        return None

    def _ident(self, expr: Ident) -> Type:
        expr.name = expr.name.removeprefix(".")
        found = self._lookup(expr.name)
        if found is not None:
            return found
        if expr.name in NAMED:
            expr.is_type = True
            return type_of(NAMED[expr.name])
        return self._undeclared(expr.position, expr.name)

    def _undeclared(self, position: int, name: str) -> Type:
        return self.issue(position, f"undeclared reference to '{name}' (in container '')")

    def _select(self, expr: Select) -> Type:
        qualified = _qualified(expr)
        if qualified in NAMED and not expr.is_test and self._lookup(_root(expr)) is None:
            expr.operand = Ident(expr.position, qualified, type_of(NAMED[qualified]), True)
            expr.field = ""
            return type_of(NAMED[qualified])
        operand = self.bindings.resolve(self.visit(expr.operand))
        if operand.name == "optional_type":
            found = self._field(expr, self.bindings.resolve(operand.parameters[0]))
            return BOOL if expr.is_test else optional_of(found)
        found = self._field(expr, operand)
        if expr.is_test:
            return BOOL
        return optional_of(found) if expr.is_optional else found

    def _field(self, expr: Select, operand: Type) -> Type:
        if operand.is_dynamic or operand.name.startswith("_var"):
            return DYN
        if operand.name == "map":
            key, value = operand.parameters
            if self.bindings.assign(key, STRING):
                return value
        if operand.shape is not None:
            found = operand.shape.field(expr.field)
            return (
                found[1] if found else self.issue(expr.position, f"undefined field '{expr.field}'")
            )
        message = f"type '{self._show(operand)}' does not support field selection"
        return self.issue(expr.position, message)

    def _call(self, expr: Call) -> Type:
        if expr.is_member:
            self._unqualify(expr)
        kinds = [self.visit(argument) for argument in expr.arguments]
        candidates = _LOGIC.get(expr.function, FUNCTIONS.get(expr.function))
        if candidates is None:
            return self._undeclared(expr.position, expr.function)
        if expr.function in ("_&&_", "_||_"):
            for argument, kind in zip(expr.arguments, kinds, strict=True):
                self._expect_bool(argument, kind)
            return BOOL
        return self._resolve(expr, candidates, kinds)

    def _unqualify(self, expr: Call) -> None:
        """`sets.contains(a, b)` looks like a method, but `sets` is no variable."""
        prefix = _qualified(expr.arguments[0])
        name = f"{prefix}.{expr.function}"
        if prefix and name in FUNCTIONS and not any(prefix in scope for scope in self.scopes):
            expr.function, expr.is_member = name, False
            expr.arguments = expr.arguments[1:]

    def _resolve(self, expr: Call, candidates: list[Overload], kinds: list[Type]) -> Type:
        result: Type | None = None
        for candidate in candidates:
            if candidate.is_member != expr.is_member:
                continue
            *parameters, given = self.bindings.renamed([*candidate.parameters, candidate.result])
            if not self.bindings.assign_all(parameters, kinds):
                continue
            expr.candidates.append(candidate)
            given = self.bindings.resolve(given)
            result = given if result is None or result == given else DYN
        if result is None:
            return self._no_match(expr, kinds)
        return self._kept_list(expr, kinds, result)

    def _kept_list(self, expr: Call, kinds: list[Type], result: Type) -> Type:
        """The sum of a set or map list is one again."""
        if expr.function != "_+_" or result.name != "list":
            return result
        keys = self.bindings.resolve(kinds[0]).list_keys
        return Type(result.name, result.parameters, list_keys=keys)

    def _no_match(self, expr: Call, kinds: list[Type]) -> Type:
        shown = [self._show(kind) for kind in kinds]
        if expr.is_member:
            signature = f"{shown[0]}.({', '.join(shown[1:])})"
        else:
            signature = f"({', '.join(shown)})"
        message = f"found no matching overload for '{expr.function}' applied to '{signature}'"
        return self.issue(expr.position, message)

    def _show(self, kind: Type) -> str:
        return str(self.bindings.final(kind)).replace("null_type", "null")

    def _list(self, expr: ListLiteral) -> Type:
        item: Type | None = None
        for index, element in enumerate(expr.items):
            kind = self.visit(element)
            if index in expr.optional:
                kind = self._unwrapped(kind, element.position)
            item = self._joined(item, kind)
        return list_of(item or self.bindings.fresh())

    def _unwrapped(self, kind: Type, position: int) -> Type:
        inner = self.bindings.fresh()
        if self.bindings.assign(optional_of(inner), kind):
            return self.bindings.resolve(inner)
        message = (
            f"expected type 'optional_type({self._show(kind)})' but found '{self._show(kind)}'"
        )
        return self.issue(position, message)

    def _joined(self, before: Type | None, kind: Type) -> Type:
        if before is None:
            return kind
        if self.bindings.assign(before, kind):
            return more_general(self.bindings.resolve(before), self.bindings.resolve(kind))
        return DYN

    def _map(self, expr: MapLiteral) -> Type:
        key_type: Type | None = None
        value_type: Type | None = None
        for key, value, is_optional in expr.entries:
            key_type = self._joined(key_type, self.visit(key))
            kind = self.visit(value)
            if is_optional:
                kind = self._unwrapped(kind, value.position)
            value_type = self._joined(value_type, kind)
        return map_of(key_type or self.bindings.fresh(), value_type or self.bindings.fresh())

    def _loop(self, expr: Loop) -> Type:
        items = self.bindings.resolve(self.visit(expr.items))
        first, second = self._element_types(expr, items)
        kinds = (
            (first, second) if len(expr.variables) == 2 else (self._single(items, first, second),)
        )
        self.scopes.append(dict(zip(expr.variables, kinds, strict=True)))
        condition = BOOL if expr.condition is None else self.visit(expr.condition)
        body = self.visit(expr.body)
        self.scopes.pop()
        result = self._loop_result(expr, first, kinds[0], body)
        self._expect_condition(expr, condition, result)
        return result

    @staticmethod
    def _single(items: Type, first: Type, second: Type) -> Type:
        """One variable runs over the items of a list, but over the keys of a map."""
        return first if items.name == "map" else second

    def _element_types(self, expr: Loop, items: Type) -> tuple[Type, Type]:
        """(index or key, item or value)"""
        if items.name == "list":
            return INT, items.parameters[0]
        if items.name == "map":
            return items.parameters[0], items.parameters[1]
        if not items.is_dynamic and not items.name.startswith("_var"):
            self.issue(
                expr.items.position,
                f"expression of type '{self._show(items)}' cannot be range of a comprehension "
                "(must be list, map, or dynamic)",
            )
        return DYN, DYN

    def _expect_bool(self, expr: Expr, kind: Type) -> None:
        if not self.bindings.assign(BOOL, kind) and self.bindings.resolve(kind) != ERROR:
            self.issue(expr.position, f"expected type 'bool' but found '{self._show(kind)}'")

    def _expect_condition(self, expr: Loop, kind: Type, result: Type) -> None:
        """The condition of a loop stands in a ternary with the loop's result on both sides."""
        if not self.bindings.assign(BOOL, kind) and self.bindings.resolve(kind) != ERROR:
            shown = f"({self._show(kind)}, {self._show(result)}, {self._show(result)})"
            message = f"found no matching overload for '_?_:_' applied to '{shown}'"
            self.issue(expr.position, message)

    def _loop_result(self, expr: Loop, first: Type, variable: Type, body: Type) -> Type:
        match expr.kind:
            case "all" | "exists":
                self._expect_bool(expr.body, body)
                return BOOL
            case "existsOne":
                self._expect_condition(expr, body, INT)
                return BOOL
            case "filter":
                self._expect_condition(expr, body, list_of(variable))
                return list_of(variable)
            case "map" | "transformList":
                return list_of(body)
            case "transformMap":
                return map_of(first, body)
        return self.bindings.resolve(body)

    def _optional_map(self, expr: OptionalMap) -> Type:
        inner = self._unwrapped(self.visit(expr.target), expr.target.position)
        self.scopes.append({expr.variable: inner})
        body = self.visit(expr.body)
        self.scopes.pop()
        if not expr.is_flat:
            return optional_of(body)
        return optional_of(self._unwrapped(body, expr.body.position))


def _qualified(expr: Expr) -> str:
    """`a.b.c` as one name, or ""."""
    if isinstance(expr, Ident):
        return expr.name
    if isinstance(expr, Select) and not expr.is_test and not expr.is_optional:
        prefix = _qualified(expr.operand)
        return f"{prefix}.{expr.field}" if prefix else ""
    return ""


def _root(expr: Expr) -> str:
    while isinstance(expr, Select):
        expr = expr.operand
    return expr.name if isinstance(expr, Ident) else ""
