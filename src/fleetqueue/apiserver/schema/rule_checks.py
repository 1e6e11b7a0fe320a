"""Checks the CEL rules in a CRD's schema: their fields, their compilation, and their costs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.cel import types
from fleetqueue.apiserver.cel.cost import Bound, bound_of, estimate
from fleetqueue.apiserver.cel.cost.sizes import multiply
from fleetqueue.apiserver.cel.errors import CompileError
from fleetqueue.apiserver.cel.program import RuleProgram, compile_rule
from fleetqueue.apiserver.field_errors import FieldError
from fleetqueue.apiserver.schema.field_paths import PathError, resolve
from fleetqueue.apiserver.schema.node import Node
from fleetqueue.apiserver.schema.rule_costs import EXPRESSION_COST_MAX, TotalCost, excess
from fleetqueue.apiserver.schema.structure import Schema

Rule: TypeAlias = Mapping[str, Any]

REASONS = (
    "FieldValueDuplicate",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueRequired",
)
_NO_TYPE = (
    "internal error: failed to construct type information for x-kubernetes-validations rules: "
    "unable to convert structural schema to CEL declarations"
)


@dataclass(frozen=True, slots=True)
class RuleSite:
    """The schema that has the rules, and what its surroundings mean for them."""

    node: Node
    path: str
    is_root: bool
    """It describes a whole resource."""
    unpaired: str
    """Below this path old and new values cannot be paired, so rules have no oldSelf."""
    cardinality: int | None
    """How often such a value occurs in an object at most; None if nothing limits it."""
    tolerates_costs: bool


def check_fields(rule: Rule, schema: Schema, path: str) -> Iterator[FieldError]:
    """Everything about a rule that needs no compiler."""
    text, message = rule.get("rule") or "", rule.get("message") or ""
    if not text.strip():
        yield fields.required(f"{path}.rule", "rule is not specified")
    elif message and not message.strip():
        yield fields.wrong(f"{path}.message", message, "must be non-empty if specified")
    elif _has_breaks(message.strip()):
        yield fields.wrong(f"{path}.message", message, "must not contain line breaks")
    elif _has_breaks(text.strip()) and not message.strip():
        why = "message must be specified if rule contains line breaks"
        yield fields.required(f"{path}.message", why)
    expression = rule.get("messageExpression") or ""
    if expression and not expression.strip():
        why = "messageExpression must be non-empty if specified"
        yield fields.required(f"{path}.messageExpression", why)
    reason = rule.get("reason")
    if reason is not None and reason not in REASONS:
        yield fields.unsupported(f"{path}.reason", reason, REASONS)
    yield from _field_path(rule.get("fieldPath") or "", schema, f"{path}.fieldPath")


def _field_path(text: str, schema: Schema, path: str) -> Iterator[FieldError]:
    if not text:
        return
    if not text.strip():
        yield fields.wrong(path, text, "must be non-empty if specified")
    if _has_breaks(text):
        yield fields.wrong(path, text, "must not contain line breaks")
    try:
        resolve(text, Node(schema))
    except PathError:
        yield fields.wrong(path, text, "must be a valid path")


def _has_breaks(text: str) -> bool:
    return "\n" in text or "\r" in text


def check_expressions(
    rules: Sequence[Rule], site: RuleSite, total: TotalCost
) -> Iterator[FieldError]:
    """What is wrong with rules whose fields are right; their costs are added to the total."""
    bound = bound_of(site.node, site.is_root)
    if bound is None:
        yield FieldError("InternalError", site.path, "", _NO_TYPE)
        return
    times = bound.cardinality if site.cardinality is None else site.cardinality
    for index, rule in enumerate(rules):
        yield from _check_rule(rule, site, f"{site.path}[{index}]", _Costs(bound, times, total))


@dataclass(frozen=True, slots=True)
class _Costs:
    bound: Bound
    times: int
    """How often the rule runs for one object."""
    total: TotalCost


def _check_rule(rule: Rule, site: RuleSite, path: str, costs: _Costs) -> Iterator[FieldError]:
    shown = _internal_rule(rule)
    program, problem = _compile(rule["rule"], site, rule, types.BOOL)
    if program is None:
        yield fields.wrong(f"{path}.rule", shown, problem)
    else:
        cost = multiply(estimate(program.program.tree, costs.bound), costs.times)
        yield from _cost_error("estimated rule cost", cost, site, f"{path}.rule", costs.total)
        if text := rule.get("messageExpression"):
            yield from _check_message(text, rule, site, f"{path}.messageExpression", costs)
    if program is not None and program.uses_old_self:
        if site.unpaired:
            within = f"the uncorrelatable portion of the schema within {site.unpaired}"
            why = f"oldSelf cannot be used on {within}"
            yield fields.wrong(f"{path}.rule", rule["rule"], why)
    elif rule.get("optionalOldSelf") is not None:
        why = "may not be set if oldSelf is not used in rule"
        yield fields.wrong(f"{path}.optionalOldSelf", rule["optionalOldSelf"], why)


def _check_message(
    text: str, rule: Rule, site: RuleSite, path: str, costs: _Costs
) -> Iterator[FieldError]:
    """A message is made once, however often its rule runs."""
    program, problem = _compile(text, site, rule, types.STRING)
    if program is None:
        yield fields.wrong(path, _internal_rule(rule), _of_message(problem))
        return
    cost = estimate(program.program.tree, costs.bound)
    yield from _cost_error("estimated messageExpression cost", cost, site, path, costs.total)


def _cost_error(
    what: str, cost: int, site: RuleSite, path: str, total: TotalCost
) -> Iterator[FieldError]:
    total.observe(path, cost)
    if cost > EXPRESSION_COST_MAX and not site.tolerates_costs:
        yield fields.forbidden(path, excess(what, cost, EXPRESSION_COST_MAX))


def _compile(
    text: str, site: RuleSite, rule: Rule, result: types.Type
) -> tuple[RuleProgram | None, str]:
    try:
        program = compile_rule(
            text,
            site.node,
            is_root=site.is_root,
            is_old_optional=bool(rule.get("optionalOldSelf")),
            result=result,
        )
    except CompileError as problem:
        return None, f"compilation failed: {problem}"
    except ValueError as problem:
        return None, str(problem)
    return program, ""


def _of_message(problem: str) -> str:
    if problem.startswith("compilation"):
        return f"messageExpression {problem}"
    return "messageExpression must evaluate to a string"


def _internal_rule(rule: Rule) -> dict[str, Any]:
    """A rule as the server's own type prints it: all fields, with Go's names."""
    return {
        "Rule": rule.get("rule") or "",
        "Message": rule.get("message") or "",
        "MessageExpression": rule.get("messageExpression") or "",
        "Reason": rule.get("reason"),
        "FieldPath": rule.get("fieldPath") or "",
        "OptionalOldSelf": rule.get("optionalOldSelf"),
    }
