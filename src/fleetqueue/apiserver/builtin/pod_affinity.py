"""Rules for affinity and anti-affinity, and for topology spread constraints."""

from collections.abc import Mapping, Sequence
from typing import Any

from fleetqueue.api import names
from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin.checks import Errors, one_of, positive, wrongs
from fleetqueue.apiserver.builtin.selectors import (
    validate_label_name,
    validate_label_selector,
    validate_label_values,
    validate_operator,
)

Object = Mapping[str, Any]

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"

_NOT_AN_OPERATOR = "not a valid selector operator"
_WEIGHTS = "must be in the range 1-100"


def validate_affinity(affinity: Object | None, path: str, *, any_value: bool = False) -> Errors:
    """`any_value` spares selector values that an older pod already has."""
    errors: Errors = []
    affinity = affinity or {}
    if (nodes := affinity.get("nodeAffinity")) is not None:
        errors += _validate_node_affinity(nodes, f"{path}.nodeAffinity", any_value)
    for kind in ("podAffinity", "podAntiAffinity"):
        if (pods := affinity.get(kind)) is not None:
            errors += _validate_pod_affinity(pods, f"{path}.{kind}", any_value)
    return errors


def validate_node_selector(selector: Object, path: str, *, any_value: bool = False) -> Errors:
    terms = selector.get("nodeSelectorTerms") or []
    if not terms:
        why = "must have at least one node selector term"
        return [fields.required(f"{path}.nodeSelectorTerms", why)]
    errors: Errors = []
    for index, term in enumerate(terms):
        errors += _validate_term(term, f"{path}.nodeSelectorTerms[{index}]", any_value)
    return errors


def validate_spread(constraints: Sequence[Object], path: str) -> Errors:
    errors: Errors = []
    for index, constraint in enumerate(constraints):
        below = f"{path}[{index}]"
        errors += positive(constraint.get("maxSkew") or 0, f"{below}.maxSkew")
        if not constraint.get("topologyKey"):
            errors.append(fields.required(f"{below}.topologyKey", "can not be empty"))
        action = constraint.get("whenUnsatisfiable", "")
        errors += one_of(action, ("DoNotSchedule", "ScheduleAnyway"), f"{below}.whenUnsatisfiable")
        errors += _validate_not_repeated(constraint, constraints[index + 1 :], below)
        errors += _validate_min_domains(constraint, f"{below}.minDomains")
        for name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            errors += one_of(constraint.get(name), ("Honor", "Ignore"), f"{below}.{name}")
        selector = constraint.get("labelSelector")
        errors += _validate_label_keys(constraint.get("matchLabelKeys") or [], [], selector, below)
        errors += validate_label_selector(selector, f"{below}.labelSelector")
    return errors


def _validate_node_affinity(affinity: Object, path: str, any_value: bool) -> Errors:
    errors: Errors = []
    if (required := affinity.get(REQUIRED)) is not None:
        errors += validate_node_selector(required, f"{path}.{REQUIRED}", any_value=any_value)
    for index, term in enumerate(affinity.get(PREFERRED) or ()):
        below = f"{path}.{PREFERRED}[{index}]"
        errors += _validate_weight(term, below)
        errors += _validate_term(term.get("preference") or {}, f"{below}.preference", True)
    return errors


def _validate_pod_affinity(affinity: Object, path: str, any_value: bool) -> Errors:
    errors: Errors = []
    for index, term in enumerate(affinity.get(REQUIRED) or ()):
        errors += _validate_pod_term(term, f"{path}.{REQUIRED}[{index}]", any_value)
    for index, weighted in enumerate(affinity.get(PREFERRED) or ()):
        below = f"{path}.{PREFERRED}[{index}]"
        errors += _validate_weight(weighted, below)
        term = weighted.get("podAffinityTerm") or {}
        errors += _validate_pod_term(term, f"{below}.podAffinityTerm", any_value)
    return errors


def _validate_weight(term: Object, path: str) -> Errors:
    weight = term.get("weight") or 0
    return [] if 0 < weight <= 100 else [fields.wrong(f"{path}.weight", weight, _WEIGHTS)]


def _validate_term(term: Object, path: str, any_value: bool) -> Errors:
    errors: Errors = []
    for index, requirement in enumerate(term.get("matchExpressions") or ()):
        errors += _validate_expression(requirement, f"{path}.matchExpressions[{index}]", any_value)
    for index, requirement in enumerate(term.get("matchFields") or ()):
        errors += _validate_field(requirement, f"{path}.matchFields[{index}]")
    return errors


def _validate_expression(requirement: Object, path: str, any_value: bool) -> Errors:
    operator, values = requirement.get("operator", ""), requirement.get("values") or []
    if operator in ("Gt", "Lt"):
        why = "must be specified single value when `operator` is 'Lt' or 'Gt'"
        errors = [] if len(values) == 1 else [fields.required(f"{path}.values", why)]
    else:
        errors = validate_operator(operator, values, path)
    errors += validate_label_name(requirement.get("key", ""), f"{path}.key")
    return errors if any_value else errors + validate_label_values(values, f"{path}.values")


def _validate_field(requirement: Object, path: str) -> Errors:
    operator, values = requirement.get("operator", ""), requirement.get("values") or []
    errors: Errors = []
    if operator not in ("In", "NotIn"):
        errors.append(fields.wrong(f"{path}.operator", operator, _NOT_AN_OPERATOR))
    elif len(values) != 1:
        why = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        errors.append(fields.required(f"{path}.values", why))
    key = requirement.get("key", "")
    if key != "metadata.name":
        return [*errors, fields.wrong(f"{path}.key", key, "not a valid field selector key")]
    for index, value in enumerate(values):
        errors += wrongs(f"{path}.values[{index}]", value, names.dns1123_subdomain(value))
    return errors


def _validate_pod_term(term: Object, path: str, any_value: bool) -> Errors:
    errors: Errors = []
    for kind in ("labelSelector", "namespaceSelector"):
        below = f"{path}.{kind}"
        errors += validate_label_selector(term.get(kind), below, any_value=any_value)
    for name in term.get("namespaces") or ():
        errors += wrongs(f"{path}.namespace", name, names.dns1123_label(name))
    matching, other = term.get("matchLabelKeys") or [], term.get("mismatchLabelKeys") or []
    errors += _validate_label_keys(matching, other, term.get("labelSelector"), path)
    key = term.get("topologyKey", "")
    if not key:
        errors.append(fields.required(f"{path}.topologyKey", "can not be empty"))
    return errors + validate_label_name(key, f"{path}.topologyKey")


def _validate_label_keys(
    matching: list[str], other: list[str], selector: Object | None, path: str
) -> Errors:
    errors: Errors = []
    for kind, keys in (("matchLabelKeys", matching), ("mismatchLabelKeys", other)):
        if keys and selector is None:
            why = "must not be specified when labelSelector is not set"
            errors.append(fields.forbidden(f"{path}.{kind}", why))
            continue
        for index, key in enumerate(keys):
            errors += validate_label_name(key, f"{path}.{kind}[{index}]")
    errors += _validate_keys_are_new(matching, selector or {}, path)
    why = "exists in both matchLabelKeys and mismatchLabelKeys"
    return errors + [
        fields.wrong(f"{path}.matchLabelKeys[{index}]", key, why)
        for index, key in enumerate(matching)
        if key in other
    ]


def _validate_keys_are_new(matching: list[str], selector: Object, path: str) -> Errors:
    """The server adds an expression for each of the keys, so that one alone is expected."""
    errors: Errors = []
    positions = {key: index for index, key in enumerate(matching)}
    seen = set(selector.get("matchLabels") or ())
    for requirement in selector.get("matchExpressions") or ():
        key = requirement.get("key", "")
        if key in positions and key in seen:
            why = "exists in both matchLabelKeys and labelSelector"
            errors.append(fields.wrong(f"{path}[{positions[key]}]", key, why))
        seen.add(key)
    return errors


def _validate_not_repeated(constraint: Object, others: Sequence[Object], path: str) -> Errors:
    pair = (constraint.get("topologyKey", ""), constraint.get("whenUnsatisfiable", ""))
    for other in others:
        if pair == (other.get("topologyKey", ""), other.get("whenUnsatisfiable", "")):
            shown = f"{{{pair[0]}, {pair[1]}}}"
            return [fields.duplicate(f"{path}.{{topologyKey, whenUnsatisfiable}}", shown)]
    return []


def _validate_min_domains(constraint: Object, path: str) -> Errors:
    least = constraint.get("minDomains")
    if least is None:
        return []
    errors = positive(least, path)
    action = constraint.get("whenUnsatisfiable", "")
    if action != "DoNotSchedule":
        why = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
        errors.append(fields.wrong(path, least, why))
    return errors
