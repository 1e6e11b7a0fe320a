"""Walks over an expression and adds up what each of its steps may cost at worst."""

from dataclasses import dataclass

from fleetqueue.apiserver.cel import syntax
from fleetqueue.apiserver.cel.cost import functions, paths
from fleetqueue.apiserver.cel.cost.bounds import Bound
from fleetqueue.apiserver.cel.cost.calls import Invocation, Operand
from fleetqueue.apiserver.cel.cost.paths import Path
from fleetqueue.apiserver.cel.cost.sizes import ONE, UNKNOWN, EntrySize, Size, add, multiply
from fleetqueue.apiserver.cel.cost.tree import (
    RESULT,
    Bind,
    Call,
    Entries,
    Field,
    Fold,
    Items,
    Name,
    Part,
    Value,
    take_apart,
)
from fleetqueue.apiserver.cel.types import Type

_ACCESS = 1
_NEW_LIST = 10
_NEW_MAP = 30
_FIXED = frozenset(("bool", "double", "duration", "int", "timestamp", "uint"))


def estimate(expr: syntax.Expr, root: Bound) -> int:
    """The worst cost of a checked expression about a value within `root`."""
    return _Estimator(root).cost(take_apart(expr))


@dataclass(frozen=True, slots=True)
class _Variable:
    path: Path | None
    size: Size | None
    entry_size: EntrySize | None = None


class _Estimator:
    def __init__(self, root: Bound) -> None:
        self.root = root
        self.variables: dict[str, list[_Variable]] = {}

    def cost(self, part: Part) -> int:
        match part:
            case Value():
                return 0
            case Name():
                found = self._variable(part)
                part.path = found.path if found is not None else paths.start(part.name)
                return _ACCESS
            case Field():
                return self._field(part)
            case Call():
                return self._call(part)
            case Items():
                return self._items(part)
            case Entries():
                return self._entries(part)
            case Fold():
                return self._fold(part)
            case Bind():
                return self._bind(part)
        raise AssertionError(part)

    def _variable(self, part: Part) -> _Variable | None:
        if not isinstance(part, Name):
            return None
        stack = self.variables.get(part.name)
        return stack[-1] if stack else None

    def _path(self, part: Part) -> Path | None:
        found = self._variable(part)
        return found.path if found is not None else part.path

    def size(self, part: Part) -> Size | None:
        """None if nothing bounds it."""
        if part.size is not None:
            return part.size
        size = _evident_size(part)
        if size is not None:
            return size
        part.size = paths.size_at(self.root, self._path(part))
        if part.size is not None:
            return part.size
        if _is_fixed(part.type):
            return ONE
        found = self._variable(part)
        return None if found is None else found.size

    def _size_or_unknown(self, part: Part) -> Size:
        return self.size(part) or UNKNOWN

    def _entry_size(self, part: Part) -> EntrySize | None:
        if part.entry_size is not None:
            return part.entry_size
        found = self._variable(part)
        return None if found is None else found.entry_size

    def _field(self, part: Field) -> int:
        cost = self.cost(part.operand)
        if part.is_test:
            return cost
        part.path = paths.behind(self._path(part.operand), part.name)
        return add(cost, _ACCESS) if part.operand.type.name in ("object", "map") else cost

    def _items(self, part: Items) -> int:
        cost = add(_NEW_LIST, *map(self.cost, part.items))
        part.entry_size = EntrySize(True, ONE, self._joined(part.items))
        return cost

    def _entries(self, part: Entries) -> int:
        cost = add(_NEW_MAP, *(self.cost(inner) for entry in part.entries for inner in entry))
        keys = self._joined([key for key, _ in part.entries])
        part.entry_size = EntrySize(False, keys, self._joined([value for _, value in part.entries]))
        return cost

    def _joined(self, parts: list[Part]) -> Size:
        sizes = [self._size_or_unknown(part) for part in parts] or [Size(0, 0)]
        return Size(min(size.least for size in sizes), max(size.most for size in sizes))

    def _operand(self, part: Part) -> Operand:
        return Operand(part, self._path(part), self.size(part))

    def _call(self, part: Call) -> int:
        if part.function == "dyn":
            cost = self.cost(part.arguments[0])
            self._copy_sizes(part, part.arguments[0])
            return add(cost, 1)
        costs, arguments = [], []
        for argument in part.arguments:
            costs.append(self.cost(argument))
            arguments.append(self._operand(argument))
        cost, target = 0, None
        if part.target is not None:
            cost = self.cost(part.target)
            target = self._operand(part.target)
        call = Invocation(part.function, target, arguments, costs, self.root)
        return add(cost, self._overloads(part, call))

    def _overloads(self, part: Call, call: Invocation) -> int:
        """The dearest of the overloads that the types allow."""
        most, size = 0, None
        for overload in part.overloads:
            cost, result = functions.cost(overload, call)
            most = max(most, cost)
            if result is not None:
                size = result if size is None else size.or_else(result)
            self._track_entries(part, overload)
            step = functions.INDEXES.get(overload)
            if step is not None:
                entry = self._entry_size(part.arguments[0])
                size = None if entry is None else entry.value
                part.path = paths.behind(self._path(part.arguments[0]), step)
            if size is None:
                size = self.size(part)
        part.size = size or part.size
        return most

    def _track_entries(self, part: Call, overload: str) -> None:
        """Of what is put together from two values, an entry is one of either."""
        if overload not in functions.JOINS:
            return
        first, second = (self._entry_size(argument) for argument in part.arguments[-2:])
        if first is not None and second is not None:
            part.entry_size = first.or_else(second)

    def _copy_sizes(self, part: Part, source: Part) -> None:
        part.size = self.size(source) or part.size
        part.entry_size = self._entry_size(source) or part.entry_size

    def _fold(self, part: Fold) -> int:
        cost = add(self.cost(part.items), self.cost(part.start))
        self._define(RESULT, part.start)
        self._define_loop(part)
        each = add(self.cost(part.condition), self.cost(part.step))
        for name in part.variables:
            self.variables[name].pop()
        cost = add(cost, self.cost(part.result))
        self.variables[RESULT].pop()
        count = self._size_or_unknown(part.items)
        if isinstance(part.start, Value):
            part.size = self.size(part.start)
        else:
            part.size, part.entry_size = count, self._entry_size(part.step)
        return add(cost, multiply(count.most, each))

    def _bind(self, part: Bind) -> int:
        cost = add(_NEW_LIST, self.cost(part.value))
        self._define(part.name, part.value)
        cost = add(cost, self.cost(part.body))
        self.variables[part.name].pop()
        self._copy_sizes(part, part.body)
        return cost

    def _define(self, name: str, value: Part) -> None:
        variable = _Variable(self._path(value), self.size(value), self._entry_size(value))
        self.variables.setdefault(name, []).append(variable)

    def _define_loop(self, part: Fold) -> None:
        if len(part.variables) == 1:
            is_over_keys = not self._is_list(part.items)
            self._define_entry(part.variables[0], part.items, is_key=is_over_keys)
        else:
            self._define_entry(part.variables[0], part.items, is_key=True)
            self._define_entry(part.variables[1], part.items, is_key=False)

    def _define_entry(self, name: str, items: Part, is_key: bool) -> None:
        entry = self._entry_size(items)
        size = None if entry is None else entry.key if is_key else entry.value
        steps = ("@indices", "@items") if self._is_list(items) else ("@keys", "@values")
        path = paths.behind(self._path(items), steps[0 if is_key else 1])
        self.variables.setdefault(name, []).append(_Variable(path, size))

    def _is_list(self, items: Part) -> bool:
        entry = self._entry_size(items)
        return items.type.name == "list" if entry is None else entry.is_list


def _evident_size(part: Part) -> Size | None:
    """What the expression itself shows."""
    match part:
        case Value(value=str() | bytes() as text):
            return Size(len(text), len(text))
        case Value():
            return ONE
        case Items():
            return Size(len(part.items), len(part.items))
        case Entries():
            return Size(len(part.entries), len(part.entries))
    return None


def _is_fixed(kind: Type) -> bool:
    if kind.name == "optional_type":
        return _is_fixed(kind.parameters[0])
    return kind.name in _FIXED
