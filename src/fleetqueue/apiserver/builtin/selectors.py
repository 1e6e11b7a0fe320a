"""Rules for labels, annotations and label selectors, wherever a kind carries them."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from fleetqueue.api import names
from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin.checks import Errors, wrongs

ANNOTATION_BYTES_MAX = 256 * 1024

_WITH_VALUES = ("In", "NotIn")
_WITHOUT_VALUES = ("Exists", "DoesNotExist")


def validate_labels(labels: Mapping[str, str] | None, path: str) -> Errors:
    errors: Errors = []
    for key, value in (labels or {}).items():
        errors += validate_label_name(key, path)
        errors += wrongs(path, value, names.label_value(value))
    return errors


def validate_label_name(key: str, path: str) -> Errors:
    return wrongs(path, key, _key_problems(key))


@lru_cache(maxsize=4096)
def _key_problems(key: str) -> tuple[str, ...]:
    """Kept, because the same few keys come with every object."""
    return tuple(names.qualified_name(key))


def validate_annotations(annotations: Mapping[str, str] | None, path: str) -> Errors:
    errors: Errors = []
    size = 0
    for key, value in (annotations or {}).items():
        errors += wrongs(path, key, _key_problems(key.lower()))
        size += len(key.encode()) + len(value.encode())
    if size > ANNOTATION_BYTES_MAX:
        errors.append(fields.too_long(path, ANNOTATION_BYTES_MAX))
    return errors


def validate_label_selector(
    selector: Mapping[str, Any] | None, path: str, *, any_value: bool = False
) -> Errors:
    """`any_value` lets values pass that no label can have, where an older object has them."""
    if selector is None:
        return []
    errors = validate_labels(selector.get("matchLabels"), f"{path}.matchLabels")
    for index, requirement in enumerate(selector.get("matchExpressions") or ()):
        below = f"{path}.matchExpressions[{index}]"
        errors += _validate_requirement(requirement, below, any_value)
    return errors


def _validate_requirement(requirement: Mapping[str, Any], path: str, any_value: bool) -> Errors:
    values = requirement.get("values") or []
    errors = validate_operator(requirement.get("operator", ""), values, path)
    errors += validate_label_name(requirement.get("key", ""), f"{path}.key")
    if not any_value:
        errors += validate_label_values(values, f"{path}.values")
    return errors


def validate_operator(operator: str, values: list[str], path: str) -> Errors:
    if operator in _WITH_VALUES:
        why = "must be specified when `operator` is 'In' or 'NotIn'"
        return [] if values else [fields.required(f"{path}.values", why)]
    if operator in _WITHOUT_VALUES:
        why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        return [fields.forbidden(f"{path}.values", why)] if values else []
    return [fields.wrong(f"{path}.operator", operator, "not a valid selector operator")]


def validate_label_values(values: list[str], path: str) -> Errors:
    errors: Errors = []
    for index, value in enumerate(values):
        errors += wrongs(f"{path}[{index}]", value, names.label_value(value))
    return errors


def has_odd_values(selector: Mapping[str, Any] | None) -> bool:
    """The selector asks for values that no label can have."""
    return any(
        names.label_value(value)
        for requirement in (selector or {}).get("matchExpressions") or ()
        for value in requirement.get("values") or ()
    )


def shown(selector: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """A selector as a message prints it."""
    if selector is None:
        return None
    parts = {
        "matchLabels": shown_labels(selector.get("matchLabels")),
        "matchExpressions": [
            {"key": one.get("key", ""), "operator": one.get("operator", "")}
            | ({"values": one["values"]} if one.get("values") else {})
            for one in selector.get("matchExpressions") or ()
        ],
    }
    return {name: part for name, part in parts.items() if part}


def shown_labels(labels: Mapping[str, str] | None) -> dict[str, str] | None:
    """Labels as a message prints them, in the order of their keys."""
    return None if labels is None else dict(sorted(labels.items()))


def is_empty(selector: Mapping[str, Any]) -> bool:
    return not selector.get("matchLabels") and not selector.get("matchExpressions")


def is_understood(selector: Mapping[str, Any] | None) -> bool:
    """The selector can be evaluated: operators, keys and values make sense."""
    return not validate_label_selector(selector, "")


def selects(selector: Mapping[str, Any] | None, labels: Mapping[str, str] | None) -> bool:
    """A missing selector selects nothing, an empty one everything."""
    if selector is None:
        return False
    have = labels or {}
    wanted = (selector.get("matchLabels") or {}).items()
    return all(have.get(key) == value for key, value in wanted) and all(
        _meets(requirement, have) for requirement in selector.get("matchExpressions") or ()
    )


def _meets(requirement: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    key, values = requirement.get("key", ""), requirement.get("values") or ()
    match requirement.get("operator"):
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case _:
            return key not in labels
