"""Whether a workload may be tried at all: its namespace, and requests against limits."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fleetqueue.api import field_errors as fields
from fleetqueue.api.field_errors import FieldError
from fleetqueue.api.quantity import Quantity
from fleetqueue.api.selectors import LabelSelector
from fleetqueue.queueing.requests import Limits, Surroundings

Json = Mapping[str, Any]
NAMESPACE_MISMATCH = "workload namespace doesn't match ClusterQueue selector"


def namespace_problem(
    selector: LabelSelector | None, namespace: str, labels: Mapping[str, str] | None
) -> str:
    """What keeps workloads of the namespace out of a queue; "" where nothing does."""
    if labels is None:
        missing = f'namespaces "{namespace}" not found'
        return f'workload namespace "{namespace}" does not exist: {missing}'
    if selector is None or not selector.matches(labels):
        return NAMESPACE_MISMATCH
    return ""


def resources_problem(specs: Sequence[Json], around: Surroundings) -> str:
    """What is wrong with the resources of the pod sets, whose specs are completed."""
    over = [error for at, spec in enumerate(specs) for error in _over_limits(at, spec)]
    if over:
        return f"resources validation failed: {fields.aggregate(over)}"
    outside = [error for at, spec in enumerate(specs) for error in _outside(at, spec, around)]
    if outside:
        return f"resources didn't satisfy LimitRange constraints: {fields.aggregate(outside)}"
    return ""


def _over_limits(at: int, spec: Json) -> Iterator[FieldError]:
    for path, resources in _all_resources(at, spec):
        limits = _quantities(resources.get("limits"))
        requests = _quantities(resources.get("requests"))
        over = [name for name in requests if name in limits and requests[name] > limits[name]]
        if over:
            yield fields.wrong(path, sorted(over), "requests must not exceed its limits")


def _outside(at: int, spec: Json, around: Surroundings) -> Iterator[FieldError]:
    for path, resources in _all_resources(at, spec):
        is_pod = path.endswith("template.spec")
        limits = around.pods if is_pod else around.containers
        yield from _against(path, _quantities(resources.get("requests")), limits)


def _against(path: str, requests: Mapping[str, Quantity], limits: Limits) -> Iterator[FieldError]:
    above = [name for name, most in limits.max.items() if requests.get(name, most) > most]
    if above:
        yield fields.wrong(path, sorted(above), "requests must not be above the limitRange max")
    below = [name for name, least in limits.min.items() if requests.get(name, least) < least]
    if below:
        yield fields.wrong(path, sorted(below), "requests must not be below the limitRange min")


def _all_resources(at: int, spec: Json) -> Iterator[tuple[str, Json]]:
    base = f"spec.podSets[{at}].template.spec"
    for name in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(name) or ()):
            yield f"{base}.{name}[{index}]", container.get("resources") or {}
    if spec.get("resources"):
        yield base, spec["resources"]


def _quantities(values: Json | None) -> dict[str, Quantity]:
    return {name: Quantity.of(value) for name, value in (values or {}).items()}
