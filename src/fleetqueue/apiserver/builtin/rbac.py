"""Defaults and validation of the four RBAC kinds."""

from collections.abc import Callable, Mapping
from typing import Any

from fleetqueue.api import names
from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.access.rbac import GROUP
from fleetqueue.apiserver.builtin.selectors import is_understood, validate_label_selector
from fleetqueue.apiserver.field_errors import FieldError
from fleetqueue.apiserver.strategy import Object, Strategy

_SUBJECT_KINDS = ("ServiceAccount", "User", "Group")
_Validate = Callable[[Object], list[FieldError]]


def _default_binding(obj: Object) -> None:
    role = obj.setdefault("roleRef", {})
    if isinstance(role, dict) and not role.get("apiGroup"):
        role["apiGroup"] = GROUP
    for subject in obj.get("subjects") or ():
        if subject.get("kind") in ("User", "Group") and not subject.get("apiGroup"):
            subject["apiGroup"] = GROUP


def _validate_role(obj: Object) -> list[FieldError]:
    return _rules_errors(obj, namespaced=True)


def _validate_cluster_role(obj: Object, *, any_value: bool = False) -> list[FieldError]:
    errors = _rules_errors(obj, namespaced=False)
    rule = obj.get("aggregationRule")
    if rule is None:
        return errors
    path = "aggregationRule.clusterRoleSelectors"
    selectors = rule.get("clusterRoleSelectors") or ()
    if not selectors:
        text = "at least one clusterRoleSelector required if aggregationRule is non-nil"
        errors.append(fields.required(path, text))
    for index, selector in enumerate(selectors):
        at = f"{path}[{index}]"
        errors += validate_label_selector(selector, at, any_value=any_value)
        # A selector with a bad value cannot be parsed, even where the value may stay as it is.
        if not is_understood(selector):
            errors.append(fields.wrong(at, None, "invalid label selector."))
    return errors


def _validate_cluster_role_update(obj: Object, old: Object) -> list[FieldError]:
    selectors = (old.get("aggregationRule") or {}).get("clusterRoleSelectors") or ()
    was_broken = not all(is_understood(selector) for selector in selectors)
    return _twice(_validate_cluster_role(obj, any_value=was_broken))


def _validate_role_binding(obj: Object) -> list[FieldError]:
    return _binding_errors(obj, ("Role", "ClusterRole"), namespaced=True)


def _validate_cluster_role_binding(obj: Object) -> list[FieldError]:
    return _binding_errors(obj, ("ClusterRole",), namespaced=False)


def _update_of_role(obj: Object, old: Object) -> list[FieldError]:
    return _twice(_validate_role(obj))


def _update_of_binding(validate: _Validate) -> Callable[[Object, Object], list[FieldError]]:
    def validate_update(obj: Object, old: Object) -> list[FieldError]:
        errors = _twice(validate(obj))
        role = obj.get("roleRef") or {}
        if role != (old.get("roleRef") or {}):
            # The internal type has no JSON names, so its Go names reach the message.
            shown = {key: role.get(key[0].lower() + key[1:], "") for key in ("Kind", "Name")}
            shown = {"APIGroup": role.get("apiGroup", ""), **shown}
            errors.append(fields.wrong("roleRef", shown, "cannot change roleRef"))
        return errors

    return validate_update


def _twice(errors: list[FieldError]) -> list[FieldError]:
    """kube-apiserver validates an update of these kinds twice, so each cause is listed twice."""
    return errors + errors


def _rules_errors(obj: Object, *, namespaced: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, rule in enumerate(obj.get("rules") or ()):
        errors += _rule_errors(rule, f"rules[{index}]", namespaced=namespaced)
    return errors


def _rule_errors(rule: Mapping[str, Any], path: str, *, namespaced: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    if not rule.get("verbs"):
        errors.append(fields.required(f"{path}.verbs", "verbs must contain at least one value"))
    urls = rule.get("nonResourceURLs")
    if urls:
        return errors + _url_rule_errors(rule, urls, path, namespaced=namespaced)
    if not rule.get("apiGroups"):
        text = "resource rules must supply at least one api group"
        errors.append(fields.required(f"{path}.apiGroups", text))
    if not rule.get("resources"):
        text = "resource rules must supply at least one resource"
        errors.append(fields.required(f"{path}.resources", text))
    return errors


def _url_rule_errors(
    rule: Mapping[str, Any], urls: list[str], path: str, *, namespaced: bool
) -> list[FieldError]:
    at, errors = f"{path}.nonResourceURLs", []
    if namespaced:
        text = "namespaced rules cannot apply to non-resource URLs"
        errors.append(fields.wrong(at, urls, text))
    if any(rule.get(key) for key in ("apiGroups", "resources", "resourceNames")):
        text = "rules cannot apply to both regular resources and non-resource URLs"
        errors.append(fields.wrong(at, urls, text))
    return errors


def _binding_errors(
    obj: Object, role_kinds: tuple[str, ...], *, namespaced: bool
) -> list[FieldError]:
    role = obj.get("roleRef") or {}
    errors: list[FieldError] = []
    group, kind, name = (role.get(key) or "" for key in ("apiGroup", "kind", "name"))
    if group != GROUP:
        errors.append(fields.unsupported("roleRef.apiGroup", group, (GROUP,)))
    if kind not in role_kinds:
        errors.append(fields.unsupported("roleRef.kind", kind, role_kinds))
    if not name:
        errors.append(fields.required("roleRef.name"))
    errors += [fields.wrong("roleRef.name", name, text) for text in _name_errors(name, False)]
    for index, subject in enumerate(obj.get("subjects") or ()):
        errors += _subject_errors(subject, f"subjects[{index}]", namespaced=namespaced)
    return errors


def _subject_errors(subject: Mapping[str, Any], path: str, *, namespaced: bool) -> list[FieldError]:
    kind, name, group = (subject.get(key) or "" for key in ("kind", "name", "apiGroup"))
    errors = [] if name else [fields.required(f"{path}.name")]
    if kind not in _SUBJECT_KINDS:
        return [*errors, fields.unsupported(f"{path}.kind", kind, _SUBJECT_KINDS)]
    if kind == "ServiceAccount" and name:
        found = names.dns1123_subdomain(name)
        errors += [fields.wrong(f"{path}.name", name, text) for text in found]
    wanted = "" if kind == "ServiceAccount" else GROUP
    if group != wanted:
        errors.append(fields.unsupported(f"{path}.apiGroup", group, (wanted,)))
    if kind == "ServiceAccount" and not namespaced and not subject.get("namespace"):
        errors.append(fields.required(f"{path}.namespace"))
    return errors


def _name_errors(name: str, is_prefix: bool) -> list[str]:
    """Any name that fits between two slashes of a URL; a prefix is no exception."""
    if name in (".", ".."):
        return [f"may not be '{name}'"]
    return [f"may not contain '{character}'" for character in "/%" if character in name]


def _strategy(**behaviour: Any) -> Strategy:
    return Strategy(
        validate_name=_name_errors,
        has_generation=False,
        has_status=False,
        allow_create_on_update=True,
        **behaviour,
    )


STRATEGIES: dict[tuple[str, str], Strategy] = {
    (GROUP, "Role"): _strategy(
        validate_create=_validate_role,
        validate_update=_update_of_role,
    ),
    (GROUP, "ClusterRole"): _strategy(
        validate_create=_validate_cluster_role,
        validate_update=_validate_cluster_role_update,
    ),
    (GROUP, "RoleBinding"): _strategy(
        default=_default_binding,
        validate_create=_validate_role_binding,
        validate_update=_update_of_binding(_validate_role_binding),
    ),
    (GROUP, "ClusterRoleBinding"): _strategy(
        default=_default_binding,
        validate_create=_validate_cluster_role_binding,
        validate_update=_update_of_binding(_validate_cluster_role_binding),
    ),
}
