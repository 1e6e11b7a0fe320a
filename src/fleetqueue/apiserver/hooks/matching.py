"""Which webhooks a write concerns: rules, scopes, selectors and conditions."""

from collections.abc import Iterable, Mapping
from typing import Any

from fleetqueue.api import selectors
from fleetqueue.apiserver.core import Core
from fleetqueue.apiserver.hooks import Operation
from fleetqueue.apiserver.registry import Resource

Object = dict[str, Any]

EXEMPT = frozenset(
    (
        "mutatingwebhookconfigurations",
        "validatingwebhookconfigurations",
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
    )
)


def matching_version(webhook: Object, operation: Operation) -> tuple[Resource, str] | None:
    """The resource and version under which the webhook wants to see the write; None: not at all."""
    resource = operation.call.resource
    if resource.plural in EXEMPT and resource.group == "admissionregistration.k8s.io":
        return None
    is_exact = webhook.get("matchPolicy", "Equivalent") != "Equivalent"
    version = rule_version(webhook.get("rules") or (), operation, is_exact=is_exact)
    return None if version is None else (resource, version)


def rule_version(rules: Iterable[Object], operation: Operation, *, is_exact: bool) -> str | None:
    """The version in which one of the rules means the write; None: none does."""
    resource, asked = operation.call.resource, operation.call.version.name
    concerned = [rule for rule in rules if _is_about(rule, operation)]
    for rule in concerned:
        if _matches(rule, resource, asked, operation.subresource):
            return asked
    if is_exact:
        return None
    for rule in concerned:
        for version in resource.served:
            if _matches(rule, resource, version.name, operation.subresource):
                return version.name
    return None


def _is_about(rule: Object, operation: Operation) -> bool:
    """Rules of policies may name objects, those of webhooks cannot."""
    names = rule.get("resourceNames")
    if names and operation.name not in names:
        return False
    return _has(rule.get("operations"), operation.verb)


def _matches(rule: Object, resource: Resource, version: str, subresource: str) -> bool:
    scope = rule.get("scope") or "*"
    if scope != "*" and (scope == "Namespaced") != resource.namespaced:
        return False
    if not _has(rule.get("apiGroups"), resource.group) or not _has(
        rule.get("apiVersions"), version
    ):
        return False
    return any(_names(named, resource.plural, subresource) for named in rule.get("resources") or ())


def _has(listed: Any, wanted: str) -> bool:
    return bool(listed) and ("*" in listed or wanted in listed)


def _names(named: str, plural: str, subresource: str) -> bool:
    """`pods`, `pods/log`, `pods/*`, `*/scale`, `*` (no subresources) or `*/*`."""
    head, slash, tail = named.partition("/")
    if head not in ("*", plural):
        return False
    return tail in ("*", subresource) if slash else not subresource


def selected(webhook: Object, operation: Operation, core: Core) -> bool:
    return _namespace_selected(webhook, operation, core) and _object_selected(webhook, operation)


def _namespace_selected(webhook: Object, operation: Operation, core: Core) -> bool:
    selector = webhook.get("namespaceSelector")
    if not selector:
        return True
    labels: Mapping[str, str] = {}
    is_namespace = operation.resource == "namespaces" and not operation.group
    if is_namespace:
        obj = operation.obj or operation.old or {}
        labels = obj.get("metadata", {}).get("labels") or {}
    elif operation.call.resource.namespaced:
        found = core.get("namespaces", operation.namespace) or {}
        labels = found.get("metadata", {}).get("labels") or {}
    else:
        return True
    return selectors.labels_from_object(selector).matches(labels)


def _object_selected(webhook: Object, operation: Operation) -> bool:
    selector = webhook.get("objectSelector")
    if not selector:
        return True
    matches = selectors.labels_from_object(selector).matches
    for obj in (operation.obj, operation.old):
        if obj is not None and matches(obj.get("metadata", {}).get("labels") or {}):
            return True
    return False
