"""What an admission policy says of one write with one parameter: its conditions, variables,
validations and messages, in the words of kube-apiserver.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from fleetqueue.apiserver.hooks import conditions
from fleetqueue.apiserver.hooks.refusals import listed

if TYPE_CHECKING:
    from fleetqueue.apiserver import cel

Object = dict[str, Any]
INVALID = "Invalid"
BUDGET = 10_000_000
OUT_OF_BUDGET = (
    "validation failed due to running out of cost budget, no further validation rules will be run"
)
MESSAGE_BYTES_MAX = 5 * 1024
VARIABLES = "variables"


class Denial(NamedTuple):
    """One reason to refuse a write."""

    message: str
    reason: str
    """Of the answer; "" where something could not be evaluated."""


def denials(spec: Object, values: Mapping[str, Any]) -> list[Denial]:
    """All of them; errors count as the failure policy says."""
    is_strict = spec.get("failurePolicy") != "Ignore"
    is_met, failures = conditions.outcome(spec.get("matchConditions") or (), values)
    if failures:
        return [Denial(listed(failures), "")] if is_strict else []
    if not is_met:
        return []
    from fleetqueue.apiserver import cel

    run = _Run(spec, values, cel.Budget(BUDGET))
    found = []
    for validation in spec.get("validations") or ():
        try:
            is_right = run.evaluate(validation["expression"]) is True
        except cel.CelError as error:
            if run.is_exhausted:
                return [Denial(OUT_OF_BUDGET, "")] if is_strict else []
            if is_strict:
                found.append(Denial(conditions.failed(validation["expression"], error), ""))
            continue
        if not is_right:
            reason = validation.get("reason") or INVALID
            found.append(Denial(_message(validation, run), reason))
    return found


def _message(validation: Object, run: "_Run") -> str:
    from fleetqueue.apiserver import cel

    if expression := validation.get("messageExpression"):
        try:
            told = run.evaluate(expression)
        except cel.CelError:
            told = None
        text = told.strip() if isinstance(told, str) else ""
        if text and "\n" not in text and len(text.encode()) <= MESSAGE_BYTES_MAX:
            return text
    if text := str(validation.get("message") or "").strip():
        return text
    return f"failed expression: {validation['expression'].strip()}"


class _Run:
    """The evaluations of one write; a variable is evaluated once, when one first needs it."""

    def __init__(self, spec: Object, values: Mapping[str, Any], budget: "cel.Budget") -> None:
        self._expressions = {
            str(each["name"]): str(each["expression"]) for each in spec.get("variables") or ()
        }
        self._values = dict(values)
        self._budget = budget
        self._known: Object = {}
        self._failed: dict[str, str] = {}

    @property
    def is_exhausted(self) -> bool:
        return self._budget.remaining <= 0

    def evaluate(self, expression: str) -> Any:
        from fleetqueue.apiserver import cel

        program = conditions.program(expression)
        needed = _used(expression)
        for name in needed:
            self._prepare(name)
        try:
            return program.evaluate({**self._values, VARIABLES: self._known}, self._budget)
        except cel.CelError as error:
            for name in needed:
                if name in self._failed and str(error) == f"no such key: {name}":
                    raise cel.CelError(self._failed[name]) from error
            raise

    def _prepare(self, name: str) -> None:
        """One that fails is missing, and matters only to those who come to read it."""
        from fleetqueue.apiserver import cel

        if name in self._known or name in self._failed or name not in self._expressions:
            return
        lead = f'composited variable "{name}" fails to evaluate: '
        # Until it is there, so that one which reads itself ends.
        self._failed[name] = f"{lead}no such key: {name}"
        try:
            self._known[name] = self.evaluate(self._expressions[name])
        except cel.CelError as error:
            self._failed[name] = f"{lead}{error}"
        else:
            del self._failed[name]


@lru_cache(maxsize=1024)
def _used(expression: str) -> tuple[str, ...]:
    """The variables of the policy that an expression reads."""
    from fleetqueue.apiserver.cel.literals import walk
    from fleetqueue.apiserver.cel.syntax import Ident, Select

    found = (
        part.field
        for part in walk(conditions.program(expression).tree)
        if isinstance(part, Select)
        and isinstance(part.operand, Ident)
        and part.operand.name == VARIABLES
    )
    return tuple(dict.fromkeys(found))
