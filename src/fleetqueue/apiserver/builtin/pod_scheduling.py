"""Rules for tolerations and scheduling gates, and for what may change while a pod waits."""

from collections.abc import Mapping, Sequence
from typing import Any

from fleetqueue.api import names
from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin.checks import Errors, same, wrongs
from fleetqueue.apiserver.builtin.internal_form import show_internal
from fleetqueue.apiserver.builtin.pod_affinity import REQUIRED
from fleetqueue.apiserver.builtin.selectors import shown_labels, validate_label_name

Object = Mapping[str, Any]

TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def validate_tolerations(tolerations: Sequence[Object], path: str) -> Errors:
    errors: Errors = []
    for index, toleration in enumerate(tolerations):
        below = f"{path}[{index}]"
        key, operator = toleration.get("key", ""), toleration.get("operator", "")
        effect = toleration.get("effect", "")
        if key:
            errors += validate_label_name(key, f"{below}.key")
        elif operator != "Exists":
            why = (
                "operator must be Exists when `key` is empty, "
                'which means "match all values and all keys"'
            )
            errors.append(fields.wrong(f"{below}.operator", operator, why))
        if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
            why = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            errors.append(fields.wrong(f"{below}.effect", effect, why))
        errors += _validate_value(operator, toleration.get("value", ""), f"{below}.operator")
        if effect and effect not in TAINT_EFFECTS:
            errors.append(fields.unsupported(f"{below}.effect", effect, TAINT_EFFECTS))
    return errors


def validate_gates(gates: Sequence[Object], path: str) -> Errors:
    errors: Errors = []
    seen: set[str] = set()
    for index, gate in enumerate(gates):
        name, below = gate.get("name", ""), f"{path}[{index}]"
        errors += wrongs(below, name, names.qualified_name(name))
        if name in seen:
            errors.append(fields.duplicate(below, name))
        seen.add(name)
    return errors


def validate_tolerations_only_added(
    new: Sequence[Object], old: Sequence[Object], path: str
) -> Errors:
    kept = [_without_seconds(toleration) for toleration in new]
    if any(_without_seconds(toleration) not in kept for toleration in old):
        why = "existing toleration can not be modified except its tolerationSeconds"
        return [fields.forbidden(path, why)]
    return validate_tolerations(new, path)


def validate_gates_only_removed(new: Sequence[Object], old: Sequence[Object], path: str) -> Errors:
    known = {gate.get("name", "") for gate in old}
    added = {gate.get("name", ""): index for index, gate in enumerate(new)}
    return [
        fields.forbidden(
            f"{path}[{index}].name",
            f"only deletion is allowed, but found new scheduling gate '{name}'",
        )
        for name, index in added.items()
        if name not in known
    ]


def validate_node_selector_grows(new: Object | None, old: Object, path: str) -> Errors:
    """While a pod is gated, its choice of nodes may only get narrower."""
    if all((new or {}).get(key) == value for key, value in old.items()):
        return []
    why = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
    return [fields.wrong(path, shown_labels(new), why)]


def validate_node_affinity_grows(new: Object | None, old: Object | None, path: str) -> Errors:
    if old is None or old.get(REQUIRED) is None:
        return []
    before = old[REQUIRED].get("nodeSelectorTerms") or []
    after = ((new or {}).get(REQUIRED) or {}).get("nodeSelectorTerms") or []
    below = f"{path}.{REQUIRED}.nodeSelectorTerms"
    if before and len(before) != len(after):
        why = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        shown = [show_internal("NodeSelectorTerm", term) for term in after]
        return [fields.wrong(below, shown or None, why)]
    why = "only additions are allowed (no mutations or deletions)"
    return [
        fields.wrong(f"{below}[{index}]", show_internal("NodeSelectorTerm", after[index]), why)
        for index, term in enumerate(before)
        if not _only_grew(after[index], term)
    ]


def _validate_value(operator: str, value: str, path: str) -> Errors:
    if operator in ("Equal", ""):
        problems = names.label_value(value)
        return [fields.wrong(path, value, ";".join(problems))] if problems else []
    if operator == "Exists":
        why = "value must be empty when `operator` is 'Exists'"
        return [fields.wrong(path, value, why)] if value else []
    return [fields.unsupported(path, operator, ("Equal", "Exists"))]


def _without_seconds(toleration: Object) -> dict[str, Any]:
    return {key: value for key, value in toleration.items() if key != "tolerationSeconds"}


def _only_grew(new: Object, old: Object) -> bool:
    kinds = ("matchExpressions", "matchFields")
    if not any(old.get(kind) for kind in kinds):
        return not any(new.get(kind) for kind in kinds)
    return all(
        same((new.get(kind) or [])[: len(old.get(kind) or [])], old.get(kind) or [])
        for kind in kinds
    )
