"""What a check asks for: the ProvisioningRequest of an attempt and the templates it names."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.kueue.labels import PROVISIONING_REQUEST_PREFIX
from fleetqueue.jobs.infos import PodSetInfo, merged_template
from fleetqueue.kube.plan import owner_reference
from fleetqueue.provisioning.kinds import MANAGED, POD_TEMPLATE, REQUEST

Json = dict[str, Any]
NAME_LENGTH_MAX = 247
_SAME_NEEDS = ("nodeSelector", "tolerations", "affinity", "resourceClaims", "resources")


@dataclass(frozen=True, slots=True)
class Needed:
    """Pods of one template that capacity is asked for."""

    name: str
    count: int
    template: Json
    """As the workload has it; what its flavors add comes later."""
    members: tuple[str, ...]
    """The pod sets that share the entry; the first gave the template."""


def needed(workload: Json, config: Json) -> list[Needed]:
    """The pod sets that need capacity, those that may share an entry merged."""
    managed = (config.get("spec") or {}).get("managedResources") or ()
    counts = {each["name"]: each.get("count") for each in status.assignments_of(workload)}
    found: list[Needed] = []
    for pod_set in workload["spec"]["podSets"]:
        name = pod_set.get("name") or "main"
        assigned = counts.get(name)
        count = pod_set.get("count", 1) if assigned is None else assigned
        if not pod_set.get("count", 1) or not count or not _uses(pod_set["template"], managed):
            continue
        found.append(Needed(name, count, pod_set["template"], (name,)))
    return merged(found, str((config.get("spec") or {}).get("podSetMergePolicy") or ""))


def merged(sets: Sequence[Needed], policy: str) -> list[Needed]:
    made: list[Needed] = []
    for each in sets:
        twin = next((at for at, one in enumerate(made) if _alike(one, each, policy)), None)
        if twin is None:
            made.append(each)
        else:
            one = made[twin]
            members = (*one.members, *each.members)
            made[twin] = Needed(one.name, one.count + each.count, one.template, members)
    return made


def request_for(workload: Json, name: str, config: Json, sets: Sequence[Needed]) -> Json:
    spec = config.get("spec") or {}
    parameters = {**(spec.get("parameters") or {}), **_wished(workload)}
    made: Json = {
        "provisioningClassName": spec.get("provisioningClassName") or "",
        "podSets": [
            {"podTemplateRef": {"name": template_name(name, each.name)}, "count": each.count}
            for each in sets
        ],
    }
    if parameters:
        made["parameters"] = parameters
    return {
        "apiVersion": REQUEST.api_version,
        "kind": REQUEST.kind,
        "metadata": _metadata(workload, name),
        "spec": made,
    }


def templates_for(
    workload: Json, name: str, sets: Sequence[Needed], infos: Mapping[str, PodSetInfo]
) -> list[Json]:
    """`infos`: what the flavors of each pod set add."""
    return [
        {
            "apiVersion": POD_TEMPLATE.api_version,
            "kind": POD_TEMPLATE.kind,
            "metadata": _metadata(workload, template_name(name, each.name)),
            "template": _completed_with(each, infos),
        }
        for each in sets
    ]


def names_for(workload: Json, check: Json) -> set[str]:
    """Of all that the present attempt of a check may make."""
    name = request_name(workload["metadata"]["name"], check["name"], attempt_of(check))
    sets = (each.get("name") or "main" for each in workload["spec"]["podSets"])
    return {name, *(template_name(name, each) for each in sets)}


def attempt_of(check: Json) -> int:
    return int(check.get("retryCount") or 0) + 1


def request_name(workload: str, check: str, attempt: int) -> str:
    return limited(f"{workload}-{check}-{attempt}")


def template_name(request: str, pod_set: str) -> str:
    return limited(f"ppt-{request}-{pod_set}")


def limited(name: str) -> str:
    """A name that is too long is cut, and told apart by a hash of the whole."""
    if len(name) <= NAME_LENGTH_MAX:
        return name
    return f"{name[:NAME_LENGTH_MAX]}-{hashlib.sha1(name.encode()).hexdigest()[:5]}"


def is_stale(request: Json, config: Json, workload: Json) -> bool:
    """Whether the configuration asks for another class, or for parameters it does not have."""
    spec, wanted = request.get("spec") or {}, config.get("spec") or {}
    if spec.get("provisioningClassName") != wanted.get("provisioningClassName"):
        return True
    has = spec.get("parameters") or {}
    parameters = {**(wanted.get("parameters") or {}), **_wished(workload)}
    return any(has.get(name) != value for name, value in parameters.items())


def with_requests(template: Json) -> Json:
    """Containers that are limited and request nothing request as much as their limit."""
    spec = dict(template.get("spec") or {})
    for field in ("initContainers", "containers"):
        if spec.get(field):
            spec[field] = [_completed(each) for each in spec[field]]
    return {**template, "spec": spec}


def _completed_with(needed: Needed, infos: Mapping[str, PodSetInfo]) -> Json:
    return with_requests(merged_template(needed.template, infos.get(needed.name, PodSetInfo())))


def _completed(container: Json) -> Json:
    resources = container.get("resources") or {}
    if not resources.get("limits"):
        return container
    requests = {**resources["limits"], **(resources.get("requests") or {})}
    return {**container, "resources": {**resources, "requests": requests}}


def _uses(template: Json, managed: Sequence[str]) -> bool:
    if not managed:
        return True
    spec = template.get("spec") or {}
    for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ())):
        resources = container.get("resources") or {}
        named = {*(resources.get("requests") or ()), *(resources.get("limits") or ())}
        if not named.isdisjoint(managed):
            return True
    return False


def _alike(one: Needed, other: Needed, policy: str) -> bool:
    if policy == "IdenticalPodTemplates":
        return one.template == other.template
    if policy == "IdenticalWorkloadSchedulingRequirements":
        return _needs(one.template) == _needs(other.template)
    return False


def _needs(template: Json) -> Json:
    spec = template.get("spec") or {}
    needs = {name: spec.get(name) for name in _SAME_NEEDS}
    for field in ("initContainers", "containers"):
        needs[field] = [
            (each.get("resources") or {}).get("requests") for each in spec.get(field) or ()
        ]
    return needs


def _wished(workload: Json) -> Json:
    notes = workload["metadata"].get("annotations") or {}
    prefix = PROVISIONING_REQUEST_PREFIX
    return {key.removeprefix(prefix): notes[key] for key in notes if key.startswith(prefix)}


def _metadata(workload: Json, name: str) -> Json:
    return {
        "name": name,
        "namespace": workload["metadata"]["namespace"],
        "labels": {MANAGED: "true"},
        "ownerReferences": [owner_reference(workload)],
    }
