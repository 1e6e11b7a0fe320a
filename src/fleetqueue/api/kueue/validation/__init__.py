"""What Kueue's validating webhooks refuse in objects of its own kinds.

Objects come as v1beta2, after their schema has accepted them; `old` is given on updates.
"""

from collections.abc import Callable
from typing import Any

from fleetqueue.api.field_errors import FieldError
from fleetqueue.api.kueue.validation.quota import validate_cluster_queue, validate_cohort
from fleetqueue.api.kueue.validation.resource_flavor import validate_resource_flavor
from fleetqueue.api.kueue.validation.rules import Rules
from fleetqueue.api.kueue.validation.workload import validate_workload

Json = dict[str, Any]

__all__ = ["KINDS", "Rules", "validate"]

_VALIDATORS: dict[str, Callable[[Json, Json | None, Rules], list[FieldError]]] = {
    "ClusterQueue": validate_cluster_queue,
    "Cohort": validate_cohort,
    "ResourceFlavor": validate_resource_flavor,
    "Workload": validate_workload,
}

KINDS = frozenset(_VALIDATORS)


def validate(obj: Json, old: Json | None = None, rules: Rules | None = None) -> list[FieldError]:
    """Everything that is wrong with the object; nothing for kinds without a webhook."""
    validator = _VALIDATORS.get(str(obj.get("kind")))
    return validator(obj, old, rules or Rules()) if validator else []
