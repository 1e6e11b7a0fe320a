"""Mutating and validating webhook configurations."""

from collections.abc import Mapping
from typing import Any

from fleetqueue.api import names
from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin import webhook_rules as rules
from fleetqueue.apiserver.builtin.checks import Errors, one_of, wrongs
from fleetqueue.apiserver.builtin.making import kind, part
from fleetqueue.apiserver.builtin.selectors import validate_label_selector
from fleetqueue.apiserver.strategy import Object, Strategy

GROUP = "admissionregistration.k8s.io"
REVIEW_VERSIONS = ("v1", "v1beta1")
HARMLESS = ("None", "NoneOnDryRun")
TIMEOUT_SECONDS = 10
_DEFAULTS = {"failurePolicy": "Fail", "matchPolicy": "Equivalent"}


def default_configuration(obj: Object) -> None:
    for hook in obj.get("webhooks") or ():
        for name, value in _DEFAULTS.items():
            if hook.get(name) is None:
                hook[name] = value
        for name in ("namespaceSelector", "objectSelector"):
            if hook.get(name) is None:
                hook[name] = {}
        if hook.get("timeoutSeconds") is None:
            hook["timeoutSeconds"] = TIMEOUT_SECONDS
        service = part(hook, "clientConfig").get("service")
        if service is not None and service.get("port") is None:
            service["port"] = 443
        rules.default_rules(hook.get("rules"))


def default_mutating(obj: Object) -> None:
    default_configuration(obj)
    for hook in obj.get("webhooks") or ():
        if hook.get("reinvocationPolicy") is None:
            hook["reinvocationPolicy"] = "Never"


def validate_configuration(obj: Object, old: Object | None) -> Errors:
    errors: Errors = []
    taken: set[str] = set()
    for index, hook in enumerate(obj.get("webhooks") or ()):
        path, name = f"webhooks[{index}]", hook.get("name", "")
        errors += _validate_hook(hook, path)
        versions = hook.get("admissionReviewVersions") or []
        errors += _validate_versions(versions, f"{path}.admissionReviewVersions")
        if name and name in taken:
            errors.append(fields.duplicate(f"{path}.name", name))
        taken.add(name)
    return errors


def _validate_hook(hook: Mapping[str, Any], path: str) -> Errors:
    errors = rules.validate_three_part_name(hook.get("name", ""), f"{path}.name")
    for index, rule in enumerate(hook.get("rules") or ()):
        errors += rules.validate_rule(rule, f"{path}.rules[{index}]")
    policies = (("failurePolicy", rules.FAILURE_POLICIES), ("matchPolicy", rules.MATCH_POLICIES))
    for name, allowed in policies:
        errors += one_of(hook.get(name), allowed, f"{path}.{name}")
    effects, at = hook.get("sideEffects"), f"{path}.sideEffects"
    if effects is None:
        errors.append(fields.required(at, f"must specify one of {', '.join(HARMLESS)}"))
    else:
        errors += one_of(effects, HARMLESS, at)
    seconds = hook.get("timeoutSeconds")
    if seconds is not None and not 1 <= seconds <= 30:
        why = "the timeout value must be between 1 and 30 seconds"
        errors.append(fields.wrong(f"{path}.timeoutSeconds", seconds, why))
    for name in ("namespaceSelector", "objectSelector"):
        errors += validate_label_selector(hook.get(name), f"{path}.{name}")
    reinvocations = ("IfNeeded", "Never")
    errors += one_of(hook.get("reinvocationPolicy"), reinvocations, f"{path}.reinvocationPolicy")
    errors += rules.validate_client(part(hook, "clientConfig"), f"{path}.clientConfig")
    conditions = hook.get("matchConditions") or []
    return errors + rules.validate_conditions(conditions, f"{path}.matchConditions")


def _validate_versions(versions: list[str], path: str) -> Errors:
    known = ", ".join(REVIEW_VERSIONS)
    if not versions:
        return [fields.required(path, f"must specify one of {known}")]
    errors: Errors = []
    for index, version in enumerate(versions):
        if version in versions[:index]:
            errors.append(fields.wrong(f"{path}[{index}]", version, "duplicate version"))
            continue
        errors += wrongs(f"{path}[{index}]", version, names.dns1035_label(version))
    if not set(versions) & set(REVIEW_VERSIONS):
        errors.append(fields.wrong(path, versions, f"must include at least one of {known}"))
    return errors


_FACTS: dict[str, Any] = {
    "has_status": False,
    "has_generation": True,
    "allow_unconditional_update": False,
}

STRATEGIES: dict[tuple[str, str], Strategy] = {
    (GROUP, "MutatingWebhookConfiguration"): kind(
        validate_configuration, default=default_mutating, **_FACTS
    ),
    (GROUP, "ValidatingWebhookConfiguration"): kind(
        validate_configuration, default=default_configuration, **_FACTS
    ),
}
