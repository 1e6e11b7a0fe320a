"""Checks that several kinds share: quantities, labels, annotations, tolerations."""

from collections.abc import Iterable, Mapping
from typing import Any

from fleetqueue.api import names
from fleetqueue.api.field_errors import FieldError, too_long, wrong
from fleetqueue.api.quantity import Quantity

Json = dict[str, Any]

NEGATIVE = "must be greater than or equal to 0"
IMMUTABLE = "field is immutable"
BYTES_MAX = 256 * 1024
"""Of all annotations together."""


def check_not_negative(value: Any, path: str) -> list[FieldError]:
    quantity = Quantity.of(value)
    return [wrong(path, str(quantity), NEGATIVE)] if quantity.sign() < 0 else []


def check_label_name(name: str, path: str) -> list[FieldError]:
    return [wrong(path, name, message) for message in names.qualified_name(name)]


def check_labels(labels: Mapping[str, str], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for key, value in sorted(labels.items()):
        errors += check_label_name(key, path)
        errors += [wrong(path, value, message) for message in names.label_value(value)]
    return errors


def check_annotations(annotations: Mapping[str, str], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for key in sorted(annotations):
        errors += [wrong(path, key, message) for message in names.annotation_key(key)]
    pairs = annotations.items()
    if sum(names.byte_length(key) + names.byte_length(value) for key, value in pairs) > BYTES_MAX:
        errors.append(too_long(path, BYTES_MAX))
    return errors


def check_tolerations(tolerations: Iterable[Json], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, toleration in enumerate(tolerations):
        if key := toleration.get("key"):
            errors += check_label_name(key, f"{path}[{index}].key")
    return errors


def check_immutable(new: Any, old: Any, path: str, shown: Any = None) -> list[FieldError]:
    """Both compared as JSON; `shown` is the value to print where that is not the new one."""
    return [] if new == old else [wrong(path, new if shown is None else shown, IMMUTABLE)]
