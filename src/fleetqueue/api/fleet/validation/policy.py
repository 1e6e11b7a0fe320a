"""What is wrong with a placement policy: with its type's own fields, affinity and tolerations."""

from collections.abc import Iterator
from typing import Any

from fleetqueue.api import names
from fleetqueue.api.fleet import text
from fleetqueue.api.fleet.validation.properties import property_errors, sorter_errors
from fleetqueue.api.requirements import SelectorError
from fleetqueue.api.selectors import labels_from_object

Json = dict[str, Any]

CLUSTER_NAME_LENGTH_MAX = 63

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def policy_errors(policy: Json) -> list[str]:
    """In the order in which the webhook names them."""
    match policy.get("placementType"):
        case "PickFixed":
            return list(_fixed_errors(policy))
        case "PickN":
            return list(_counted_errors(policy))
        case _:
            return list(_all_errors(policy))


def _fixed_errors(policy: Json) -> Iterator[str]:
    yield from _cluster_name_errors(policy.get("clusterNames") or [])
    if policy.get("numberOfClusters") is not None:
        yield _number_is_for_pick_n("PickFixed")
    if policy.get("affinity") is not None:
        yield (
            "affinity must be nil for policy type PickFixed,"
            " only valid for PickAll/PickN placement policy types"
        )
    if policy.get("topologySpreadConstraints"):
        yield _spread_is_for_pick_n("PickFixed")
    if policy.get("tolerations"):
        yield (
            "tolerations needs to be empty for policy type PickFixed, only valid for PickAll/PickN"
        )


def _all_errors(policy: Json) -> Iterator[str]:
    if policy.get("clusterNames"):
        yield _names_are_for_pick_fixed("PickAll")
    if policy.get("numberOfClusters") is not None:
        yield _number_is_for_pick_n("PickAll")
    affinity = _cluster_affinity(policy)
    yield from _required_errors(affinity)
    if affinity.get(PREFERRED):
        yield (
            "PreferredDuringSchedulingIgnoredDuringExecution will be ignored"
            " for placement policy type PickAll"
        )
    if policy.get("topologySpreadConstraints"):
        yield _spread_is_for_pick_n("PickAll")
    yield from _toleration_errors(policy.get("tolerations") or [])


def _counted_errors(policy: Json) -> Iterator[str]:
    if policy.get("clusterNames"):
        yield _names_are_for_pick_fixed("PickN")
    number = policy.get("numberOfClusters")
    if number is None:
        yield "number of cluster cannot be nil for policy type PickN"
    elif number < 0:
        yield f"number of clusters cannot be {number} for policy type PickN"
    affinity = _cluster_affinity(policy)
    yield from _required_errors(affinity)
    yield from _preferred_errors(affinity)
    yield from _toleration_errors(policy.get("tolerations") or [])


def _names_are_for_pick_fixed(policy_type: str) -> str:
    return (
        f"cluster names needs to be empty for policy type {policy_type},"
        " only valid for PickFixed policy type"
    )


def _number_is_for_pick_n(policy_type: str) -> str:
    return (
        f"number of clusters must be nil for policy type {policy_type},"
        " only valid for PickN placement policy type"
    )


def _spread_is_for_pick_n(policy_type: str) -> str:
    return (
        f"topology spread constraints needs to be empty for policy type {policy_type},"
        " only valid for PickN policy type"
    )


def _cluster_name_errors(clusters: list[str]) -> Iterator[str]:
    for name in clusters:
        if len(name) > CLUSTER_NAME_LENGTH_MAX:
            yield (
                f"PickFixed cluster name {name} cannot have length exceeding"
                f" {CLUSTER_NAME_LENGTH_MAX}"
            )
        if wrong := names.dns1123_subdomain(name):
            yield f"PickFixed cluster name {name} is not a valid member name: {'; '.join(wrong)}"
    if len(set(clusters)) < len(clusters):
        yield "cluster names must be unique for policy type PickFixed"


def _cluster_affinity(policy: Json) -> Json:
    return (policy.get("affinity") or {}).get("clusterAffinity") or {}


def _required_errors(affinity: Json) -> Iterator[str]:
    for term in (affinity.get(REQUIRED) or {}).get("clusterSelectorTerms") or []:
        yield from _label_errors(term, "cluster selector")
        if term.get("propertySorter") is not None:
            yield (
                "PropertySorter is not allowed for"
                " RequiredDuringSchedulingIgnoredDuringExecution affinity"
            )
        yield from property_errors(term.get("propertySelector") or {})


def _preferred_errors(affinity: Json) -> Iterator[str]:
    for preferred in affinity.get(PREFERRED) or []:
        term = preferred.get("preference") or {}
        yield from _label_errors(term, "preferred cluster selector")
        if term.get("propertySelector") is not None:
            yield (
                "PropertySelector is not allowed for"
                " PreferredDuringSchedulingIgnoredDuringExecution affinity"
            )
        if term.get("propertySorter") is not None:
            yield from sorter_errors(term["propertySorter"])


def _label_errors(term: Json, where: str) -> Iterator[str]:
    selector = term.get("labelSelector")
    try:
        labels_from_object(selector)
    except SelectorError as error:
        yield f"the labelSelector in {where} {text.label_selector(selector)} is invalid: {error}"


def _toleration_errors(tolerations: list[Json]) -> Iterator[str]:
    seen: set[str] = set()
    for toleration in tolerations:
        shown = text.toleration(toleration)
        key, value = toleration.get("key", ""), toleration.get("value", "")
        if key:
            for message in names.qualified_name(key):
                yield f"invalid toleration key {shown}: {message}"
        if toleration.get("operator") == "Exists":
            if value:
                yield _invalid(shown, "value needs to be empty, when operator is Exists")
        else:
            if not key:
                yield _invalid(shown, "key cannot be empty, when operator is Equal")
            for message in names.label_value(value):
                yield f"invalid toleration value {shown}: {message}"
        if shown in seen:
            yield f"toleration {shown} already exists, tolerations must be unique"
        seen.add(shown)


def _invalid(shown: str, reason: str) -> str:
    return f"invalid toleration {shown}: toleration {reason}"
