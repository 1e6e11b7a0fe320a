"""Writes a checked expression as Python source, the way that nearly every evaluation takes.

Logical operators become Python's, which stop at the first error; a program that raises anything is
evaluated again by the interpreter, which knows when an error does not matter.
"""

from collections.abc import Callable, Mapping
from typing import Any

from fleetqueue.apiserver.cel import support
from fleetqueue.apiserver.cel.equality import addition, equality
from fleetqueue.apiserver.cel.errors import CostExceeded
from fleetqueue.apiserver.cel.literals import walk
from fleetqueue.apiserver.cel.overloads import choose
from fleetqueue.apiserver.cel.regex import TooExpensive, compile_pattern
from fleetqueue.apiserver.cel.schema_types import loader
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
from fleetqueue.apiserver.cel.types import NUMBERS, SCALARS, Type
from fleetqueue.apiserver.cel.values import equal, index

_NAMES: dict[str, Any] = {
    function.__name__: function
    for function in (
        support.as_bool,
        support.charge,
        support.has,
        support.has_set,
        support.items_of,
        support.make_list,
        support.make_map,
        support.merge_entries,
        support.optional_map,
        support.optional_select,
        support.pairs_of,
        support.select,
        support.select_set,
    )
}


def generate(expr: Expr, variables: Mapping[str, Type]) -> Callable[..., Any] | None:
    """A function of the variables and a budget; None if the expression is too deep for Python."""
    writer = _Writer()
    parameters = ", ".join([*(f"v_{name}" for name in variables), "b"])
    try:
        code = compile(f"lambda {parameters}: {writer.write(expr)}", "<cel>", "eval")
    except (SyntaxError, RecursionError, MemoryError):
        return None
    function: Callable[..., Any] = eval(code, writer.names)
    return function


class _Writer:
    def __init__(self) -> None:
        self.names: dict[str, Any] = {"__builtins__": {}, **_NAMES, **_BUILTINS}

    def constant(self, value: Any) -> str:
        name = f"c{len(self.names)}"
        self.names[name] = value
        return name

    def write(self, expr: Expr) -> str:
        match expr:
            case Literal():
                return self._literal(expr.value)
            case Ident():
                return self.constant(_named_type(expr)) if expr.is_type else f"v_{expr.name}"
            case Select():
                return self._select(expr)
            case Call():
                return self._call(expr)
            case ListLiteral():
                return self._list(expr)
            case MapLiteral():
                return self._map(expr)
            case Loop():
                return self._loop(expr)
            case OptionalMap():
                body = f"lambda v_{expr.variable}: {self.write(expr.body)}"
                return f"optional_map({self.write(expr.target)}, {body}, {expr.is_flat})"

    def _literal(self, value: Any) -> str:
        if value is None or value.__class__ in (bool, str, bytes):
            return repr(value)
        if value.__class__ is int:
            return f"({value})"
        return self.constant(value)

    def boolean(self, expr: Expr) -> str:
        text = self.write(expr)
        return text if expr.type.name == "bool" else f"as_bool({text})"

    def _select(self, expr: Select) -> str:
        if not expr.field:
            return self.write(expr.operand)
        operand, kind = self.write(expr.operand), expr.operand.type
        name, load = target(expr)
        is_nullable = kind.shape is not None and kind.shape.is_nullable(expr.field)
        if expr.is_test:
            if is_nullable:
                return f"has_set({operand}, {name!r})"
            is_plain = kind.name in ("object", "map")
            return f"({name!r} in {operand})" if is_plain else f"has({operand}, {name!r})"
        if expr.is_optional or kind.name == "optional_type":
            loading = "None" if load is None else self.constant(load)
            return f"optional_select({operand}, {name!r}, {loading})"
        if kind.name not in ("object", "map"):
            return f"select({operand}, {name!r})"
        text = f"select_set({operand}, {name!r})" if is_nullable else f"{operand}[{name!r}]"
        return text if load is None else f"{self.constant(load)}({text})"

    def _call(self, expr: Call) -> str:
        special = getattr(self, _SPECIAL.get(expr.function, ""), None)
        if special is not None:
            text: str | None = special(expr)
            if text is not None:
                return text
        arguments = [self.write(argument) for argument in expr.arguments]
        if len(expr.candidates) == 1 and not any(a.type.is_dynamic for a in expr.arguments):
            [candidate] = expr.candidates
            if candidate.code:
                return str(candidate.code.format(*arguments))
            return f"{self.constant(candidate.call)}({', '.join(arguments)})"
        candidates = self.constant(tuple(expr.candidates))
        return f"choose({candidates}, ({', '.join(arguments)},))"

    def _and(self, expr: Call) -> str:
        return self._chain(expr, "and")

    def _or(self, expr: Call) -> str:
        return self._chain(expr, "or")

    def _chain(self, expr: Call, word: str) -> str:
        """A long chain is written flat, since Python limits how deep parentheses may nest."""
        parts: list[Expr] = []
        stack: list[Expr] = [expr]
        while stack:
            part = stack.pop()
            if isinstance(part, Call) and part.function == expr.function:
                stack += reversed(part.arguments)
            else:
                parts.append(part)
        return f"({f' {word} '.join(self.boolean(part) for part in parts)})"

    def _not(self, expr: Call) -> str:
        return f"(not {self.boolean(expr.arguments[0])})"

    def _ternary(self, expr: Call) -> str:
        condition, then, otherwise = expr.arguments
        return f"({self.write(then)} if {self.boolean(condition)} else {self.write(otherwise)})"

    def _equal(self, expr: Call) -> str:
        left, right = expr.arguments
        is_negative = expr.function == "_!=_"
        kinds = left.type, right.type
        a, b = self.write(left), self.write(right)
        if _compares_plainly(*kinds):
            return f"({a} {'!=' if is_negative else '=='} {b})"
        compare = equality(left.type) or equality(right.type) or equal
        text = f"{self.constant(compare)}({a}, {b})"
        return f"(not {text})" if is_negative else text

    def _in(self, expr: Call) -> str | None:
        value, items = expr.arguments
        inner = items.type.parameters[0] if items.type.parameters else items.type
        if items.type.name not in ("list", "map") or not _compares_plainly(value.type, inner):
            return None
        if isinstance(items, ListLiteral) and not items.optional and inner.name == "string":
            words = [item.value for item in items.items if isinstance(item, Literal)]
            if len(words) == len(items.items):
                return f"({self.write(value)} in {self.constant(frozenset(words))})"
        return f"({self.write(value)} in {self.write(items)})"

    def _index(self, expr: Call) -> str | None:
        container, key = expr.arguments
        kind = container.type
        if kind.name == "map" and kind.parameters[0].name == key.type.name == "string":
            return f"{self.write(container)}[{self.write(key)}]"
        if (
            kind.name == "list"
            and isinstance(key, Literal)
            and key.type.name == "int"
            and key.value >= 0
        ):
            return f"{self.write(container)}[{key.value}]"
        return f"{self.constant(index)}({self.write(container)}, {self.write(key)})"

    def _add(self, expr: Call) -> str | None:
        left, right = expr.arguments
        if left.type.name != "list" or right.type.name != "list":
            return None
        return f"{self.constant(addition(left.type))}({self.write(left)}, {self.write(right)})"

    def _matches(self, expr: Call) -> str | None:
        text, pattern = expr.arguments
        if not isinstance(pattern, Literal) or text.type.name != "string":
            return None
        return f"{self.constant(_matcher(pattern.value))}({self.write(text)})"

    def _list(self, expr: ListLiteral) -> str:
        items = [self.write(item) for item in expr.items]
        if not expr.optional:
            return f"[{', '.join(items)}]"
        pairs = [f"({item}, {i in expr.optional})" for i, item in enumerate(items)]
        return f"make_list([{', '.join(pairs)}])"

    def _map(self, expr: MapLiteral) -> str:
        entries = [
            f"({self.write(key)}, {self.write(value)}, {is_optional})"
            for key, value, is_optional in expr.entries
        ]
        return f"make_map([{', '.join(entries)}])"

    def _loop(self, expr: Loop) -> str:
        names = ", ".join(f"v_{name}" for name in expr.variables)
        where = f" for {names} in {self._range(expr)}"
        if expr.condition is not None:
            where += f" if {self.boolean(expr.condition)}"
        match expr.kind:
            case "all" | "exists":
                word = "all" if expr.kind == "all" else "any"
                return f"{word}({self.boolean(expr.body)}{where})"
            case "existsOne":
                return f"(len([1{where} if {self.boolean(expr.body)}]) == 1)"
            case "filter":
                return f"[{names}{where} if {self.boolean(expr.body)}]"
            case "map" | "transformList":
                return f"[{self.write(expr.body)}{where}]"
            case "transformMap":
                return f"{{v_{expr.variables[0]}: {self.write(expr.body)}{where}}}"
        return f"merge_entries([{self.write(expr.body)}{where}])"

    def _range(self, expr: Loop) -> str:
        weight = sum(1 for _ in walk(expr.body)) + 2
        kind = expr.items.type.name
        items = self.write(expr.items)
        charged = f"charge(b, {items}, {weight})"
        if kind not in ("list", "map"):
            charged = f"charge(b, items_of({items}), {weight})"
        if len(expr.variables) == 1:
            return charged
        return f"pairs_of({charged})"


def target(expr: Select) -> tuple[str, Callable[[Any], Any] | None]:
    """The JSON name of the field, and how its value is loaded."""
    kind = expr.operand.type
    if kind.name == "optional_type":
        kind = kind.parameters[0]
    if kind.shape is not None:
        found = kind.shape.field(expr.field)
        if found is not None:
            return found[0], loader(found[1])
    return expr.field, None


def _compares_plainly(left: Type, right: Type) -> bool:
    """Python's == does what CEL's does."""
    if left.name in NUMBERS and right.name in NUMBERS:
        return True
    if left.name != right.name:
        return False
    if left.name in SCALARS:
        return True
    if left.name == "list" and left.list_keys is None and right.list_keys is None:
        return _compares_plainly(left.parameters[0], right.parameters[0])
    return left.shape is not None and equality(left) is None


def _matcher(source: str) -> Callable[[str], bool]:
    pattern = compile_pattern(source)

    def match(text: str) -> bool:
        try:
            return pattern.matches(text)
        except TooExpensive:
            raise CostExceeded from None

    return match


def _named_type(expr: Ident) -> Type:
    return expr.type.parameters[0]


_SPECIAL = {
    "_&&_": "_and",
    "_||_": "_or",
    "!_": "_not",
    "_?_:_": "_ternary",
    "_==_": "_equal",
    "_!=_": "_equal",
    "@in": "_in",
    "_[_]": "_index",
    "_+_": "_add",
    "matches": "_matches",
}
_BUILTINS: dict[str, Any] = {"all": all, "any": any, "len": len, "choose": choose}
