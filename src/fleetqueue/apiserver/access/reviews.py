"""Answers the review kinds of authorization.k8s.io: may this subject do that, and what may I do."""

from collections.abc import Callable, Mapping
from typing import Any

from fleetqueue.api import selectors
from fleetqueue.api.field_errors import aggregate
from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver import problems
from fleetqueue.apiserver.access.attributes import Attributes, Decision
from fleetqueue.apiserver.access.rbac import Rbac
from fleetqueue.apiserver.access.users import User, from_spec
from fleetqueue.apiserver.builtin import selectors as selector_rules
from fleetqueue.apiserver.field_errors import FieldError

Object = dict[str, Any]
Authorize = Callable[[Attributes], Decision]

GROUP = "authorization.k8s.io"

_SELECTOR_LENGTH_MAX = 64 * 1024
"""As much as a URL may hold."""
_RESOURCE = "spec.resourceAttributes"
_OPERATORS = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}


def subject_access_review(obj: Object, authorize: Authorize) -> Object:
    spec = obj.get("spec") or {}
    _refuse(_subject_errors(spec) + _metadata_errors(obj, "must be empty", ()))
    return _answered(obj, spec, from_spec(spec), authorize)


def local_subject_access_review(obj: Object, namespace: str, authorize: Authorize) -> Object:
    """`namespace` is that of the URL, which the object has taken over where it named none."""
    spec, own = obj.get("spec") or {}, (obj.get("metadata") or {}).get("namespace") or ""
    errors = _subject_errors(spec)
    errors += _metadata_errors(obj, "must be empty except for namespace", ("namespace",))
    errors += _local_errors(spec, own)
    _refuse(errors)
    if namespace != own:
        message = f"spec.resourceAttributes.namespace must match namespace: {namespace}"
        raise problems.bad_request(message)
    return _answered(obj, spec, from_spec(spec), authorize)


def self_subject_access_review(obj: Object, user: User, authorize: Authorize) -> Object:
    spec = obj.get("spec") or {}
    errors = _one_kind_errors(spec) + _selector_errors(spec)
    _refuse(errors + _metadata_errors(obj, "must be empty", ()))
    return _answered(obj, spec, user, authorize)


def self_subject_rules_review(obj: Object, user: User, rbac: Rbac) -> Object:
    namespace = (obj.get("spec") or {}).get("namespace")
    if not namespace:
        raise problems.bad_request("no namespace on request")
    rules, missing = rbac.rules_for(user, namespace)
    encoded = [rule.encode() for rule in rules]
    status: Object = {
        "resourceRules": [_part(rule, _RESOURCE_KEYS) for rule in encoded if "resources" in rule],
        "nonResourceRules": [_part(rule, _URL_KEYS) for rule in encoded if _URLS in rule],
        "incomplete": False,
    }
    if missing:
        status["evaluationError"] = aggregate(missing)
    head = {"kind": "SelfSubjectRulesReview", "apiVersion": f"{GROUP}/v1"}
    return {**head, "metadata": {}, "spec": {}, "status": status}


_URLS = "nonResourceURLs"
_RESOURCE_KEYS = ("verbs", "apiGroups", "resources", "resourceNames")
_URL_KEYS = ("verbs", _URLS)


def review_attributes(spec: Mapping[str, Any], user: User) -> Attributes:
    """What a review asks about, as a request would be seen."""
    asked = spec.get("resourceAttributes")
    if asked is None:
        path = spec.get("nonResourceAttributes") or {}
        verb, where = path.get("verb") or "", path.get("path") or ""
        return Attributes(user, verb, path=where, is_resource_request=False)
    return Attributes(
        user,
        asked.get("verb") or "",
        asked.get("group") or "",
        asked.get("version") or "*",
        asked.get("resource") or "",
        asked.get("subresource") or "",
        asked.get("namespace") or "",
        asked.get("name") or "",
    )


def _answered(obj: Object, spec: Mapping[str, Any], user: User, authorize: Authorize) -> Object:
    decision = authorize(review_attributes(spec, user))
    status: Object = {"allowed": decision.allowed}
    if decision.reason:
        status["reason"] = decision.reason
    ignored = "; ".join(_ignored_selectors(spec.get("resourceAttributes") or {}))
    if ignored:
        status["evaluationError"] = ignored
    return {**obj, "status": status}


def _ignored_selectors(asked: Mapping[str, Any]) -> list[str]:
    """Selectors that do not parse are left out of the question, and the answer says so."""
    texts = []
    for key, parse, one in (
        ("fieldSelector", selectors.parse_fields, _field_requirement_parses),
        ("labelSelector", selectors.parse_labels, _label_requirement_parses),
    ):
        selector = asked.get(key) or {}
        parsed = [one(item) for item in selector.get("requirements") or ()]
        raw = selector.get("rawSelector")
        if raw and not parsed:
            parsed = [_parses(parse, raw)]
        if not all(parsed):
            how = "partially ignored" if any(parsed) else "ignored"
            texts.append(f"{_RESOURCE}.{key} {how} due to parse error")
    return texts


def _parses(parse: Callable[[str], object], text: str) -> bool:
    if len(text) > _SELECTOR_LENGTH_MAX:
        return False
    try:
        parse(text)
    except selectors.SelectorError:
        return False
    return True


def _field_requirement_parses(item: Mapping[str, Any]) -> bool:
    return item.get("operator") in ("In", "NotIn") and len(item.get("values") or ()) == 1


def _label_requirement_parses(item: Mapping[str, Any]) -> bool:
    operator = _OPERATORS.get(item.get("operator") or "")
    if operator is None:
        return False
    try:
        selectors.new_requirement(item.get("key") or "", operator, item.get("values") or [])
    except selectors.SelectorError:
        return False
    return True


def _refuse(errors: list[FieldError]) -> None:
    # kube-apiserver leaves the kind out of these refusals.
    if errors:
        raise problems.invalid(GROUP, "", "", errors)


def _subject_errors(spec: Mapping[str, Any]) -> list[FieldError]:
    errors = _one_kind_errors(spec)
    if not spec.get("user") and not spec.get("groups"):
        text = "at least one of user or group must be specified"
        errors.append(fields.wrong("spec.user", "", text))
    return errors + _selector_errors(spec)


def _one_kind_errors(spec: Mapping[str, Any]) -> list[FieldError]:
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and path is not None:
        text = "cannot be specified in combination with resourceAttributes"
        return [fields.wrong("spec.nonResourceAttributes", _shown(path), text)]
    if resource is None and path is None:
        text = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        return [fields.wrong(_RESOURCE, None, text)]
    return []


def _local_errors(spec: Mapping[str, Any], namespace: str) -> list[FieldError]:
    errors = []
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and (resource.get("namespace") or "") != namespace:
        text, asked = "must match metadata.namespace", resource.get("namespace") or ""
        errors.append(fields.wrong(f"{_RESOURCE}.namespace", asked, text))
    if path is not None:
        text = "disallowed on this kind of request"
        errors.append(fields.wrong("spec.nonResourceAttributes", _shown(path), text))
    return errors


def _selector_errors(spec: Mapping[str, Any]) -> list[FieldError]:
    errors: list[FieldError] = []
    asked = spec.get("resourceAttributes") or {}
    for key, check in (("fieldSelector", _field_errors), ("labelSelector", _label_errors)):
        selector, path = asked.get(key), f"{_RESOURCE}.{key}"
        if selector is None:
            continue
        raw, requirements = selector.get("rawSelector"), selector.get("requirements") or ()
        if raw and requirements:
            text = "may not specified at the same time as requirements"
            errors.append(fields.wrong(f"{path}.rawSelector", raw, text))
        if not raw and not requirements:
            text = f"when {path} is specified, requirements or rawSelector is required"
            errors.append(fields.required(f"{path}.requirements", text))
        for index, item in enumerate(requirements):
            errors += check(item, f"{path}.requirements[{index}]")
    return errors


def _field_errors(item: Mapping[str, Any], path: str) -> list[FieldError]:
    errors = [] if item.get("key") else [fields.required(f"{path}.key", "must be specified")]
    return errors + _operator_errors(item, path)


def _label_errors(item: Mapping[str, Any], path: str) -> list[FieldError]:
    errors = _operator_errors(item, path)
    errors += selector_rules.validate_label_name(item.get("key") or "", f"{path}.key")
    return errors + selector_rules.validate_label_values(item.get("values") or [], f"{path}.values")


def _operator_errors(item: Mapping[str, Any], path: str) -> list[FieldError]:
    """A newer client may know operators that this server does not; they are left to evaluation."""
    operator = item.get("operator") or ""
    if operator not in _OPERATORS:
        return []
    return selector_rules.validate_operator(operator, item.get("values") or [], path)


def _metadata_errors(obj: Object, text: str, allowed: tuple[str, ...]) -> list[FieldError]:
    metadata = obj.get("metadata") or {}
    if not any(value for key, value in metadata.items() if key not in ("managedFields", *allowed)):
        return []
    return [fields.wrong("metadata", metadata, text)]


def _shown(path: Mapping[str, Any]) -> dict[str, str]:
    """The internal type has no JSON names, so its Go names reach the message."""
    return {"Path": path.get("path") or "", "Verb": path.get("verb") or ""}


def _part(rule: Object, keys: tuple[str, ...]) -> Object:
    return {key: rule[key] for key in keys if key in rule}
