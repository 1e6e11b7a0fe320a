"""AppWrapper (workload.codeflare.dev/v1beta2): any objects, as one; some of them have pods."""

from collections.abc import Iterator, Sequence

from fleetqueue.base import paths
from fleetqueue.jobs import starting
from fleetqueue.jobs.infos import PodSetInfo, check_number
from fleetqueue.jobs.kind import JobKind, Role, Sight, Verdict, holds
from fleetqueue.kube.plan import Step
from fleetqueue.kube.resources import Object, Resource

FRAMEWORK = "workload.codeflare.dev/appwrapper"
_HINTS = "workload.codeflare.dev.appwrapper/tas-"
POD_INDEX = f"{_HINTS}pod-index-label"
SUB_GROUP_INDEX = f"{_HINTS}sub-group-index-label"
SUB_GROUP_COUNT = f"{_HINTS}sub-group-count"


def roles(sight: Sight) -> list[Role]:
    """Numbered over all components."""
    return [
        _role(sight, number, component, pod_set)
        for number, (component, pod_set) in enumerate(pod_sets(sight))
    ]


def pod_sets(sight: Sight) -> Iterator[tuple[int, Object]]:
    """The pod sets of each component, as declared or as its blueprint infers them."""
    infer = sight.settings.blueprints.get(FRAMEWORK)
    for index, component in enumerate(sight.spec.get("components") or ()):
        declared = component.get("podSets") or ()
        found = declared if declared or infer is None else infer(component)
        for pod_set in found:
            yield index, pod_set


def start(sight: Sight, infos: Sequence[PodSetInfo]) -> list[Step]:
    """The operator puts the infos into what it makes of the components."""
    places = [component for component, _ in pod_sets(sight)]
    check_number(len(places), infos)
    made = paths.with_value(sight.job, "spec.suspend", False)
    for index in dict.fromkeys(places):
        mine = [_info(info) for at, info in zip(places, infos, strict=True) if at == index]
        made = paths.with_value(made, f"spec.components[{index}].podSetInfos", mine)
    return starting.changes(sight.job, made)


def stop(sight: Sight, infos: Sequence[PodSetInfo] | None) -> list[Step]:
    if sight.spec.get("suspend"):
        return []
    made = paths.with_value(sight.job, "spec.suspend", True)
    return starting.changes(sight.job, paths.without(made, "spec.components[*].podSetInfos"))


def verdict(sight: Sight) -> Verdict | None:
    phase = sight.status.get("phase")
    if phase == "Succeeded":
        return Verdict("AppWrapper finished successfully", True)
    if phase == "Failed" and not holds(sight.job, "ResourcesDeployed"):
        return Verdict("AppWrapper failed", False)
    return None


def _role(sight: Sight, number: int, component: int, pod_set: Object) -> Role:
    path = f"spec.components[{component}].{pod_set['path']}"
    hints = pod_set.get("annotations") or {}
    replicas, groups = pod_set.get("replicas"), hints.get(SUB_GROUP_COUNT) or ""
    return Role(
        f"{sight.name}-{number}",
        path,
        1 if replicas is None else int(replicas),
        paths.get(sight.job, path) or {},
        pod_index_label=hints.get(POD_INDEX) or "",
        sub_group_index_label=hints.get(SUB_GROUP_INDEX) or "",
        sub_group_count=int(groups) if groups.isdecimal() else None,
    )


def _info(info: PodSetInfo) -> Object:
    made = {
        "annotations": dict(info.annotations),
        "labels": dict(info.labels),
        "nodeSelector": dict(info.node_selector),
        "tolerations": list(info.tolerations),
        "schedulingGates": list(info.scheduling_gates),
    }
    return {name: value for name, value in made.items() if value}


JOB = JobKind(
    framework=FRAMEWORK,
    resource=Resource("workload.codeflare.dev", "v1beta2", "appwrappers", "AppWrapper"),
    suspend="spec.suspend",
    managed_by="spec.managedBy",
    own_name="workload.codeflare.dev/appwrapper-controller",
    roles=roles,
    active=lambda sight: holds(sight.job, "QuotaReserved"),
    ready="PodsReady",
    finished=verdict,
    start=start,
    stop=stop,
)
