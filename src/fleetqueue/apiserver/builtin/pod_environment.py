"""Rules for environment variables of containers and the fields of a pod they may read."""

from collections.abc import Mapping, Sequence
from typing import Any

from fleetqueue.api import names, quantity
from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin.checks import Errors, wrongs
from fleetqueue.apiserver.builtin.file_paths import validate_no_backsteps

Object = Mapping[str, Any]

_FIELDS = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
_READABLE = frozenset(_FIELDS) | {
    "metadata.annotations",
    "metadata.labels",
    "spec.restartPolicy",
    "spec.schedulerName",
    "status.phase",
}
_RESOURCES = (
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
)
_HUGE_PAGES = ("limits.hugepages-", "requests.hugepages-")
_BYTE_DIVISORS = ("1", *(f"1{unit}" for unit in "kMGTPE"), *(f"1{unit}i" for unit in "KMGTPE"))
_BYTES_LISTED = ", ".join(_BYTE_DIVISORS)
_DIVISORS = {
    "cpu": (("1m", "1"), "1m and 1", "cpu"),
    "memory": (_BYTE_DIVISORS, _BYTES_LISTED, "memory"),
    "ephemeral-storage": (_BYTE_DIVISORS, _BYTES_LISTED, "local ephemeral storage"),
    "hugepages": (_BYTE_DIVISORS, _BYTES_LISTED, "hugepages"),
}
_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_ONLY_ONE = "may not have more than one field specified at a time"


def validate_environment(variables: Sequence[Object], path: str) -> Errors:
    errors: Errors = []
    for index, variable in enumerate(variables):
        below = f"{path}[{index}]"
        name = variable.get("name", "")
        if not name:
            errors.append(fields.required(f"{below}.name"))
        else:
            errors += wrongs(f"{below}.name", name, names.relaxed_env_var_name(name))
        errors += _validate_source(variable, f"{below}.valueFrom")
    return errors


def validate_imports(sources: Sequence[Object], path: str) -> Errors:
    """`envFrom`: whole config maps and secrets."""
    errors: Errors = []
    for index, source in enumerate(sources):
        below = f"{path}[{index}]"
        if prefix := source.get("prefix"):
            errors += wrongs(f"{below}.prefix", prefix, names.relaxed_env_var_name(prefix))
        given = [kind for kind in ("configMapRef", "secretRef") if source.get(kind) is not None]
        for kind in given:
            errors += _validate_import(source[kind].get("name", ""), f"{below}.{kind}.name")
        if not given:
            why = "must specify one of: `configMapRef` or `secretRef`"
            errors.append(fields.wrong(path, "", why))
        elif len(given) > 1:
            errors.append(fields.wrong(path, "", _ONLY_ONE))
    return errors


def validate_field_reference(reference: Object, allowed: Sequence[str], path: str) -> Errors:
    version, label = reference.get("apiVersion", ""), reference.get("fieldPath", "")
    if not version:
        return [fields.required(f"{path}.apiVersion")]
    if not label:
        return [fields.required(f"{path}.fieldPath")]
    field, subscript = _split_subscript(label)
    if problem := _unreadable(version, label, field, subscript):
        why = f"error converting fieldPath: {problem}"
        return [fields.wrong(f"{path}.fieldPath", label, why)]
    field = "spec.nodeName" if field == "spec.host" else field
    if subscript is None:
        if field in allowed:
            return []
        return [fields.unsupported(f"{path}.fieldPath", field, allowed)]
    key = subscript.lower() if field == "metadata.annotations" else subscript
    return wrongs(path, key, names.qualified_name(key))


def validate_resource_reference(
    reference: Object, path: str, *, needs_container: bool = False
) -> Errors:
    resource = reference.get("resource", "")
    errors: Errors = []
    if needs_container and not reference.get("containerName"):
        errors.append(fields.required(f"{path}.containerName"))
    elif not resource:
        errors.append(fields.required(f"{path}.resource"))
    elif resource not in _RESOURCES and not resource.startswith(_HUGE_PAGES):
        errors.append(fields.unsupported(f"{path}.resource", resource, _RESOURCES))
    return errors + _validate_divisor(resource, reference.get("divisor"), path)


def _validate_source(variable: Object, path: str) -> Errors:
    source = variable.get("valueFrom")
    if source is None:
        return []
    given = [kind for kind in _SOURCES if source.get(kind) is not None]
    errors: Errors = []
    for kind in given:
        errors += _validate_one(kind, source[kind], f"{path}.{kind}")
    if not given:
        why = (
            "must specify one of: "
            "`fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`"
        )
        errors.append(fields.wrong(path, "", why))
    elif variable.get("value"):
        errors.append(fields.wrong(path, "", "may not be specified when `value` is not empty"))
    elif len(given) > 1:
        errors.append(fields.wrong(path, "", _ONLY_ONE))
    return errors


def _validate_one(kind: str, reference: Object, path: str) -> Errors:
    match kind:
        case "fieldRef":
            return validate_field_reference(reference, _FIELDS, path)
        case "resourceFieldRef":
            return validate_resource_reference(reference, path)
        case "fileKeyRef":
            return _validate_file_key(reference, path)
        case _:
            return _validate_key(reference, path)


def _validate_key(reference: Object, path: str) -> Errors:
    name, key = reference.get("name", ""), reference.get("key", "")
    errors = wrongs(f"{path}.name", name, names.dns1123_subdomain(name))
    if not key:
        return [*errors, fields.required(f"{path}.key")]
    return errors + wrongs(f"{path}.key", key, names.config_map_key(key))


def _validate_file_key(reference: Object, path: str) -> Errors:
    checks = {
        "key": lambda value, below: wrongs(below, value, names.relaxed_env_var_name(value)),
        "volumeName": lambda value, below: wrongs(below, value, names.dns1123_label(value)),
        "path": validate_no_backsteps,
    }
    errors: Errors = []
    for name, check in checks.items():
        value = reference.get(name, "")
        below = f"{path}.{name}"
        errors += check(value, below) if value else [fields.required(below)]
    return errors


def _validate_import(name: str, path: str) -> Errors:
    if not name:
        return [fields.required(path)]
    # Upstream checks it as a prefix of a name, so a dash at the end passes.
    shown = f"{name[:-2]}a" if len(name) > 1 and name.endswith("-") else name
    return wrongs(path, name, names.dns1123_subdomain(shown))


def _validate_divisor(resource: str, divisor: str | None, path: str) -> Errors:
    if divisor is None or quantity.parse(divisor).is_zero():
        return []
    kind = "hugepages" if resource.startswith(_HUGE_PAGES) else resource.partition(".")[2]
    if kind not in _DIVISORS:
        return []
    allowed, listed, called = _DIVISORS[kind]
    if str(quantity.parse(divisor)) in allowed:
        return []
    why = f"only divisor's values {listed} are supported with the {called} resource"
    return [fields.wrong(f"{path}.divisor", resource, why)]


def _split_subscript(label: str) -> tuple[str, str | None]:
    """`metadata.labels['app']` is the field and the key in it."""
    if label.endswith("']"):
        field, bracket, key = label.removesuffix("']").partition("['")
        if field and bracket:
            return field, key
    return label, None


def _unreadable(version: str, label: str, field: str, subscript: str | None) -> str:
    if version != "v1":
        return f"unsupported pod version: {version}"
    if subscript is not None:
        if field in ("metadata.annotations", "metadata.labels"):
            return ""
        return f"field label does not support subscript: {label}"
    known = field in _READABLE or field == "spec.host"
    return "" if known else f"field label not supported: {label}"
