"""Checks the names that a CustomResourceDefinition gives to its resource."""

from collections.abc import Iterator, Mapping
from typing import Any

from fleetqueue.api import names
from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.field_errors import FieldError


def validate_names(given: Mapping[str, Any], path: str) -> Iterator[FieldError]:
    for name in ("plural", "singular"):
        yield from _label(given.get(name) or "", f"{path}.{name}")
    for name in ("kind", "listKind"):
        yield from _kind(given.get(name) or "", f"{path}.{name}")
    for index, short in enumerate(given.get("shortNames") or ()):
        yield from _label(short, f"{path}.shortNames[{index}]", is_needed=True)
    kind, list_kind = given.get("kind"), given.get("listKind")
    if kind and kind == list_kind:
        why = "kind and listKind may not be the same"
        yield fields.wrong(f"{path}.listKind", list_kind, why)
    for index, category in enumerate(given.get("categories") or ()):
        yield from _label(category, f"{path}.categories[{index}]", is_needed=True)


def _label(value: str, path: str, is_needed: bool = False) -> Iterator[FieldError]:
    problems = names.dns1035_label(value) if value or is_needed else []
    if problems:
        yield fields.wrong(path, value, ",".join(problems))


def _kind(value: str, path: str) -> Iterator[FieldError]:
    problems = names.dns1035_label(value.lower()) if value else []
    if problems:
        why = f"may have mixed case, but should otherwise match: {','.join(problems)}"
        yield fields.wrong(path, value, why)
