"""Requests of Workloads that are refused."""

from typing import Any

from support.kueue_refusals import (
    FORBIDDEN,
    GATES,
    GATES_PATH,
    INVALID,
    NAME,
    NEGATIVE,
    Change,
    Object,
    Refusal,
    denied,
    invalid,
    named,
    unread,
)


def pod_set(name: str = "main", count: int = 3, pod: Object | None = None, **more: Any) -> Object:
    containers = [{"name": "c", "image": "i"}]
    spec = {"restartPolicy": "Never", "containers": containers, **(pod or {})}
    return {"name": name, "count": count, "template": {"spec": spec}, **more}


def workload(
    *sets: Object, name: str = NAME, annotations: Object | None = None, **spec: Any
) -> Object:
    made = named("Workload", {"podSets": list(sets) or [pod_set()], **spec}, name)
    if annotations:
        made["metadata"]["annotations"] = annotations
    return made


def requesting(**resources: Any) -> Object:
    return workload(
        pod_set(pod={"containers": [{"name": "c", "image": "i", "resources": resources}]})
    )


def shaped(**request: Any) -> Object:
    return workload(pod_set(topologyRequest=request))


def workload_denied(title: str, obj: Object, text: str) -> Refusal:
    return Refusal(title, "kueue 1.5", obj, FORBIDDEN, denied("Workload", text))


def workload_invalid(title: str, obj: Object, text: str) -> Refusal:
    return Refusal(title, "kueue 1.5", obj, INVALID, invalid("Workload", text))


NOW = "2026-01-01T00:00:00Z"
ASSIGNED = {
    "name": "main",
    "count": 3,
    "flavors": {"cpu": "default"},
    "resourceUsage": {"cpu": "3"},
}


def condition(type: str) -> Object:
    told = {"type": type, "status": "True", "reason": type, "message": ""}
    return {**told, "lastTransitionTime": NOW}


def admitted(*types: str, **assigned: Any) -> Object:
    """A status with quota, and these conditions too."""
    admission = {"clusterQueue": "q", "podSetAssignments": [{**ASSIGNED, **assigned}]}
    return {
        "conditions": [condition(type) for type in ("QuotaReserved", *types)],
        "admission": admission,
    }


RESERVED = Change({"status": admitted()}, "status")
ADMITTED = Change({"status": admitted("Admitted")}, "status")


def status_refused(
    title: str, status: Object, text: str, answer: tuple[int, str] = FORBIDDEN, *before: Change
) -> Refusal:
    name = title.replace(" ", "-")
    shown = denied("Workload", text) if answer == FORBIDDEN else invalid("Workload", text, name)
    return Refusal(
        title, "kueue 1.5", workload(name=name), answer, shown, {"status": status}, "status", before
    )  # fmt: skip


def change_refused(
    title: str, spec: Object, text: str, answer: tuple[int, str] = INVALID, *before: Change,
    **made: Any,
) -> Refusal:  # fmt: skip
    name = title.replace(" ", "-")
    shown = denied("Workload", text) if answer == FORBIDDEN else invalid("Workload", text, name)
    obj = workload(name=name, **made)
    return Refusal(
        title, "kueue 1.5", obj, answer, shown, {"spec": spec}, "", before or (RESERVED,)
    )  # fmt: skip


def class_of(group: str, kind: str, name: str = "high") -> Object:
    return {"group": group, "kind": kind, "name": name}


OWN = class_of("kueue.x-k8s.io", "WorkloadPriorityClass")
PODS_OWN = class_of("scheduling.k8s.io", "PriorityClass")
POD = "spec.podSets[0].template.spec"
RESOURCES = f"{POD}.containers[0].resources"
TOPOLOGY = "spec.podSets[0].topologyRequest"
KEPT = "the key is reserved for internal kueue use"
SHOWN = (
    '{"name":"main","template":{"metadata":{},"spec":{"containers":[{"name":"c","image":"i",'
    '"resources":{}}],"restartPolicy":"Never"}},"count":%d}'
)
WHILE_RESERVED = "is immutable while workload quota reserved"

VALUE = {"universal": "a"}
PLACED = "status.admission.podSetAssignments[0].topologyAssignment"
EITHER = "exactly one of the fields in [universal individual] must be set"


def placed(**changes: Any) -> Object:
    """A status with one domain of one level."""
    domain = {"domainCount": 1, "valuesPerLevel": [VALUE], "podCounts": {"universal": 3}}
    return admitted(topologyAssignment={"levels": ["host"], "slices": [{**domain, **changes}]})


TOLERATIONS = {
    "tolerates nothing": ({"operator": "Equal"}, "operator must be Exists when 'key' is empty, "
                          "which means 'match all values and all keys'"),
    "tolerates for a while": ({"key": "a", "effect": "NoSchedule", "tolerationSeconds": 1},
                              "effect must be 'NoExecute' when 'tolerationSeconds' is set"),
    "likes": ({"key": "a", "operator": "Likes"},
              "supported toleration values: 'Equal'(default), 'Exists'"),
    "tolerates a value": ({"key": "a", "operator": "Exists", "value": "b"},
                          "a value must be empty when 'operator' is 'Exists'"),
    "tolerates an effect": ({"key": "a", "effect": "Never"},
                            "supported taint effect values: 'NoSchedule', 'PreferNoSchedule', "
                            "'NoExecute'"),
}  # fmt: skip
FORMER = {
    "priority": 1,
    "priorityClassName": "high",
    "priorityClassSource": "kueue.x-k8s.io/workloadpriorityclass",
}


def old_refused(title: str, spec: Object, text: str, changed: Object | None = None) -> Refusal:
    """Of the version before; where something is changed, of a workload that has quota."""
    name = title.replace(" ", "-")
    obj = {**workload(name=name, **spec), "apiVersion": "kueue.x-k8s.io/v1beta1"}
    shown = invalid("Workload", text, name)
    if changed is None:
        return Refusal(title, "kueue 1.5", obj, INVALID, shown)
    return Refusal(title, "kueue 1.5", obj, INVALID, shown, {"spec": changed}, before=(RESERVED,))


WORKLOADS = [
    workload_denied("pods in requests and limits",
                    requesting(requests={"pods": "1"}, limits={"pods": "1"}),
                    f'[{RESOURCES}.requests[pods]: Invalid value: "pods": {KEPT}, '
                    f'{RESOURCES}.limits[pods]: Invalid value: "pods": {KEPT}]'),
    workload_denied("a negative request", requesting(requests={"cpu": "-1"}),
                    f'{RESOURCES}.requests[cpu]: Invalid value: "-1": {NEGATIVE}'),
    workload_denied("two flexible pod sets",
                    workload(pod_set("a", minCount=1), pod_set("b", minCount=1)),
                    "spec.podSets: Invalid value: 2: at most one podSet can use minCount"),
    workload_denied("flexible and elastic",
                    workload(pod_set(minCount=1),
                             annotations={"kueue.x-k8s.io/elastic-job": "true"}),
                    "spec.podSets[0].minCount: Forbidden: partial admission and elastic job cannot "
                    "be used together"),
    workload_denied("a slice without size", shaped(podSetSliceRequiredTopology="rack"),
                    f"{TOPOLOGY}.podSetSliceSize: Required value: must be set when "
                    "podSetSliceRequiredTopology is specified"),
    workload_denied("a size without slice", shaped(podSetSliceSize=2),
                    f"{TOPOLOGY}.podSetSliceSize: Forbidden: may not be set when "
                    "podSetSliceRequiredTopology is not specified"),
    workload_denied("an empty gate", workload(annotations={GATES: "a.io/b,"}),
                    f'{GATES_PATH}: Invalid value: "a.io/b,": cannot contain empty gate names'),
    workload_denied("a gate twice", workload(annotations={GATES: "a.io/b,a.io/b"}),
                    f'{GATES_PATH}: Invalid value: "a.io/b,a.io/b": duplicate gate name: a.io/b'),
    workload_invalid("no pod set", named("Workload", {"podSets": []}),
                     "spec.podSets: Invalid value: 0: spec.podSets in body should have at least 1 "
                     "items"),
    workload_invalid("nineteen pod sets", workload(*(pod_set(f"p{n}") for n in range(19))),
                     unread("spec.podSets: Too many: 19: must have at most 18 items")),
    workload_invalid("a pod set twice", workload(pod_set(), pod_set()),
                     'spec.podSets[1]: Duplicate value: {"name":"main"}'),
    workload_invalid("a bad name of a pod set", workload(pod_set("A")),
                     'spec.podSets[0].name: Invalid value: "A": spec.podSets[0].name in body '
                     "should match '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$'"),
    workload_invalid("more than all", workload(pod_set(minCount=4)),
                     'spec.podSets[0]: Invalid value: "object": minCount should be positive and '
                     "less or equal to count"),
    workload_invalid("fewer than none", workload(pod_set(count=-1)),
                     "spec.podSets[0].count: Invalid value: -1: spec.podSets[0].count in body "
                     "should be greater than or equal to 0"),
    workload_invalid("a class without priority", workload(priorityClassRef=OWN),
                     'spec: Invalid value: "object": priority should not be nil when '
                     "priorityClassRef is set"),
    workload_invalid("a class of the wrong group",
                     workload(priority=1, priorityClassRef={**OWN, "kind": "PriorityClass"}),
                     'spec.priorityClassRef: Invalid value: "object": only the '
                     "WorkloadPriorityClass kind is allowed for the kueue.x-k8s.io group"),
    workload_invalid("a class of the other group",
                     workload(priority=1, priorityClassRef={**PODS_OWN,
                                                            "kind": "WorkloadPriorityClass"}),
                     'spec.priorityClassRef: Invalid value: "object": only the PriorityClass kind '
                     "is allowed for the scheduling.k8s.io group"),
    workload_invalid("no time at all", workload(maximumExecutionTimeSeconds=0),
                     "spec.maximumExecutionTimeSeconds: Invalid value: 0: "
                     "spec.maximumExecutionTimeSeconds in body should be greater than or equal to "
                     "1"),
    status_refused("quota without admission", {"conditions": [condition("QuotaReserved")]},
                   "status.admission: Required value: must be set while the QuotaReserved "
                   "condition is true"),
    status_refused("an assignment of no pod set", admitted(name="x"),
                   'status.admission.podSetAssignments[0].name: Not found: "x"'),
    status_refused("usage that does not divide", admitted(resourceUsage={"memory": "4"}),
                   'status.admission.podSetAssignments[0].resourceUsage[memory]: Invalid value: '
                   '"4": is not a multiple of 3'),
    status_refused("reclaiming an unknown pod set",
                   {"reclaimablePods": [{"name": "x", "count": 1}]},
                   'status.reclaimablePods[x].name: Unsupported value: "x": supported values: '
                   '"main"'),
    status_refused("reclaiming more than there are",
                   {"reclaimablePods": [{"name": "main", "count": 4}]},
                   "status.reclaimablePods[main].count: Invalid value: 4: should be less or equal "
                   "to 3"),
    status_refused("fewer pods to reclaim", {"reclaimablePods": [{"name": "main", "count": 1}]},
                   "status.reclaimablePods[main].count: Invalid value: 1: cannot be less than 2",
                   FORBIDDEN, RESERVED,
                   Change({"status": {"reclaimablePods": [{"name": "main", "count": 2}]}},
                          "status")),
    status_refused("no more pods to reclaim", {"reclaimablePods": []},
                   "status.reclaimablePods[main]: Required value: cannot be removed",
                   FORBIDDEN, RESERVED,
                   Change({"status": {"reclaimablePods": [{"name": "main", "count": 2}]}},
                          "status")),
    status_refused("another admission", {"admission": {"clusterQueue": "other"}},
                   'status.admission: Invalid value: {"clusterQueue":"other","podSetAssignments":'
                   '[{"name":"main","flavors":{"cpu":"default"},"resourceUsage":{"cpu":"3"},'
                   '"count":3}]}: field is immutable', FORBIDDEN, RESERVED),
    status_refused("a cluster nobody nominated", {"clusterName": "w1"},
                   'status.clusterName: Invalid value: "w1": when setting clusterName it must be '
                   "one of the nominatedClusterNames"),
    status_refused("a cluster and a choice",
                   {"clusterName": "w1", "nominatedClusterNames": ["w1"]},
                   'status: Invalid value: "object": clusterName and nominatedClusterNames are '
                   "mutually exclusive", INVALID),
    status_refused("an update of no pod set", {"admissionChecks": [
                       {"name": "a", "state": "Ready", "message": "", "lastTransitionTime": NOW,
                        "podSetUpdates": [{"name": "x"}]}]},
                   'status.admissionChecks[0].podSetUpdates[0].name: Unsupported value: "x": '
                   'supported values: "main"'),
    status_refused("two assignments for one pod set",
                   {**admitted(), "admission": {"clusterQueue": "q", "podSetAssignments": [
                       ASSIGNED, {**ASSIGNED, "name": "b"}]}},
                   '<nil>: Invalid value: "object": podSetAssignments must have the same number of '
                   "podSets as the spec", INVALID),
    change_refused("more pods while reserved", {"podSets": [pod_set(count=6)]},
                   f"spec.podSets.0: Invalid value: {SHOWN % 6}: field is immutable", FORBIDDEN),
    change_refused("another queue while reserved", {"queueName": "b"},
                   f'<nil>: Invalid value: "object": queueName {WHILE_RESERVED}'),
    change_refused("another time while admitted", {"maximumExecutionTimeSeconds": 9},
                   f'<nil>: Invalid value: "object": maximumExecutionTimeSeconds {WHILE_RESERVED}',
                   INVALID, ADMITTED),
    change_refused("a class while reserved", {"priority": 1, "priorityClassRef": OWN},
                   f'<nil>: Invalid value: "object": priorityClassRef {WHILE_RESERVED}'),
    change_refused("another class of pods while reserved", {"priorityClassRef": {"name": "low"}},
                   '<nil>: Invalid value: "object": priorityClassRef.name is immutable for '
                   "scheduling.k8s.io/priorityclass while workload quota reserved",
                   priority=1, priorityClassRef=PODS_OWN),
    Refusal("a gate that comes late", "kueue 2.4", workload(name="ungated"), FORBIDDEN,
            denied("Workload",
                   f"{GATES_PATH}: Forbidden: cannot add admission gate after creation"),
            {"metadata": {"annotations": {GATES: "a.io/b"}}}),
    Refusal("another gate", "kueue 2.4", workload(name="gated", annotations={GATES: "a.io/b"}),
            FORBIDDEN,
            denied("Workload", f"{GATES_PATH}: Forbidden: can only remove gates, not add new ones"),
            {"metadata": {"annotations": {GATES: "a.io/b,a.io/c"}}}),
    change_refused("a class of the other kind while reserved", {"priorityClassRef": PODS_OWN},
                   f'[<nil>: Invalid value: "object": priorityClassRef.group {WHILE_RESERVED}, '
                   f'<nil>: Invalid value: "object": priorityClassRef.kind {WHILE_RESERVED}]',
                   priority=1, priorityClassRef=OWN),
    *(status_refused(f"a check that {title}", {"admissionChecks": [
                         {"name": "a", "state": "Ready", "message": "", "lastTransitionTime": NOW,
                          "podSetUpdates": [{"name": "main", "tolerations": [toleration]}]}]},
                     "status.admissionChecks[0].podSetUpdates[0].tolerations: Invalid value: "
                     f'"array": {text}', INVALID)
      for title, (toleration, text) in TOLERATIONS.items()),
    old_refused("a former class without priority", {"priorityClassName": "high"},
                'spec: Invalid value: "object": priority should not be nil when '
                "priorityClassName is set"),
    old_refused("another former source while reserved", FORMER,
                '<nil>: Invalid value: "object": priorityClassSource '
                f"{WHILE_RESERVED}", {"priorityClassSource": "scheduling.k8s.io/priorityclass"}),
    old_refused("another former class while reserved",
                {**FORMER, "priorityClassSource": "scheduling.k8s.io/priorityclass"},
                '<nil>: Invalid value: "object": priorityClassName is immutable while workload '
                "quota reserved and priorityClassSource is not equal to "
                "kueue.x-k8s.io/workloadpriorityclass", {"priorityClassName": "low"}),
    status_refused("another cluster", {"clusterName": "w2"},
                   'status: Invalid value: "object": clusterName is immutable once set', INVALID,
                   Change({"status": {"nominatedClusterNames": ["w1"]}}, "status"),
                   Change({"status": {"nominatedClusterNames": None, "clusterName": "w1"}},
                          "status")),
    status_refused("more values than levels", placed(valuesPerLevel=[VALUE, VALUE]),
                   f'{PLACED}: Invalid value: "object": valuesPerLevel must have the same length '
                   "as the number of levels in this TopologyAssignment", INVALID),
    status_refused("more counts than domains", placed(podCounts={"individual": [1, 2]}),
                   f'{PLACED}.slices[0]: Invalid value: "object": podCounts.individual must have '
                   "length equal to domainCount", INVALID),
    status_refused("more roots than domains",
                   placed(valuesPerLevel=[{"individual": {"roots": ["a", "b"]}}]),
                   f'{PLACED}.slices[0]: Invalid value: "object": valuesPerLevel.individual, if '
                   "set, must have roots of length equal to domainCount of this "
                   "TopologyAssignmentSlice", INVALID),
    status_refused("two ways to count", placed(podCounts={"universal": 3, "individual": [3]}),
                   f'{PLACED}.slices[0].podCounts: Invalid value: "object": {EITHER}', INVALID),
    status_refused("no value at all", placed(valuesPerLevel=[{}]),
                   f'{PLACED}.slices[0].valuesPerLevel[0]: Invalid value: "object": {EITHER}',
                   INVALID),
]  # fmt: skip
