"""FlowSchemas and PriorityLevelConfigurations: checked and stored, though all are served alike."""

from collections.abc import Mapping
from typing import Any

from fleetqueue.api import names
from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin.checks import Errors, between, wrongs
from fleetqueue.apiserver.builtin.making import STATUS_ALONE, kind, part, without_status
from fleetqueue.apiserver.strategy import Object, Strategy

GROUP = "flowcontrol.apiserver.k8s.io"
PRECEDENCE = 1000
PRECEDENCE_MAX = 10000
VERBS = frozenset(
    {"get", "list", "create", "update", "delete", "deletecollection", "patch", "watch", "proxy"}
)
KINDS = ("Group", "ServiceAccount", "User")
QUEUING = {"handSize": 8, "queues": 64, "queueLengthLimit": 50}
QUEUES_MAX = 10_000_000


def default_schema(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    if not spec.get("matchingPrecedence"):
        spec["matchingPrecedence"] = PRECEDENCE


def validate_schema(obj: Object, old: Object | None) -> Errors:
    spec = part(obj, "spec")
    errors = _validate_precedence(
        obj["metadata"].get("name", ""), spec.get("matchingPrecedence", 0)
    )
    method = spec.get("distinguisherMethod")
    if method is not None and method.get("type") not in ("ByNamespace", "ByUser"):
        path, shown = "spec.distinguisherMethod.type", {"Type": method.get("type", "")}
        errors.append(fields.unsupported(path, shown, ("ByNamespace", "ByUser")))
    level, path = (
        part(spec, "priorityLevelConfiguration").get("name"),
        "spec.priorityLevelConfiguration.name",
    )
    if level:
        errors += wrongs(path, level, names.dns1123_subdomain(level))
    else:
        errors.append(fields.required(path, "must reference a priority level"))
    for index, rule in enumerate(spec.get("rules") or ()):
        errors += _validate_rules(rule, f"spec.rules[{index}]")
    return errors


def _validate_precedence(name: str, value: int) -> Errors:
    path, found = "spec.matchingPrecedence", []
    if value <= 0:
        found.append("must be a positive value")
    if value > PRECEDENCE_MAX:
        found.append(f"must not be greater than {PRECEDENCE_MAX}")
    if value == 1 and name != "exempt":
        found.append("only the schema named 'exempt' may have matchingPrecedence 1")
    return wrongs(path, value, found)


def _validate_rules(rule: Mapping[str, Any], path: str) -> Errors:
    errors: Errors = []
    subjects = rule.get("subjects") or []
    if not subjects:
        why = "subjects must contain at least one value"
        errors.append(fields.required(f"{path}.subjects", why))
    for index, subject in enumerate(subjects):
        errors += _validate_subject(subject, f"{path}.subjects[{index}]")
    resources, urls = rule.get("resourceRules") or [], rule.get("nonResourceRules") or []
    if not resources and not urls:
        why = "at least one of resourceRules and nonResourceRules has to be non-empty"
        errors.append(fields.required(path, why))
    for index, item in enumerate(resources):
        errors += _validate_resource_rule(item, f"{path}.resourceRules[{index}]")
    for index, item in enumerate(urls):
        at = f"{path}.nonResourceRules[{index}]"
        errors += _validate_verbs(item.get("verbs") or [], f"{at}.verbs")
        why = "nonResourceURLs must contain at least one value"
        listed = item.get("nonResourceURLs") or []
        errors += _validate_listed(listed, f"{at}.nonResourceURLs", why, "non-resource URLs")
    return errors


def _validate_subject(subject: Mapping[str, Any], path: str) -> Errors:
    of = subject.get("kind", "")
    if of not in KINDS:
        return [fields.unsupported(f"{path}.kind", of, KINDS)]
    errors: Errors = []
    for kind_name in ("ServiceAccount", "User", "Group"):
        name = kind_name[0].lower() + kind_name[1:]
        content = subject.get(name)
        if kind_name == of:
            errors += _validate_named(content, kind_name, f"{path}.{name}")
        elif content is not None:
            why = f"{name} is forbidden when subject kind is not '{kind_name}'"
            errors.append(fields.forbidden(f"{path}.{name}", why))
    return errors


def _validate_named(content: Mapping[str, Any] | None, of: str, path: str) -> Errors:
    name = path.rpartition(".")[2]
    if content is None:
        return [fields.required(path, f"{name} is required when subject kind is '{of}'")]
    errors: Errors = []
    if not content.get("name"):
        errors.append(fields.required(f"{path}.name"))
    if of == "ServiceAccount":
        account, namespace = content.get("name") or "*", content.get("namespace")
        if account != "*":
            errors += wrongs(f"{path}.name", account, names.dns1123_subdomain(account))
        if namespace:
            errors += wrongs(f"{path}.namespace", namespace, names.dns1123_label(namespace))
        else:
            why = "must specify namespace for service account"
            errors.append(fields.required(f"{path}.namespace", why))
    return errors


def _validate_verbs(verbs: list[str], path: str) -> Errors:
    errors = _validate_listed(verbs, path, "verbs must contain at least one value", "verbs")
    if not errors and "*" not in verbs and not set(verbs) <= VERBS:
        errors.append(fields.unsupported(path, verbs, sorted(VERBS)))
    return errors


def _validate_listed(values: list[str], path: str, why: str, what: str) -> Errors:
    if not values:
        return [fields.required(path, why)]
    if len(values) > 1 and "*" in values:
        return [fields.wrong(path, values, f"if '*' is present, must not specify other {what}")]
    return []


def _validate_resource_rule(rule: Mapping[str, Any], path: str) -> Errors:
    errors = _validate_verbs(rule.get("verbs") or [], f"{path}.verbs")
    why = "resource rules must supply at least one api group"
    errors += _validate_listed(rule.get("apiGroups") or [], f"{path}.apiGroups", why, "api groups")
    why = "resource rules must supply at least one resource"
    errors += _validate_listed(rule.get("resources") or [], f"{path}.resources", why, "resources")
    namespaces, at = rule.get("namespaces") or [], f"{path}.namespaces"
    if not namespaces and not rule.get("clusterScope"):
        why = "resource rules that are not cluster scoped must supply at least one namespace"
        errors.append(fields.required(at, why))
    elif "*" in namespaces and len(namespaces) > 1:
        why = "if '*' is present, must not specify other namespaces"
        errors.append(fields.wrong(at, namespaces, why))
    elif "*" not in namespaces:
        for index, namespace in enumerate(namespaces):
            for message in names.dns1123_label(namespace):
                why = f"each member of this list must be '*' or a DNS-1123 label; {message}"
                errors.append(fields.wrong(f"{at}[{index}]", namespace, why))
    return errors


def default_level(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    for name, shares in (("exempt", 0), ("limited", 30)):
        content = spec.get(name)
        if content is not None:
            for key, value in (("nominalConcurrencyShares", shares), ("lendablePercent", 0)):
                if content.get(key) is None:
                    content[key] = value
    queuing = part(spec, "limited", "limitResponse").get("queuing")
    if queuing is not None:
        for name, value in QUEUING.items():
            queuing[name] = queuing.get(name) or value


def validate_level(obj: Object, old: Object | None) -> Errors:
    spec, errors = part(obj, "spec"), []
    of, name = spec.get("type", ""), obj["metadata"].get("name", "")
    limited, exempt = spec.get("limited"), spec.get("exempt")
    if (name == "exempt") != (of == "Exempt"):
        why = "must be 'Exempt' if and only if `name` is 'exempt'"
        errors.append(fields.wrong("spec.type", of, why))
    if of == "Exempt":
        if limited is not None:
            why = "must be nil if the type is not Limited"
            errors.append(fields.forbidden("spec.limited", why))
        errors += _validate_nominal(exempt or {}, "spec.exempt")
        errors += _validate_lendable(exempt or {}, "spec.exempt")
    elif of == "Limited":
        if exempt is not None:
            errors.append(fields.forbidden("spec.exempt", "must be nil if the type is Limited"))
        if limited is None:
            why = "must not be empty when type is Limited"
            errors.append(fields.required("spec.limited", why))
        else:
            errors += _validate_limited(limited, "spec.limited")
    else:
        errors.append(fields.unsupported("spec.type", of, ("Exempt", "Limited")))
    return errors


def _validate_nominal(content: Mapping[str, Any], path: str) -> Errors:
    shares, at = content.get("nominalConcurrencyShares") or 0, f"{path}.nominalConcurrencyShares"
    return [] if shares >= 0 else [fields.wrong(at, shares, "must be a non-negative integer")]


def _validate_lendable(content: Mapping[str, Any], path: str) -> Errors:
    return between(content.get("lendablePercent"), 0, 100, f"{path}.lendablePercent")


def _validate_limited(limited: Mapping[str, Any], path: str) -> Errors:
    errors = _validate_nominal(limited, path) + _validate_response(limited, path)
    errors += _validate_lendable(limited, path)
    borrowing = limited.get("borrowingLimitPercent")
    if borrowing is not None and borrowing < 0:
        why = "if specified, must be a non-negative integer"
        errors.append(fields.wrong(f"{path}.borrowingLimitPercent", borrowing, why))
    return errors


def _validate_response(limited: Mapping[str, Any], path: str) -> Errors:
    errors: Errors = []
    response, at = part(limited, "limitResponse"), f"{path}.limitResponse"
    of, queuing = response.get("type", ""), response.get("queuing")
    if of == "Reject":
        if queuing is not None:
            why = "must be nil if limited.limitResponse.type is not Limited"
            errors.append(fields.forbidden(f"{at}.queuing", why))
    elif of == "Queue":
        if queuing is None:
            why = "must not be empty if limited.limitResponse.type is Limited"
            errors.append(fields.required(f"{at}.queuing", why))
        else:
            errors += _validate_queuing(queuing, f"{at}.queuing")
    else:
        errors.append(fields.unsupported(f"{at}.type", of, ("Queue", "Reject")))
    return errors


def _validate_queuing(queuing: Mapping[str, Any], path: str) -> Errors:
    errors: Errors = []
    length, queues, hand = (queuing.get(n, 0) for n in ("queueLengthLimit", "queues", "handSize"))
    if length <= 0:
        errors.append(fields.wrong(f"{path}.queueLengthLimit", length, "must be positive"))
    if queues <= 0:
        errors.append(fields.wrong(f"{path}.queues", queues, "must be positive"))
    elif queues > QUEUES_MAX:
        why = f"must not be greater than {QUEUES_MAX}"
        errors.append(fields.wrong(f"{path}.queues", queues, why))
    if hand <= 0:
        errors.append(fields.wrong(f"{path}.handSize", hand, "must be positive"))
    elif hand > queues:
        why = f"should not be greater than queues ({queues})"
        errors.append(fields.wrong(f"{path}.handSize", hand, why))
    return errors


_FACTS: dict[str, Any] = {
    "prepare_create": without_status,
    "has_generation": True,
    **STATUS_ALONE,
}

STRATEGIES: dict[tuple[str, str], Strategy] = {
    (GROUP, "FlowSchema"): kind(validate_schema, default=default_schema, **_FACTS),
    (GROUP, "PriorityLevelConfiguration"): kind(validate_level, default=default_level, **_FACTS),
}
