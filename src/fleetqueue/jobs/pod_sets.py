"""The pod sets of a job, as its Workload has them and as they are compared."""

from collections.abc import Iterable, Sequence
from typing import Any

from fleetqueue.api.kueue.templates import CONTAINER_LISTS
from fleetqueue.api.pods.images import default_pull_policy
from fleetqueue.api.quantity import Quantity, QuantityError
from fleetqueue.jobs.infos import PodSetInfo, info_of, merged_template
from fleetqueue.jobs.kind import JobKind, Role, Sight
from fleetqueue.jobs.settings import JobSettings
from fleetqueue.jobs.topology import topology_request
from fleetqueue.kube.resources import Object

MAX = 18
_COMPARED = ("initContainers", "containers")
_AMOUNTS = ("requests", "limits")
_FILLED_IN = {
    "apiVersion": "v1",
    "failureThreshold": 3,
    "path": "/",
    "periodSeconds": 10,
    "protocol": "TCP",
    "scheme": "HTTP",
    "successThreshold": 1,
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    "timeoutSeconds": 1,
}
"""What an API server writes into the containers of a job where it is missing. It does not do so in
a Workload, which may have been written by hand for that job.
"""


def pod_sets_of(kind: JobKind, sight: Sight) -> list[Object]:
    return [pod_set(kind, role, sight.settings) for role in kind.roles_of(sight)]


def pod_set(kind: JobKind, role: Role, settings: JobSettings) -> Object:
    made: Object = {
        "name": role.name.lower(),
        "count": role.count,
        "template": _template(role.pods, kind.keeps_labels),
    }
    if not kind.copies_metadata:
        made["template"]["metadata"] = {}
    if role.min_count is not None and settings.gates.partial_admission:
        made["minCount"] = role.min_count
    request = topology_request(kind, role, settings)
    if request is not None:
        made["topologyRequest"] = request
    return made


def infos_of(workload: Object) -> list[PodSetInfo]:
    """What the templates of the job had before it was ever started."""
    return [
        info_of(each["template"], each.get("name", "main"), each.get("count", 1))
        for each in workload["spec"]["podSets"]
    ]


def as_running(workload: Object, infos: Sequence[PodSetInfo]) -> list[Object]:
    """The Workload's pod sets as its job has them while it runs."""
    return [
        {
            **each,
            "template": merged_template(each["template"], info, renews=True),
            "count": each["count"] if each.get("minCount") is None else info.count,
        }
        for each, info in zip(workload["spec"]["podSets"], infos, strict=True)
    ]


def are_equivalent(
    left: Sequence[Object],
    right: Sequence[Object],
    *,
    ignores_tolerations: bool = False,
    ignores_counts: bool = False,
) -> bool:
    """By position; names, labels, selectors and affinity do not count."""
    return len(left) == len(right) and all(
        _essence(one, ignores_tolerations, ignores_counts)
        == _essence(other, ignores_tolerations, ignores_counts)
        for one, other in zip(left, right, strict=True)
    )


def counts_of(pod_sets: Iterable[Object]) -> dict[str, int]:
    return {each.get("name", "main"): each.get("count", 1) for each in pod_sets}


def _template(template: Object, dropped: Sequence[str]) -> Object:
    made: Object = {"spec": _with_single_variables(template.get("spec") or {})}
    metadata = template.get("metadata") or {}
    kept = {k: v for k, v in (metadata.get("labels") or {}).items() if k not in dropped}
    annotations = metadata.get("annotations") or {}
    parts = {"labels": kept, "annotations": dict(annotations)}
    return {"metadata": {name: part for name, part in parts.items() if part}, **made}


def _with_single_variables(spec: Object) -> Object:
    """Of several variables of one name the last value counts, in the place of the first."""
    made = dict(spec)
    for name in CONTAINER_LISTS[:2]:
        if spec.get(name):
            made[name] = [_container(each) for each in spec[name]]
    return made


def _container(container: Object) -> Object:
    variables = container.get("env") or []
    by_name = {each["name"]: each for each in variables}
    if len(by_name) == len(variables):
        return container
    return {**container, "env": list(by_name.values())}


def _essence(pod_set: Object, ignores_tolerations: bool, ignores_counts: bool) -> Any:
    spec = _template(pod_set["template"], ())["spec"]
    parts = {name: spec.get(name) for name in _COMPARED}
    if not ignores_tolerations:
        parts["tolerations"] = spec.get("tolerations")
    if not ignores_counts:
        parts["count"] = pod_set.get("count", 1)
        parts["minCount"] = pod_set.get("minCount")
    return _without_nothing(parts)


def _without_nothing(value: Any) -> Any:
    """What is empty and what is missing is the same to Go, as is `1` and `1000m`."""
    if isinstance(value, dict):
        kept = {
            key: _amounts(each) if key in _AMOUNTS else _without_nothing(each)
            for key, each in value.items()
        }
        filled_in = _FILLED_IN
        if image := kept.get("image"):
            filled_in = {**filled_in, "imagePullPolicy": default_pull_policy(str(image))}
        return {
            key: each
            for key, each in kept.items()
            if each not in (None, {}, [], "") and each != filled_in.get(key)
        }
    return [_without_nothing(each) for each in value] if isinstance(value, list) else value


def _amounts(resources: Any) -> Any:
    try:
        return {name: Quantity.of(amount) for name, amount in (resources or {}).items()}
    except QuantityError:
        # Not to be run, but to be told from what was there before.
        return resources
