"""Validating admission policies and their bindings, stored with defaults and checked for form."""

import re
from collections.abc import Mapping
from typing import Any

from fleetqueue.api import names
from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin import webhook_rules as rules
from fleetqueue.apiserver.builtin.checks import Errors, one_of, required_one_of, wrongs
from fleetqueue.apiserver.builtin.making import STATUS_ALONE, kind, part, without_status
from fleetqueue.apiserver.builtin.selectors import validate_label_selector
from fleetqueue.apiserver.strategy import Object, Strategy

GROUP = "admissionregistration.k8s.io"
REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")
ACTIONS = ("Audit", "Deny", "Warn")
NOTHING_TO_DO = "validations or auditAnnotations must contain at least one item"
EXCLUSIVE = "name and selector are mutually exclusive"


def default_policy(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    if spec.get("failurePolicy") is None:
        spec["failurePolicy"] = "Fail"
    _default_matching(spec.get("matchConstraints"))


def default_binding(obj: Object) -> None:
    _default_matching(part(obj, "spec").get("matchResources"))


def validate_policy(obj: Object, old: Object | None) -> Errors:
    spec = part(obj, "spec")
    errors = one_of(spec.get("failurePolicy"), rules.FAILURE_POLICIES, "spec.failurePolicy")
    if (of := spec.get("paramKind")) is not None:
        errors += _validate_param_kind(of, "spec.paramKind")
    matching = spec.get("matchConstraints")
    if matching is None:
        errors.append(fields.required("spec.matchConstraints"))
    else:
        errors += _validate_matching(matching, "spec.matchConstraints")
        if not matching.get("resourceRules"):
            errors.append(fields.required("spec.matchConstraints.resourceRules"))
    errors += rules.validate_conditions(spec.get("matchConditions") or [], "spec.matchConditions")
    for index, variable in enumerate(spec.get("variables") or ()):
        errors += _validate_variable(variable, f"spec.variables[{index}]")
    return errors + _validate_contents(obj, spec)


def _validate_contents(obj: Object, spec: Mapping[str, Any]) -> Errors:
    validations, annotations = spec.get("validations") or [], spec.get("auditAnnotations") or []
    if not validations and not annotations:
        return [
            fields.required(f"spec.{name}", NOTHING_TO_DO)
            for name in ("validations", "auditAnnotations")
        ]
    errors: Errors = []
    for index, validation in enumerate(validations):
        errors += _validate_validation(validation, f"spec.validations[{index}]")
    taken: set[str] = set()
    for index, annotation in enumerate(annotations):
        path, key = f"spec.auditAnnotations[{index}]", annotation.get("key", "")
        qualified = f"{obj['metadata'].get('name', '')}/{key}"
        errors += wrongs(f"{path}.key", qualified, names.qualified_name(qualified))
        if not (annotation.get("valueExpression") or "").strip():
            why = "valueExpression is not specified"
            errors.append(fields.required(f"{path}.valueExpression", why))
        if key in taken:
            errors.append(fields.duplicate(f"{path}.key", key))
        taken.add(key)
    return errors


def _validate_validation(validation: Mapping[str, Any], path: str) -> Errors:
    errors: Errors = []
    if not (validation.get("expression") or "").strip():
        errors.append(fields.required(f"{path}.expression", "expression is not specified"))
    else:
        errors += rules.validate_expression(validation["expression"], f"{path}.expression")
    for name in ("messageExpression", "message"):
        text = validation.get(name) or ""
        if text and not text.strip():
            errors.append(fields.wrong(f"{path}.{name}", text, "must be non-empty if specified"))
        elif text and name == "messageExpression":
            errors += rules.validate_expression(text, f"{path}.{name}", "string")
        elif name == "message" and "\n" in text.strip():
            errors.append(fields.wrong(f"{path}.{name}", text, "must not contain line breaks"))
    return errors + one_of(validation.get("reason"), REASONS, f"{path}.reason")


def _validate_variable(variable: Mapping[str, Any], path: str) -> Errors:
    name, errors = (variable.get("name") or "").strip(), []
    if not name:
        errors.append(fields.required(f"{path}.name", "name is not specified"))
    elif not re.fullmatch("[_a-zA-Z][_a-zA-Z0-9]*", name):
        errors.append(fields.wrong(f"{path}.name", name, "must be a valid CEL identifier"))
    if not (variable.get("expression") or "").strip():
        errors.append(fields.required(f"{path}.expression", "expression is not specified"))
    return errors


def _validate_param_kind(of: Mapping[str, Any], path: str) -> Errors:
    version, name, errors = of.get("apiVersion", ""), of.get("kind", ""), []
    if not version:
        errors.append(fields.required(f"{path}.apiVersion"))
    else:
        group, _, short = version.rpartition("/")
        if group and (found := names.dns1123_subdomain(group)):
            errors.append(fields.wrong(f"{path}.apiVersion", group, ",".join(found)))
        if found := names.dns1035_label(short):
            errors.append(fields.wrong(f"{path}.apiVersion", short, ",".join(found)))
    if not name:
        errors.append(fields.required(f"{path}.kind"))
    elif found := names.dns1035_label(name.lower()):
        why = f"may have mixed case, but should otherwise match: {','.join(found)}"
        errors.append(fields.wrong(f"{path}.kind", name, why))
    return errors


def _default_matching(matching: Object | None) -> None:
    if matching is None:
        return
    if matching.get("matchPolicy") is None:
        matching["matchPolicy"] = "Equivalent"
    for name in ("namespaceSelector", "objectSelector"):
        if matching.get(name) is None:
            matching[name] = {}
    for name in ("resourceRules", "excludeResourceRules"):
        rules.default_rules(matching.get(name))


def _validate_matching(matching: Mapping[str, Any], path: str) -> Errors:
    policy = matching.get("matchPolicy")
    errors = one_of(policy, rules.MATCH_POLICIES, f"{path}.matchPolicy")
    for name in ("namespaceSelector", "objectSelector"):
        errors += validate_label_selector(matching.get(name), f"{path}.{name}")
    for kind_name in ("resourceRules", "excludeResourceRules"):
        for index, rule in enumerate(matching.get(kind_name) or ()):
            at, listed = f"{path}.{kind_name}[{index}]", rule.get("resourceNames") or []
            for position, name in enumerate(listed):
                where = f"{at}.resourceNames[{position}]"
                errors += wrongs(where, name, names.path_segment(name))
                if name in listed[:position]:
                    errors.append(fields.duplicate(where, name))
            errors += rules.validate_rule(rule, at)
    return errors


def validate_binding(obj: Object, old: Object | None) -> Errors:
    spec, errors = part(obj, "spec"), []
    name = spec.get("policyName", "")
    if not name:
        errors.append(fields.required("spec.policyName"))
    else:
        errors += wrongs("spec.policyName", name, names.dns1123_subdomain(name))
    if (reference := spec.get("paramRef")) is not None:
        errors += _validate_param_reference(reference, "spec.paramRef")
    if (matching := spec.get("matchResources")) is not None:
        errors += _validate_matching(matching, "spec.matchResources")
    return errors + _validate_actions(spec.get("validationActions") or [])


def _validate_param_reference(reference: Mapping[str, Any], path: str) -> Errors:
    name, selector, errors = reference.get("name"), reference.get("selector"), []
    if name:
        errors += wrongs(f"{path}.name", name, names.path_segment(name))
        if selector is not None:
            errors.append(fields.forbidden(f"{path}.name", EXCLUSIVE))
    if selector is not None:
        errors += validate_label_selector(selector, f"{path}.selector")
        if name:
            errors.append(fields.forbidden(f"{path}.selector", EXCLUSIVE))
    if not name and selector is None:
        errors.append(fields.required(path, "one of name or selector must be specified"))
    action = reference.get("parameterNotFoundAction")
    return errors + required_one_of(action, ("Deny", "Allow"), f"{path}.parameterNotFoundAction")


def _validate_actions(actions: list[str]) -> Errors:
    path = "spec.validationActions"
    if not actions:
        return [fields.required(path, "at least one validation action is required")]
    errors: Errors = []
    for index, action in enumerate(actions):
        errors += one_of(action, ACTIONS, f"{path}[{index}]")
        if action in actions[:index]:
            errors.append(fields.duplicate(f"{path}[{index}]", action))
    if {"Deny", "Warn"} <= set(actions):
        why = (
            "must not contain both Deny and Warn (repeating the same validation failure "
            "information in the API response and headers serves no purpose)"
        )
        errors.append(fields.wrong(path, actions, why))
    return errors


_FACTS: dict[str, Any] = {"has_generation": True, "allow_unconditional_update": False}

STRATEGIES: dict[tuple[str, str], Strategy] = {
    (GROUP, "ValidatingAdmissionPolicy"): kind(
        validate_policy,
        default=default_policy,
        prepare_create=without_status,
        **_FACTS,
        **STATUS_ALONE,
    ),
    (GROUP, "ValidatingAdmissionPolicyBinding"): kind(
        validate_binding, default=default_binding, has_status=False, **_FACTS
    ),
}
