"""Counts the devices that pods claim by claim templates, as the logical resources that the
configuration maps their classes to; what cannot be counted is refused.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

from fleetqueue.api.field_errors import FieldError, aggregate, forbidden, not_found, wrong
from fleetqueue.queueing.amounts import Requests
from fleetqueue.queueing.requests import Transformation

Json = dict[str, Any]
FindTemplate = Callable[[str], Json | None]
CLASS_PREFIX = "deviceclass.resource.kubernetes.io/"
"""With it every class is an extended resource, whatever else the class says."""


@dataclass(frozen=True, slots=True)
class DeviceRules:
    """The `deviceClassMappings` of the configuration, and the gates of DRA."""

    is_on: bool = True
    refuses_when_off: bool = True
    """KueueDRARejectWorkloadsWhenDRADisabled."""
    counts_extended: bool = True
    """KueueDRAIntegrationExtendedResource."""
    resources: Mapping[str, str] = field(default_factory=dict)
    """By device class, the resource that quota counts."""

    @property
    def has_mappings(self) -> bool:
        return self.is_on and bool(self.resources)


NO_DEVICES = DeviceRules()


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a workload is not even queued, and what its Requeued condition says of it."""

    message: str
    requeued: str


_OFF = "Workload uses DRA resources but the KueueDRAIntegration feature gate is not enabled"
OFF = Refusal(_OFF, _OFF)
FIXED_CLAIMS = Refusal(
    "KueueDRAIntegration feature does not support use of resource claims",
    "DRA resource claims not supported",
)


class Claims(NamedTuple):
    """What each pod of a pod set claims, by the set's name; or why nobody can tell."""

    requests: Mapping[str, Requests]
    refusal: Refusal | None = None


NO_CLAIMS = Claims({})


def claims_of(workload: Json, rules: DeviceRules, find: FindTemplate) -> Claims:
    """`find` knows the claim templates of the workload's namespace."""
    found = list(_claims(workload))
    if not found:
        return NO_CLAIMS
    if not rules.is_on:
        return Claims({}, OFF if rules.refuses_when_off else None)
    if any(claim.get("resourceClaimName") for _, _, claim in found):
        return Claims({}, FIXED_CLAIMS)
    requests: dict[str, Requests] = {}
    errors: list[FieldError] = []
    for pod_set, path, claim in found:
        counted = requests.setdefault(pod_set, {})
        errors += _count(claim, path, rules, find, counted)
    if errors:
        text = aggregate(errors)
        return Claims({}, Refusal(text, text))
    return Claims(requests)


def template_names(workload: Json) -> set[str]:
    """The claim templates that its pods name."""
    named = {str(claim.get("resourceClaimTemplateName") or "") for _, _, claim in _claims(workload)}
    return named - {""}


def extended_rules(rules: DeviceRules, classes: Mapping[str, str]) -> dict[str, Transformation]:
    """Extended resources that stand for devices of mapped classes count as those do. `classes`
    are those that exist, with the resource that each one names.
    """
    if not rules.has_mappings or not rules.counts_extended:
        return {}
    return {
        name: Transformation({rules.resources[each]: Fraction(1)}, keeps_input=False)
        for each, extended in classes.items()
        if each in rules.resources
        for name in (f"{CLASS_PREFIX}{each}", extended)
        if name
    }


def _claims(workload: Json) -> Iterator[tuple[str, str, Json]]:
    """Each claim with the name of its pod set, and where it stands."""
    for at, pod_set in enumerate((workload.get("spec") or {}).get("podSets") or ()):
        spec = (pod_set.get("template") or {}).get("spec") or {}
        for index, claim in enumerate(spec.get("resourceClaims") or ()):
            path = f"spec.podSets[{at}].template.spec.resourceClaims[{index}]"
            yield pod_set.get("name") or "main", path, claim


def _count(
    claim: Json, path: str, rules: DeviceRules, find: FindTemplate, counted: Requests
) -> Iterator[FieldError]:
    """Adds what the claim asks for."""
    at, name = f"{path}.resourceClaimTemplateName", str(claim.get("resourceClaimTemplateName"))
    if not rules.has_mappings:
        yield wrong(at, name, "no device class is mapped by resources.deviceClassMappings")
        return
    template = find(name)
    if template is None:
        yield not_found(at, name)
        return
    spec = (template.get("spec") or {}).get("spec") or {}
    for index, request in enumerate((spec.get("devices") or {}).get("requests") or ()):
        where = f"{path}.devices.requests[{index}]"
        if error := _refused(request, where, rules):
            yield error
            continue
        exact = request["exactly"]
        resource = rules.resources[exact["deviceClassName"]]
        counted[resource] = counted.get(resource, 0) + int(exact.get("count") or 1)


def _refused(request: Json, path: str, rules: DeviceRules) -> FieldError | None:
    """Why it is not known how many devices of which class this will be."""
    exact = request.get("exactly")
    if exact is None:
        return forbidden(f"{path}.firstAvailable", "is not supported")
    if exact.get("adminAccess"):
        return forbidden(f"{path}.exactly.adminAccess", "is not supported")
    if (mode := exact.get("allocationMode") or "ExactCount") != "ExactCount":
        return wrong(f"{path}.exactly.allocationMode", mode, "only ExactCount is supported")
    if (name := exact.get("deviceClassName") or "") not in rules.resources:
        detail = "is not mapped by resources.deviceClassMappings"
        return wrong(f"{path}.exactly.deviceClassName", name, detail)
    return None
