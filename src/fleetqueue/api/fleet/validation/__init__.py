"""What KubeFleet's webhook refuses in a ClusterResourcePlacement that its schema lets through.

ResourcePlacements have no webhook; only their schema checks them.
"""

from collections.abc import Callable, Iterator
from typing import Any

from fleetqueue.api.field_errors import aggregate
from fleetqueue.api.fleet import text
from fleetqueue.api.fleet.validation.policy import policy_errors
from fleetqueue.api.fleet.validation.strategy import strategy_errors
from fleetqueue.api.requirements import SelectorError
from fleetqueue.api.selectors import labels_from_object

Json = dict[str, Any]

IsClusterScoped = Callable[[str, str, str], bool]
"""Whether group, version and kind name a known cluster-scoped kind; a LookupError says that the
question cannot be answered now."""

NAME_LENGTH_MAX = 63


def denial(new: Json, old: Json | None, is_cluster_scoped: IsClusterScoped) -> str | None:
    """Why a create or an update is refused, or None. What is being deleted is never held up."""
    if new["metadata"].get("deletionTimestamp"):
        return None
    if old is not None and (refused := _update_denial(new, old, is_cluster_scoped)):
        return refused
    if errors := placement_errors(new, is_cluster_scoped):
        return f"deny create/update v1beta1 CRP has invalid fields {aggregate(errors)}"
    return None


def placement_errors(placement: Json, is_cluster_scoped: IsClusterScoped) -> list[str]:
    """Everything that is wrong with a ClusterResourcePlacement."""
    spec = placement.get("spec") or {}
    errors = []
    if len(placement["metadata"].get("name", "")) > NAME_LENGTH_MAX:
        errors.append(f"the name field cannot have length exceeding {NAME_LENGTH_MAX}")
    errors += _selectors_errors(spec.get("resourceSelectors") or [], is_cluster_scoped)
    if spec.get("policy") is not None and (wrong := policy_errors(spec["policy"])):
        errors.append(f"the placement policy field is invalid: {aggregate(wrong)}")
    if wrong := strategy_errors(spec.get("strategy") or {}):
        errors.append(f"the rollout Strategy field  is invalid: {aggregate(wrong)}")
    return errors


def _update_denial(new: Json, old: Json, is_cluster_scoped: IsClusterScoped) -> str | None:
    if errors := placement_errors(old, is_cluster_scoped):
        lead = "deny update on old invalid v1beta1 CRP with DeletionTimestamp not set"
        return f"{lead} {aggregate(errors)}"
    if _placement_type(new) != _placement_type(old):
        return "placement type is immutable"
    kept = {text.toleration(each) for each in _tolerations(new)}
    if any(text.toleration(each) not in kept for each in _tolerations(old)):
        return "tolerations have been updated/deleted, only additions to tolerations are allowed"
    return None


def _policy(placement: Json) -> Json:
    return (placement.get("spec") or {}).get("policy") or {}


def _placement_type(placement: Json) -> str:
    return str(_policy(placement).get("placementType") or "PickAll")


def _tolerations(placement: Json) -> list[Json]:
    return _policy(placement).get("tolerations") or []


def _selectors_errors(selectors: list[Json], is_cluster_scoped: IsClusterScoped) -> Iterator[str]:
    namespaced_allowed = any(_is_anchor(selector) for selector in selectors)
    for selector in selectors:
        yield from _label_errors(selector)
        if not namespaced_allowed:
            yield from _scope_errors(selector, is_cluster_scoped)


def _label_errors(selector: Json) -> Iterator[str]:
    if selector.get("labelSelector") is None:
        return
    shown = text.resource_selector(selector)
    if selector.get("name"):
        yield f"the labelSelector and name fields are mutually exclusive in selector {shown}"
    try:
        labels_from_object(selector["labelSelector"])
    except SelectorError as error:
        yield f"the labelSelector in resource selector {shown} is invalid: {error}"


def _scope_errors(selector: Json, is_cluster_scoped: IsClusterScoped) -> Iterator[str]:
    identity = (selector["group"], selector["version"], selector["kind"])
    try:
        known = is_cluster_scoped(*identity)
    except LookupError as error:
        yield f"failed to get GVR of the selector: {error.args[0] if error.args else error}"
        return
    if not known:
        yield (
            "the resource is not found in schema (please retry) or it is not a cluster scoped"
            f" resource: {text.kind(*identity)}"
        )


def _is_anchor(selector: Json) -> bool:
    """Whether the selector names the one namespace that the other selectors look into."""
    is_namespace = (selector["group"], selector["version"], selector["kind"]) == (
        "",
        "v1",
        "Namespace",
    )
    return is_namespace and selector.get("selectionScope") == "NamespaceWithResourceSelectors"
