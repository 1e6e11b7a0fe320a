"""Compiled expressions, and how they are run."""

from collections.abc import Mapping
from typing import Any

from fleetqueue.apiserver.cel import types
from fleetqueue.apiserver.cel.checker import check
from fleetqueue.apiserver.cel.errors import CelError, CompileError, CostExceeded, Issue
from fleetqueue.apiserver.cel.generator import generate
from fleetqueue.apiserver.cel.interpreter import interpret
from fleetqueue.apiserver.cel.literals import walk
from fleetqueue.apiserver.cel.parser import parse
from fleetqueue.apiserver.cel.schema_types import loader, schema_type
from fleetqueue.apiserver.cel.support import PER_CALL_COST_MAX, Budget
from fleetqueue.apiserver.cel.syntax import Loop
from fleetqueue.apiserver.cel.types import Type
from fleetqueue.apiserver.cel.values import NONE, Optional
from fleetqueue.apiserver.schema.node import Node


class Program:
    """A compiled expression; raises CompileError if it is none."""

    def __init__(self, expression: str, variables: Mapping[str, Type]) -> None:
        self.expression = expression
        self.variables = dict(variables)
        try:
            self.tree = parse(expression)
            self.used = check(expression, self.tree, self.variables)
            """The variables that the expression mentions."""
        except RecursionError:
            issue = Issue(0, "expression recursion limit exceeded: 250")
            raise CompileError(expression, [issue]) from None
        self.type = self.tree.type
        self.has_loops = any(isinstance(part, Loop) for part in walk(self.tree))
        self.fast = generate(self.tree, self.variables)
        """A Python function of the variables and a budget, or None."""

    def evaluate(self, values: Mapping[str, Any], budget: Budget | None = None) -> Any:
        """The value; raises CelError. A variable that is not mentioned may be missing."""
        return self.run([values.get(name) for name in self.variables], budget)

    def run(self, values: list[Any], budget: Budget | None) -> Any:
        """As `evaluate`, with the values in the order of the variables."""
        limit = PER_CALL_COST_MAX
        if budget is not None:
            limit = min(budget.remaining, limit)
        own = Budget(limit)
        try:
            return self._run(values, own)
        except CelError:
            raise
        except Exception as problem:
            # Data that does not fit its schema, or a value that no function can take.
            raise CelError(f"no such overload: {problem}") from problem
        finally:
            if budget is not None:
                budget.remaining -= limit - own.remaining + 1

    def _run(self, values: list[Any], budget: Budget) -> Any:
        if self.fast is not None:
            try:
                return self.fast(*values, budget)
            except CostExceeded:
                raise
            except Exception:
                # Whatever it was, the interpreter tells what it means, or that it means nothing.
                budget.remaining = max(budget.remaining, 0)
        return interpret(self.tree, dict(zip(self.variables, values, strict=True)), budget)


class RuleProgram:
    """A rule, or the message of one, on a value that a schema describes."""

    def __init__(self, expression: str, kind: Type, is_old_optional: bool) -> None:
        old = types.optional_of(kind) if is_old_optional else kind
        self.program = Program(expression, {"self": kind, "oldSelf": old})
        self.uses_old_self = "oldSelf" in self.program.used
        self._is_old_optional = is_old_optional
        self._load = loader(kind)
        is_direct = self._load is None and not is_old_optional and not self.program.has_loops
        self._direct = self.program.fast if is_direct else None

    def evaluate(self, self_value: Any, old_self: Any = None, budget: Budget | None = None) -> Any:
        """The value of the expression; for a rule, a bool. Raises CelError."""
        if self._load is not None:
            self_value = self._load(self_value)
            old_self = None if old_self is None else self._load(old_self)
        if self._is_old_optional:
            old_self = NONE if old_self is None else Optional(old_self)
        return self.program.run([self_value, old_self], budget)

    def holds(self, self_value: Any, old_self: Any, budget: Budget) -> bool:
        """As `evaluate`, for a rule: without the bookkeeping where there is nothing to count."""
        if self._direct is not None:
            try:
                return self._direct(self_value, old_self, budget) is True
            except Exception:
                return self.evaluate(self_value, old_self, budget) is True
        return self.evaluate(self_value, old_self, budget) is True


def compile_rule(
    expression: str,
    node: Node,
    *,
    is_root: bool | None = None,
    is_old_optional: bool = False,
    result: Type = types.BOOL,
) -> RuleProgram:
    """A rule of `node`: `self` is the value, `oldSelf` what it was before.

    Raises CompileError; ValueError if the type of the value or of the result does not fit.
    """
    kind = schema_type(node, is_root)
    if kind is None:
        raise ValueError("failed to convert to declType for CEL validation rules")
    rule = RuleProgram(expression, kind, is_old_optional)
    if rule.program.type != result:
        raise ValueError(f"cel expression must evaluate to a {result}")
    return rule
