"""PodDisruptionBudgets."""

from collections.abc import Mapping
from typing import Any

from fleetqueue.api import names
from fleetqueue.apiserver import field_errors as fields
from fleetqueue.apiserver.builtin.checks import Errors, nonnegative, one_of
from fleetqueue.apiserver.builtin.making import kind, part, without_status
from fleetqueue.apiserver.builtin.selectors import (
    has_odd_values,
    validate_label_selector,
)
from fleetqueue.apiserver.strategy import Object, Strategy


def validate_budget(obj: Object, old: Object | None) -> Errors:
    spec, errors = part(obj, "spec"), []
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    if least is not None and most is not None:
        why = "minAvailable and maxUnavailable cannot be both set"
        errors.append(fields.wrong("spec", _shown(spec), why))
    for name, value in (("minAvailable", least), ("maxUnavailable", most)):
        if value is not None:
            errors += validate_share(value, f"spec.{name}")
    any_value = old is not None and has_odd_values(part(old, "spec").get("selector"))
    errors += validate_label_selector(spec.get("selector"), "spec.selector", any_value=any_value)
    policy = spec.get("unhealthyPodEvictionPolicy")
    path = "spec.unhealthyPodEvictionPolicy"
    return errors + one_of(policy, ("AlwaysAllow", "IfHealthyBudget"), path)


def validate_share(value: int | str, path: str) -> Errors:
    """A count, or a percentage of at most all."""
    if isinstance(value, int):
        return nonnegative(value, path)
    if found := names.percent(value):
        return [fields.wrong(path, value, message) for message in found]
    if int(value[:-1]) > 100:
        return [fields.wrong(path, value, "must not be greater than 100%")]
    return []


def validate_budget_status(obj: Object, old: Object) -> Errors:
    status, errors = part(obj, "status"), []
    for name in ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"):
        errors += nonnegative(status.get(name), f"status.{name}")
    return errors


def _shown(spec: Mapping[str, Any]) -> Object:
    """In the words of the server's inner form."""
    return {
        "MinAvailable": spec.get("minAvailable"),
        "Selector": spec.get("selector"),
        "MaxUnavailable": spec.get("maxUnavailable"),
        "UnhealthyPodEvictionPolicy": spec.get("unhealthyPodEvictionPolicy"),
    }


STRATEGIES: dict[tuple[str, str], Strategy] = {
    ("policy", "PodDisruptionBudget"): kind(
        validate_budget,
        prepare_create=without_status,
        validate_status=validate_budget_status,
        has_generation=True,
        allow_unconditional_update=False,
    ),
}
