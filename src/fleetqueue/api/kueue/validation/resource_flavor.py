"""ResourceFlavor: its labels, taints and tolerations must be ones that nodes and pods can have."""

from collections.abc import Sequence
from typing import Any

from fleetqueue.api import names
from fleetqueue.api.field_errors import FieldError, duplicate, wrong
from fleetqueue.api.kueue.validation.common import (
    check_label_name,
    check_labels,
    check_tolerations,
)
from fleetqueue.api.kueue.validation.rules import Rules

Json = dict[str, Any]

_TAINT_FIELDS = ("key", "value", "effect", "timeAdded")


def validate_resource_flavor(obj: Json, old: Json | None, rules: Rules) -> list[FieldError]:
    spec: Json = obj.get("spec") or {}
    return [
        *check_labels(spec.get("nodeLabels") or {}, "spec.nodeLabels"),
        *_check_taints(spec.get("nodeTaints") or [], "spec.nodeTaints"),
        *check_tolerations(spec.get("tolerations") or [], "spec.tolerations"),
    ]


def _check_taints(taints: Sequence[Json], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(taints):
        at = f"{path}[{index}]"
        errors += check_label_name(taint["key"], f"{at}.key")
        value = taint.get("value", "")
        if messages := names.label_value(value):
            errors.append(wrong(f"{at}.value", value, ";".join(messages)))
        pair = taint["key"], taint["effect"]
        if pair in seen:
            shown = {name: taint[name] for name in _TAINT_FIELDS if name in taint}
            detail = "taints must be unique by key and effect pair"
            errors.append(duplicate(at, shown)._replace(detail=detail))
        seen.add(pair)
    return errors
