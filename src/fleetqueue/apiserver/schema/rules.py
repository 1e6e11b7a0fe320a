"""Checks custom resources against the CEL rules of their schema (x-kubernetes-validations)."""

import contextlib
from collections.abc import Mapping
from typing import Any, NamedTuple

from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.cel import types
from fleetqueue.apiserver.cel.errors import CelError, CompileError, CostExceeded
from fleetqueue.apiserver.cel.program import RuleProgram, compile_rule
from fleetqueue.apiserver.cel.schema_types import schema_type
from fleetqueue.apiserver.cel.support import Budget
from fleetqueue.apiserver.field_errors import FieldError
from fleetqueue.apiserver.schema.correlation import Pair, by_key, item_key
from fleetqueue.apiserver.schema.field_paths import PathError, resolve
from fleetqueue.apiserver.schema.node import Node

COST_MAX = 10_000_000
"""What all rules of one object may cost together."""
MESSAGE_SIZE_MAX = 5 * 1024
_NOWHERE = "<nil>"
_OUT_OF_BUDGET = (
    "validation failed due to running out of cost budget, no further validation rules will be run"
)


class Exhausted(Exception):
    """No further rules may run."""


class Place(NamedTuple):
    """Where a value stands, and what it was before the update."""

    path: str
    old: Any
    pair: Pair | None
    nearest: Pair | None
    """The closest ancestor that could be paired, where the value itself could not."""

    @property
    def is_unchanged(self) -> bool:
        found = self.pair if self.pair is not None else self.nearest
        return found is not None and found.is_unchanged

    def field(self, name: str, is_key: bool) -> "Place":
        below = f"{self.path}[{name}]" if is_key else f"{self.path}.{name}" if self.path else name
        old = self.old.get(name) if isinstance(self.old, dict) else None
        if self.pair is None:
            return Place(below, old, None, self.nearest)
        if self.nearest is None and name in ("apiVersion", "kind"):
            return Place(below, old, None, None)
        return Place(below, old, self.pair.field(name), self.pair)

    def item(self, index: int, old: Any) -> "Place":
        below = f"{self.path}[{index}]"
        if self.pair is None:
            return Place(below, old, None, self.nearest)
        return Place(below, old, self.pair.item(index), self.pair)


class Run:
    """The state of one validation."""

    def __init__(self) -> None:
        self.errors: list[FieldError] = []
        self.warnings: list[str] = []
        self.budget = Budget(COST_MAX)


class Rule:
    """One rule, compiled."""

    def __init__(self, raw: Mapping[str, Any], node: Node, is_root: bool) -> None:
        self.text = str(raw.get("rule", "")).strip()
        self.message = str(raw.get("message") or "").strip()
        self.reason = str(raw.get("reason") or "FieldValueInvalid")
        self.is_old_optional = bool(raw.get("optionalOldSelf"))
        self.value_type = node.type
        self.problem = ""
        self.program = self._compile(str(raw.get("rule", "")), node, is_root, types.BOOL)
        self.message_program: RuleProgram | None = None
        if raw.get("messageExpression") and not self.problem:
            self.message_program = self._compile(
                raw["messageExpression"], node, is_root, types.STRING, is_needed=False
            )
        self.field_path = _normalised(raw.get("fieldPath") or "", node)

    def _compile(
        self, text: str, node: Node, is_root: bool, result: types.Type, is_needed: bool = True
    ) -> RuleProgram | None:
        if not text.strip():
            return None
        try:
            return compile_rule(
                text,
                node,
                is_root=is_root,
                is_old_optional=self.is_old_optional,
                result=result,
            )
        except CompileError as problem:
            self.problem = f"compilation failed: {problem}" if is_needed else ""
        except ValueError as problem:
            self.problem = str(problem) if is_needed else ""
        return None

    def check(self, value: Any, place: Place, run: Run) -> None:
        if self.problem:
            why = f"rule compile error: {self.problem}"
            run.errors.append(fields.wrong(place.path or _NOWHERE, self.value_type, why))
            return
        program = self.program
        if program is None:
            return
        if program.uses_old_self and place.old is None and not self.is_old_optional:
            return
        try:
            if program.holds(value, place.old, run.budget):
                return
        except CelError as problem:
            self._report_failure(problem, place, run)
            return
        error = self._error(value, place, run)
        if not program.uses_old_self and place.is_unchanged:
            run.warnings.append(str(error))
        else:
            run.errors.append(error)

    def _report_failure(self, problem: CelError, place: Place, run: Run) -> None:
        """The rule could not be evaluated at all."""
        shown = self.message or self.text
        if isinstance(problem, CostExceeded):
            why = "no further validation rules will be run due to call cost exceeds limit for rule"
            detail = f"'{problem}': {why}: {shown}"
        elif str(problem).startswith("no such overload"):
            why = "call arguments did not match a supported operator, function or macro signature"
            detail = f"'{problem}': {why} for rule: {shown}"
        else:
            detail = f"{problem} evaluating rule: {shown}"
        run.errors.append(fields.wrong(place.path or _NOWHERE, self.value_type, detail))
        if isinstance(problem, CostExceeded):
            raise Exhausted

    def _error(self, value: Any, place: Place, run: Run) -> FieldError:
        detail = self._computed_message(value, place, run) or self.message
        detail = detail or f"failed rule: {self.text}"
        path = place.path
        if self.field_path:
            path = f"{path}.{self.field_path}" if path else self.field_path
        path = path or _NOWHERE
        match self.reason:
            case "FieldValueForbidden":
                return fields.forbidden(path, detail)
            case "FieldValueRequired":
                return fields.required(path, detail)
            case "FieldValueDuplicate":
                return fields.duplicate(path, self.value_type)
        return fields.wrong(path, self.value_type, detail)

    def _computed_message(self, value: Any, place: Place, run: Run) -> str:
        """Of messageExpression; "" if it gives nothing that can be shown on one line."""
        if self.message_program is None:
            return ""
        try:
            text = self.message_program.evaluate(value, place.old, run.budget)
        except CelError:
            return ""
        text = text.strip()
        return "" if len(text.encode()) > MESSAGE_SIZE_MAX or "\n" in text else text


class RuleTree:
    """The rules of a schema node and of everything below it."""

    def __init__(self, node: Node, rules: list[Rule]) -> None:
        self.node = node
        self.rules = rules
        self.alternatives: list[RuleTree] = []
        """Rules that stand in the branches of allOf."""
        self.fields: dict[str, RuleTree] = {}
        self.values: RuleTree | None = None
        self.items: RuleTree | None = None

    @property
    def is_empty(self) -> bool:
        has_below = self.fields or self.values or self.items or self.alternatives
        return not self.rules and not has_below

    def validate(
        self, obj: Any, pair: Pair | None, warnings: list[str] | None = None, root: str = ""
    ) -> list[FieldError]:
        """Errors of all rules; ratcheted ones go to `warnings`. `root` is the path of `obj`."""
        run = Run()
        with contextlib.suppress(Exhausted):
            self._visit(obj, Place(root, None if pair is None else pair.old, pair, None), run)
        if warnings is not None:
            warnings += run.warnings
        return run.errors

    def _visit(self, value: Any, place: Place, run: Run) -> None:
        if value is None:
            return
        if self.rules:
            if run.budget.remaining <= 0:
                detail = _OUT_OF_BUDGET
                run.errors.append(fields.wrong(place.path or _NOWHERE, self.node.type, detail))
                raise Exhausted
            for rule in self.rules:
                rule.check(value, place, run)
        for tree in self.alternatives:
            tree._visit(value, Place(place.path, place.old, None, place.nearest), run)
        if value.__class__ is dict:
            self._visit_fields(value, place, run)
        elif value.__class__ is list and self.items is not None:
            self._visit_items(value, place, run)

    def _visit_fields(self, value: dict[str, Any], place: Place, run: Run) -> None:
        if self.values is not None:
            for name, below in value.items():
                self.values._visit(below, place.field(name, is_key=True), run)
        for name, tree in self.fields.items():
            if name in value:
                tree._visit(value[name], place.field(name, is_key=False), run)

    def _visit_items(self, value: list[Any], place: Place, run: Run) -> None:
        assert self.items is not None
        old: dict[str, Any] = {}
        if self.node.list_type == "map" and isinstance(place.old, list):
            old = by_key(place.old, self.node)
        for index, below in enumerate(value):
            before = old.get(item_key(below, self.node)) if old else None
            self.items._visit(below, place.item(index, before), run)


def build(node: Node, is_root: bool = False) -> RuleTree | None:
    """None if there are no rules, which is known without compiling anything."""
    if not _has_rules(node.raw, counts_all_of=False):
        return None
    tree = _build(node.raw, node, is_root)
    return None if tree.is_empty else tree


def _build(rules: Mapping[str, Any], node: Node, is_root: bool) -> RuleTree:
    """`rules` is the schema that carries rules; inside allOf it is only a part of the node's."""
    raw_rules = rules.get("x-kubernetes-validations") or ()
    tree = RuleTree(node, [Rule(raw, node, is_root) for raw in raw_rules])
    for name, below in (rules.get("properties") or {}).items():
        child = node.properties.get(name)
        if child is not None and _has_rules(below) and schema_type(child) is not None:
            tree.fields[name] = _build(below, child, child.is_embedded)
    values = rules.get("additionalProperties")
    if isinstance(values, Mapping) and node.values is not None and _has_rules(values):
        tree.values = _build(values, node.values, node.values.is_embedded)
    items = rules.get("items")
    if isinstance(items, Mapping) and node.items is not None and _has_rules(items):
        tree.items = _build(items, node.items, node.items.is_embedded)
    tree.alternatives = [
        _build(branch, node, is_root) for branch in rules.get("allOf") or () if _has_rules(branch)
    ]
    return tree


def _has_rules(raw: Any, counts_all_of: bool = True) -> bool:
    """Rules in allOf alone do not count for a whole schema: upstream never looks at them then."""
    if not isinstance(raw, Mapping):
        return False
    if raw.get("x-kubernetes-validations"):
        return True
    below = [
        *(raw.get("properties") or {}).values(),
        raw.get("items"),
        raw.get("additionalProperties"),
        *((raw.get("allOf") or ()) if counts_all_of else ()),
    ]
    return any(_has_rules(one, counts_all_of) for one in below)


def _normalised(path: str, node: Node) -> str:
    if not path:
        return ""
    try:
        return resolve(path, node)[0]
    except PathError:
        return ""
