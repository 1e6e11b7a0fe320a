"""Whether a workload may be tried at all: its namespace, and requests against limits."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fleetqueue.api import field_errors as fields
from fleetqueue.api.field_errors import FieldError
from fleetqueue.api.pods.requests import amounts_of, pod_requests
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
    """Each container against the limits of containers, their sum against those of pods."""
    for path, container in _containers(at, spec):
        requests = (container.get("resources") or {}).get("requests")
        yield from _against(path, amounts_of(requests), around.containers)
    yield from _against(_base(at), pod_requests(dict(spec), keeps_zeros=True), around.pods)


def _against(path: str, requests: Mapping[str, int], limits: Limits) -> Iterator[FieldError]:
    most, least = amounts_of(limits.max), amounts_of(limits.min)
    above = [name for name, value in most.items() if requests.get(name, value) > value]
    if above:
        yield fields.wrong(path, sorted(above), "requests must not be above the limitRange max")
    below = [name for name, value in least.items() if requests.get(name, value) < value]
    if below:
        yield fields.wrong(path, sorted(below), "requests must not be below the limitRange min")


def _all_resources(at: int, spec: Json) -> Iterator[tuple[str, Json]]:
    for path, container in _containers(at, spec):
        yield path, container.get("resources") or {}
    if spec.get("resources"):
        yield _base(at), spec["resources"]


def _containers(at: int, spec: Json) -> Iterator[tuple[str, Json]]:
    for name in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(name) or ()):
            yield f"{_base(at)}.{name}[{index}]", container


def _base(at: int) -> str:
    return f"spec.podSets[{at}].template.spec"


def _quantities(values: Json | None) -> dict[str, Quantity]:
    return {name: Quantity.of(value) for name, value in (values or {}).items()}
