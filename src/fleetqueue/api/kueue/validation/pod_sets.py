"""Pod sets of a Workload: what their templates may ask for, and how sets may be sized."""

from collections.abc import Iterator
from typing import Any

from fleetqueue.api.field_errors import FieldError, forbidden, required, wrong
from fleetqueue.api.kueue.templates import CONTAINER_LISTS
from fleetqueue.api.kueue.validation.common import (
    check_annotations,
    check_labels,
    check_not_negative,
)
from fleetqueue.api.kueue.validation.rules import Rules
from fleetqueue.api.kueue.workloads import is_elastic, pod_sets_of

Json = dict[str, Any]

PATH = "spec.podSets"
SLICE_LEVEL = "podSetSliceRequiredTopology"


def check_pod_sets(obj: Json, rules: Rules) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, pod_set in enumerate(pod_sets_of(obj)):
        path = f"{PATH}[{index}]"
        errors += _check_template(pod_set["template"], rules, f"{path}.template")
        if rules.tas_validate_workload_slice_size:
            request = pod_set.get("topologyRequest") or {}
            errors += _check_slices(request, f"{path}.topologyRequest")
    return [*errors, *_check_min_counts(obj, rules)]


def _check_template(template: Json, rules: Rules, path: str) -> list[FieldError]:
    metadata: Json = template.get("metadata") or {}
    errors: list[FieldError] = []
    for at, resources in _all_resources(template.get("spec") or {}, f"{path}.spec"):
        errors += _check_resources(resources, rules, at)
    if rules.workload_validation_for_pod_set_metadata:
        errors += check_labels(metadata.get("labels") or {}, f"{path}.metadata.labels")
        annotations = metadata.get("annotations") or {}
        errors += check_annotations(annotations, f"{path}.metadata.annotations")
    return errors


def _all_resources(pod: Json, path: str) -> Iterator[tuple[str, Json]]:
    """What containers and the pod itself ask for, each with its path."""
    for name in CONTAINER_LISTS[:2]:
        for index, container in enumerate(pod.get(name) or []):
            yield f"{path}.{name}[{index}].resources", container.get("resources") or {}
    yield f"{path}.resources", pod.get("resources") or {}


def _check_resources(resources: Json, rules: Rules, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for part in ("requests", "limits"):
        for name, amount in sorted((resources.get(part) or {}).items()):
            at = f"{path}.{part}[{name}]"
            if name == "pods":
                errors.append(wrong(at, name, "the key is reserved for internal kueue use"))
            if rules.workload_validate_resources_are_non_negative:
                errors += check_not_negative(amount, at)
    return errors


def _check_min_counts(obj: Json, rules: Rules) -> list[FieldError]:
    flexible = [index for index, pod_set in enumerate(pod_sets_of(obj)) if pod_set.get("minCount")]
    errors: list[FieldError] = []
    if len(flexible) > 1:
        errors.append(wrong(PATH, len(flexible), "at most one podSet can use minCount"))
    if flexible and rules.elastic_jobs_via_workload_slices and is_elastic(obj):
        message = "partial admission and elastic job cannot be used together"
        errors += [forbidden(f"{PATH}[{index}].minCount", message) for index in flexible]
    return errors


def _check_slices(request: Json, path: str) -> list[FieldError]:
    level, size = request.get(SLICE_LEVEL), request.get("podSetSliceSize")
    at = f"{path}.podSetSliceSize"
    errors: list[FieldError] = []
    if level and size is None:
        errors.append(required(at, f"must be set when {SLICE_LEVEL} is specified"))
    if not level and size is not None:
        message = f"may not be set when {SLICE_LEVEL} is not specified"
        errors.append(forbidden(at, message))
    if level and size is not None and size <= 0:
        errors.append(wrong(at, size, "must be greater than 0"))
    constraints = request.get("podsetSliceRequiredTopologyConstraints") or []
    for index, constraint in enumerate(constraints):
        if constraint["size"] <= 0:
            where = f"{path}.podsetSliceRequiredTopologyConstraints[{index}].size"
            errors.append(wrong(where, constraint["size"], "must be greater than 0"))
    return errors
