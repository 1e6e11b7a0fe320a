"""Rules for volumes made of the cluster's own data: secrets, config maps, the pod's own fields."""

from collections.abc import Mapping, Sequence
from typing import Any

from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin.checks import Errors
from fleetqueue.apiserver.builtin.file_paths import validate_not_reserved
from fleetqueue.apiserver.builtin.pod_environment import (
    validate_field_reference,
    validate_resource_reference,
)

Object = Mapping[str, Any]

MODE_MESSAGE = "must be a number between 0 and 0777 (octal), both inclusive"
TOKEN_SECONDS_MIN = 600
TOKEN_SECONDS_MAX = 2**32

_FIELDS = (
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
)


def validate_secret(source: Object, path: str) -> Errors:
    errors = [] if source.get("secretName") else [fields.required(f"{path}.secretName")]
    errors += _validate_mode(source.get("defaultMode"), f"{path}.defaultMode")
    return errors + _validate_items(source.get("items") or (), f"{path}.items")


def validate_config_map(source: Object, path: str) -> Errors:
    errors = [] if source.get("name") else [fields.required(f"{path}.name")]
    errors += _validate_mode(source.get("defaultMode"), f"{path}.defaultMode")
    return errors + _validate_items(source.get("items") or (), f"{path}.items")


def validate_downward(source: Object, path: str) -> Errors:
    errors = _validate_mode(source.get("defaultMode"), f"{path}.defaultMode")
    for item in source.get("items") or ():
        errors += _validate_downward_file(item, path)
    return errors


def validate_projected(source: Object, path: str) -> Errors:
    errors = _validate_mode(source.get("defaultMode"), f"{path}.defaultMode")
    taken: set[str] = set()
    for index, projection in enumerate(source.get("sources") or ()):
        below = f"{path}.sources[{index}]"
        kinds = [kind for kind, content in projection.items() if content is not None]
        for kind in ("secret", "configMap"):
            if kind in kinds:
                errors += _validate_named(projection[kind], f"{below}.{kind}", path, taken)
        if "downwardAPI" in kinds:
            errors += _validate_fields(projection["downwardAPI"], below, path, taken)
        if "serviceAccountToken" in kinds:
            errors += _validate_token(projection["serviceAccountToken"], below, path)
        if len(kinds) > 1:
            why = "may not specify more than 1 volume type per source"
            errors.append(fields.forbidden(below, why))
    return errors


def _validate_named(content: Object, path: str, volume_path: str, taken: set[str]) -> Errors:
    name = content.get("name", "")
    errors = [] if name else [fields.required(f"{path}.name")]
    for index, item in enumerate(content.get("items") or ()):
        errors += _validate_item(item, f"{path}.items[{index}]")
        errors += _take(item.get("path", ""), name, volume_path, taken)
    return errors


def _validate_fields(content: Object, path: str, volume_path: str, taken: set[str]) -> Errors:
    errors: Errors = []
    for item in content.get("items") or ():
        errors += _validate_downward_file(item, f"{path}.downwardAPI")
        target = item.get("path", "")
        errors += _take(target, target, volume_path, taken)
    return errors


def _validate_token(token: Object, path: str, volume_path: str) -> Errors:
    errors: Errors = []
    seconds = token.get("expirationSeconds") or 0
    below = f"{path}.serviceAccountToken.expirationSeconds"
    if seconds < TOKEN_SECONDS_MIN:
        why = "may not specify a duration less than 10 minutes"
        errors.append(fields.wrong(below, seconds, why))
    if seconds > TOKEN_SECONDS_MAX:
        why = "may not specify a duration larger than 2^32 seconds"
        errors.append(fields.wrong(below, seconds, why))
    if not token.get("path"):
        return [*errors, fields.required(f"{volume_path}.path")]
    return errors + validate_not_reserved(token["path"], f"{volume_path}.path")


def _take(target: str, blamed: str, path: str, taken: set[str]) -> Errors:
    if target and target in taken:
        return [fields.wrong(path, blamed, "conflicting duplicate paths")]
    taken.add(target)
    return []


def _validate_items(items: Sequence[Object], path: str) -> Errors:
    return [
        error
        for index, item in enumerate(items)
        for error in _validate_item(item, f"{path}[{index}]")
    ]


def _validate_item(item: Object, path: str) -> Errors:
    errors = [fields.required(f"{path}.{key}") for key in ("key", "path") if not item.get(key)]
    errors += validate_not_reserved(item.get("path", ""), f"{path}.path")
    return errors + _validate_mode(item.get("mode"), f"{path}.mode")


def _validate_downward_file(item: Object, path: str) -> Errors:
    errors = [] if item.get("path") else [fields.required(f"{path}.path")]
    errors += validate_not_reserved(item.get("path", ""), f"{path}.path")
    reference, resource = item.get("fieldRef"), item.get("resourceFieldRef")
    if reference is not None:
        errors += validate_field_reference(reference, _FIELDS, f"{path}.fieldRef")
        if resource is not None:
            why = "fieldRef and resourceFieldRef can not be specified simultaneously"
            errors.append(fields.wrong(path, "resource", why))
    elif resource is not None:
        below = f"{path}.resourceFieldRef"
        errors += validate_resource_reference(resource, below, needs_container=True)
    else:
        errors.append(fields.required(path, "one of fieldRef and resourceFieldRef is required"))
    return errors + _validate_mode(item.get("mode"), f"{path}.mode")


def _validate_mode(mode: int | None, path: str) -> Errors:
    if mode is None or 0 <= mode <= 0o777:
        return []
    return [fields.wrong(path, mode, MODE_MESSAGE)]
