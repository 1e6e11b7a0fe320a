"""Ingresses and their classes."""

import re
from collections.abc import Mapping
from typing import Any

from fleetqueue.api import names
from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin.addresses import validate_address
from fleetqueue.apiserver.builtin.checks import Errors, immutable, one_of, wrongs
from fleetqueue.apiserver.builtin.making import kind, part, without_status
from fleetqueue.apiserver.strategy import Object, Strategy

GROUP = "networking.k8s.io"
CLASS_ANNOTATION = "kubernetes.io/ingress.class"
PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")
CONTROLLER_LENGTH_MAX = 250
NOT_ADDRESS = "must be a DNS name, not an IP address"
HTTP_PATH = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
_ODD_PARTS = ("//", "/./", "/../", "%2f", "%2F")
_ODD_ENDS = ("/..", "/.")


def validate_ingress(obj: Object, old: Object | None) -> Errors:
    spec, errors = part(obj, "spec"), []
    rules, backend = spec.get("rules") or [], spec.get("defaultBackend")
    if not rules and backend is None:
        why = "either `defaultBackend` or `rules` must be specified"
        errors.append(fields.wrong("spec", None, why))
    if backend is not None:
        errors += _validate_backend(backend, "spec.defaultBackend")
    for index, rule in enumerate(rules):
        errors += _validate_rule(rule, f"spec.rules[{index}]")
    for index, secured in enumerate(spec.get("tls") or ()):
        errors += _validate_tls(secured, f"spec.tls[{index}]")
    if (name := spec.get("ingressClassName")) is not None:
        errors += wrongs("spec.ingressClassName", name, names.dns1123_subdomain(name))
    return errors if old is not None else errors + _validate_class_annotation(obj)


def validate_ingress_status(obj: Object, old: Object) -> Errors:
    errors: Errors = []
    listed = part(obj, "status", "loadBalancer").get("ingress") or []
    for index, ingress in enumerate(listed):
        path = f"status.loadBalancer.ingress[{index}]"
        if address := ingress.get("ip"):
            errors += validate_address(address, f"{path}.ip")
        if host := ingress.get("hostname"):
            errors += wrongs(f"{path}.hostname", host, names.dns1123_subdomain(host))
            if names.parse_ip(host) is not None:
                errors.append(fields.wrong(f"{path}.hostname", host, NOT_ADDRESS))
    return errors


def _validate_class_annotation(obj: Object) -> Errors:
    name = part(obj, "spec").get("ingressClassName")
    annotated = (obj["metadata"].get("annotations") or {}).get(CLASS_ANNOTATION)
    if annotated is None or name is None or annotated == name:
        return []
    why = "must match `ingressClassName` when both are specified"
    return [fields.wrong(f"annotations.{CLASS_ANNOTATION}", annotated, why)]


def _validate_host(host: str, path: str) -> Errors:
    if "*" in host:
        return wrongs(path, host, names.wildcard_dns1123_subdomain(host))
    return wrongs(path, host, names.dns1123_subdomain(host))


def _validate_rule(rule: Mapping[str, Any], path: str) -> Errors:
    errors: Errors = []
    if host := rule.get("host"):
        if names.parse_ip(host) is not None:
            errors.append(fields.wrong(f"{path}.host", host, NOT_ADDRESS))
        errors += _validate_host(host, f"{path}.host")
    http = rule.get("http")
    if http is None:
        return errors
    paths = http.get("paths") or []
    if not paths:
        errors.append(fields.required(f"{path}.http.paths"))
    for index, item in enumerate(paths):
        errors += _validate_path(item, f"{path}.http.paths[{index}]")
    return errors


def _validate_path(item: Mapping[str, Any], path: str) -> Errors:
    of, where = item.get("pathType"), item.get("path") or ""
    if of is None:
        return [fields.required(f"{path}.pathType", "pathType must be specified")]
    errors: Errors = []
    if of in ("Exact", "Prefix"):
        found = [] if where.startswith("/") else ["must be an absolute path"]
        found += [f"must not contain '{odd}'" for odd in _ODD_PARTS if odd in where]
        found += [f"cannot end with '{odd}'" for odd in _ODD_ENDS if where.endswith(odd)]
        errors += wrongs(f"{path}.path", where, found)
    elif of == "ImplementationSpecific":
        if where and not where.startswith("/"):
            errors.append(fields.wrong(f"{path}.path", where, "must be an absolute path"))
    else:
        errors.append(fields.unsupported(f"{path}.pathType", of, PATH_TYPES))
    return errors + _validate_backend(item.get("backend") or {}, f"{path}.backend")


def _validate_backend(backend: Mapping[str, Any], path: str) -> Errors:
    resource, service = backend.get("resource"), backend.get("service")
    if resource is not None and service is not None:
        return [fields.wrong(path, "", "cannot set both resource and service backends")]
    if resource is not None:
        return _validate_reference(resource, f"{path}.resource")
    if service is None:
        return [fields.wrong(path, "", "resource or service backend is required")]
    name, errors = service.get("name", ""), []
    if name:
        errors += wrongs(f"{path}.service.name", name, names.dns1035_label(name))
    else:
        errors.append(fields.required(f"{path}.service.name"))
    port = part(service, "port")
    name, number = port.get("name"), port.get("number")
    if name and number:
        errors.append(fields.wrong(path, "", "cannot set both port name & port number"))
    elif name:
        errors += wrongs(f"{path}.service.port.name", name, names.port_name(name))
    elif number:
        errors += wrongs(f"{path}.service.port.number", number, names.port_number(number))
    else:
        errors.append(fields.required(path, "port name or number is required"))
    return errors


def _validate_tls(secured: Mapping[str, Any], path: str) -> Errors:
    errors: Errors = []
    for index, host in enumerate(secured.get("hosts") or ()):
        errors += _validate_host(host, f"{path}.hosts[{index}]")
    if name := secured.get("secretName"):
        errors += wrongs(f"{path}.secretName", name, names.dns1123_subdomain(name))
    return errors


def default_class(obj: Object) -> None:
    parameters = part(obj, "spec").get("parameters")
    if parameters is not None and parameters.get("scope") is None:
        parameters["scope"] = "Cluster"


def validate_class(obj: Object, old: Object | None) -> Errors:
    spec, errors = part(obj, "spec"), []
    controller, path = spec.get("controller", ""), "spec.controller"
    if old is not None:
        errors += immutable(controller, part(old, "spec").get("controller", ""), path)
    if len(controller) > CONTROLLER_LENGTH_MAX:
        errors.append(fields.too_long(path, CONTROLLER_LENGTH_MAX))
    errors += _validate_domain_path(controller, path)
    parameters = spec.get("parameters")
    if parameters is None:
        return errors
    return errors + _validate_parameters(parameters, "spec.parameters")


def _validate_domain_path(value: str, path: str) -> Errors:
    if not value:
        return [fields.required(path)]
    host, _, rest = value.partition("/")
    if not host or not rest:
        why = 'must be a domain-prefixed path (such as "acme.io/foo")'
        return [fields.wrong(path, value, why)]
    errors = wrongs(path, host, names.dns1123_subdomain(host))
    if not re.fullmatch(HTTP_PATH, rest):
        why = f"Invalid path (regex used for validation is '{HTTP_PATH}')"
        errors.append(fields.wrong(path, rest, why))
    return errors


def _validate_reference(reference: Mapping[str, Any], path: str) -> Errors:
    errors: Errors = []
    if (group := reference.get("apiGroup")) is not None:
        errors += wrongs(f"{path}.apiGroup", group, names.dns1123_subdomain(group))
    for name in ("kind", "name"):
        if value := reference.get(name):
            errors += wrongs(f"{path}.{name}", value, names.path_segment(value))
        else:
            errors.append(fields.required(f"{path}.{name}"))
    return errors


def _validate_parameters(parameters: Mapping[str, Any], path: str) -> Errors:
    errors = _validate_reference(parameters, path)
    scope, namespace = parameters.get("scope"), parameters.get("namespace")
    found = one_of(scope, ("Cluster", "Namespace"), f"{path}.scope")
    if found:
        return errors + found
    if scope == "Namespace":
        if namespace is None:
            why = "`parameters.scope` is set to 'Namespace'"
            errors.append(fields.required(f"{path}.namespace", why))
        else:
            errors += wrongs(f"{path}.namespace", namespace, names.dns1123_label(namespace))
    elif namespace is not None:
        why = "`parameters.scope` is set to 'Cluster'"
        errors.append(fields.forbidden(f"{path}.namespace", why))
    return errors


def _warn(obj: Object, old: Object | None) -> list[str]:
    annotations = obj["metadata"].get("annotations") or {}
    if old is None and CLASS_ANNOTATION in annotations:
        return [
            f'annotation "{CLASS_ANNOTATION}" is deprecated, please use '
            "'spec.ingressClassName' instead"
        ]
    return []


STRATEGIES: dict[tuple[str, str], Strategy] = {
    (GROUP, "Ingress"): kind(
        validate_ingress,
        prepare_create=without_status,
        validate_status=validate_ingress_status,
        warnings=_warn,
        has_generation=True,
    ),
    (GROUP, "IngressClass"): kind(
        validate_class, default=default_class, has_status=False, has_generation=True
    ),
}
