"""Every request of Kueue's kinds, and of jobs in queues, that is refused: the objects that are
there before, what is asked for, and the answer: code, reason and message.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Object = dict[str, Any]
API = "kueue.x-k8s.io/v1beta2"
NAME = "refused"
FORBIDDEN = (403, "Forbidden")
INVALID = (422, "Invalid")


@dataclass(frozen=True)
class Change:
    """A merge patch."""

    patch: Object
    subresource: str = ""


@dataclass(frozen=True)
class Refusal:
    """A create of `obj`, or where there is a `patch`, a change of it once it was created."""

    title: str
    rule: str
    obj: Object
    answer: tuple[int, str]
    message: str
    patch: Object | None = None
    subresource: str = ""
    before: tuple[Change, ...] = ()
    """What others did to it before the patch."""

    @property
    def is_lasting(self) -> bool:
        """Whether it is the same while controllers work on what is there."""
        return not self.before


def denied(kind: str, text: str) -> str:
    return f'admission webhook "v{kind.lower()}.kb.io" denied the request: {text}'


def unread(text: str) -> str:
    """What is so wrong that no rule is asked any more."""
    return (
        f"[{text}, <nil>: Invalid value: null: some validation rules were not checked because the "
        "object was invalid; correct the existing errors to complete validation]"
    )


def invalid(kind: str, text: str, name: str = NAME) -> str:
    return f'{kind}.kueue.x-k8s.io "{name}" is invalid: {text}'


def named(kind: str, spec: Any = None, name: str = NAME, **more: Any) -> Object:
    api = {"Job": "batch/v1", "JAXJob": "kubeflow.org/v1"}.get(kind, API)
    made = {"apiVersion": api, "kind": kind, "metadata": {"name": name}, **more}
    return made if spec is None else {**made, "spec": spec}


# ClusterQueues and Cohorts


def quota(name: str = "cpu", nominal: Any = "4", **limits: Any) -> Object:
    return {"name": name, "nominalQuota": nominal, **limits}


def group(*quotas: Object, flavors: Sequence[str] = ("default",), **more: Any) -> Object:
    offered = [{"name": name, "resources": list(quotas)} for name in flavors]
    return {"coveredResources": [each["name"] for each in quotas], "flavors": offered, **more}


def queue(*groups: Object, **spec: Any) -> Object:
    return named("ClusterQueue", {"resourceGroups": list(groups), **spec})


def cohort(*groups: Object, **spec: Any) -> Object:
    return named("Cohort", {"resourceGroups": list(groups), **spec})


FIRST = "spec.resourceGroups[0].flavors[0].resources[0]"
NEGATIVE = "must be greater than or equal to 0"
NAME_PART = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
SUBDOMAIN = r"'^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$'"
NEVER = "reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never"
PREFERENCE = (
    "preference can only be set when both whenCanBorrow and whenCanPreempt are TryNextFlavor"
)
SAME_NUMBER = "flavors must have the same number of resources as the coveredResources"


def queue_denied(title: str, obj: Object, text: str, rule: str = "kueue 1.1") -> Refusal:
    return Refusal(title, rule, obj, FORBIDDEN, denied(obj["kind"], text))


def queue_invalid(title: str, obj: Object, text: str, rule: str = "kueue 1.1") -> Refusal:
    return Refusal(title, rule, obj, INVALID, invalid(obj["kind"], text))


def many(count: int, **more: Any) -> list[Object]:
    """Five groups, each of so many flavors."""
    return [group(quota(f"r{at}"), flavors=[f"f{at}-{n}" for n in range(count)]) for at in range(5)]


QUEUES = [
    queue_denied("a negative quota", queue(group(quota(nominal="-1"))),
                 f'{FIRST}.nominalQuota: Invalid value: "-1": {NEGATIVE}'),
    queue_denied("negative limits",
                 queue(group(quota(borrowingLimit="-1", lendingLimit="-2")), cohortName="c"),
                 f'[{FIRST}.borrowingLimit: Invalid value: "-1": {NEGATIVE}, '
                 f'{FIRST}.lendingLimit: Invalid value: "-2": {NEGATIVE}]'),
    queue_denied("a resource and a flavor twice", queue(group(quota()), group(quota())),
                 '[spec.resourceGroups[1].coveredResources[0]: Duplicate value: "cpu", '
                 'spec.resourceGroups[1].flavors[0].name: Duplicate value: "default"]'),
    queue_denied("a bad name of a resource", queue(group(quota("@cpu"))),
                 f'spec.resourceGroups[0].coveredResources[0]: Invalid value: "@cpu": {NAME_PART}'),
    queue_denied("resources in another order",
                 queue(group(quota("cpu"), quota("memory"), coveredResources=["memory", "cpu"])),
                 f'[{FIRST}.name: Invalid value: "cpu": must match the name in coveredResources, '
                 'spec.resourceGroups[0].flavors[0].resources[1].name: Invalid value: "memory": '
                 "must match the name in coveredResources]"),
    queue_denied("a lending limit without cohort", queue(group(quota(lendingLimit="1"))),
                 f'{FIRST}.lendingLimit: Invalid value: "1": must be nil when cohort is empty'),
    queue_denied("lending more than there is",
                 queue(group(quota(lendingLimit="5")), cohortName="c"),
                 f'{FIRST}.lendingLimit: Invalid value: "5": must be less than or equal to the '
                 "nominalQuota"),
    queue_denied("a bad selector",
                 queue(namespaceSelector={"matchExpressions": [{"key": "a", "operator": "In"}]}),
                 "spec.namespaceSelector.matchExpressions[0].values: Required value: must be "
                 "specified when `operator` is 'In' or 'NotIn'"),
    queue_denied("a negative weight", queue(fairSharing={"weight": "-1"}),
                 f'spec.fairSharing.weight: Invalid value: "-1": {NEGATIVE}'),
    queue_denied("a weight that is too small", queue(fairSharing={"weight": "1n"}),
                 'spec.fairSharing.weight: Invalid value: "1n": When not 0, weight must be > '
                 "10e-9"),
    queue_denied("too many flavors", queue(*many(64)),
                 "spec.resourceGroups: Invalid value: 320: total number of flavors across all "
                 "resourceGroups must be ≤ 256, got 320"),
    queue_denied("too many resources",
                 queue(*(group(*(quota(f"r{at}-{n}") for n in range(64)), flavors=[f"f{at}"])
                         for at in range(5))),
                 "spec.resourceGroups: Invalid value: 320: total number of covered resources "
                 "across all resourceGroups must be ≤ 256, got 320"),
    queue_denied("too many combinations",
                 queue(group(*(quota(f"r{n}") for n in range(27)),
                             flavors=[f"f{n}" for n in range(19)])),
                 "spec.resourceGroups[0]: Invalid value: 513: number of flavor-resource "
                 "combinations in a resourceGroup must be ≤ 512, got 513"),
    queue_denied("a check on a flavor that is not offered",
                 queue(group(quota()), admissionChecksStrategy={
                     "admissionChecks": [{"name": "a", "onFlavors": ["x"]}]}),
                 "spec.admissionChecksStrategy.admissionChecks[0].onFlavors[0]: Unsupported "
                 'value: "x": supported values: "default"'),
    queue_denied("limits of a cohort without parent",
                 cohort(group(quota(borrowingLimit="1", lendingLimit="2"))),
                 f'[{FIRST}.borrowingLimit: Invalid value: "1": must be nil when parent is empty, '
                 f'{FIRST}.lendingLimit: Invalid value: "2": must be nil when parent is empty]',
                 "kueue 1.3"),
    queue_denied("a negative quota of a cohort", cohort(group(quota(nominal="-1"))),
                 f'{FIRST}.nominalQuota: Invalid value: "-1": {NEGATIVE}', "kueue 1.3"),
    queue_denied("a negative weight of a cohort", cohort(fairSharing={"weight": "-1"}),
                 f'spec.fairSharing.weight: Invalid value: "-1": {NEGATIVE}', "kueue 1.3"),
    queue_invalid("a borrowing limit without cohort", queue(group(quota(borrowingLimit="1"))),
                  'spec: Invalid value: "object": borrowingLimit must be nil when cohort is empty'),
    queue_invalid("borrowing in order to preempt",
                  queue(preemption={"reclaimWithinCohort": "Never",
                                    "borrowWithinCohort": {"policy": "LowerPriority"}}),
                  f'spec.preemption: Invalid value: "object": {NEVER}'),
    queue_invalid("a preference without effect",
                  queue(flavorFungibility={"preference": "BorrowingOverPreemption"}),
                  f'spec.flavorFungibility: Invalid value: "object": {PREFERENCE}'),
    queue_invalid("a flavor without one of the resources",
                  queue(group(quota(), coveredResources=["cpu", "memory"])),
                  f'spec.resourceGroups[0]: Invalid value: "object": {SAME_NUMBER}'),
    queue_invalid("a flavor of a cohort without one of the resources",
                  cohort(group(quota(), coveredResources=["cpu", "memory"])),
                  f'spec.resourceGroups[0]: Invalid value: "object": {SAME_NUMBER}', "kueue 1.3"),
    queue_invalid("an unknown strategy", queue(queueingStrategy="LIFO"),
                  unread('spec.queueingStrategy: Unsupported value: "LIFO": supported values: '
                         '"StrictFIFO", "BestEffortFIFO"')),
    queue_invalid("an unknown way to stop", queue(stopPolicy="Halt"),
                  unread('spec.stopPolicy: Unsupported value: "Halt": supported values: "None", '
                         '"Hold", "HoldAndDrain"')),
    queue_invalid("a bad name of a cohort", queue(cohortName="@"),
                  'spec.cohortName: Invalid value: "@": spec.cohortName in body should match '
                  f"{SUBDOMAIN}"),
    queue_invalid("a bad name of a flavor", queue(group(quota(), flavors=["@"])),
                  'spec.resourceGroups[0].flavors[0].name: Invalid value: "@": '
                  f"spec.resourceGroups[0].flavors[0].name in body should match {SUBDOMAIN}"),
    queue_invalid("a bad name of a parent", cohort(parentName="@"),
                  'spec.parentName: Invalid value: "@": spec.parentName in body should match '
                  f"{SUBDOMAIN}", "kueue 1.3"),
    queue_invalid("a group of nothing", queue({"coveredResources": ["cpu"], "flavors": []}),
                  "spec.resourceGroups[0].flavors: Invalid value: 0: "
                  "spec.resourceGroups[0].flavors in body should have at least 1 items"),
    Refusal("another policy for concurrent admission", "kueue 1.1",
            named("ClusterQueue", {}, "keeps-policy"), FORBIDDEN,
            denied("ClusterQueue", "spec.concurrentAdmissionPolicy: Invalid value: "
                   '{"migration":{"mode":"TryPreferredFlavors"}}: field is immutable'),
            {"spec": {"concurrentAdmissionPolicy": {"migration": {"mode": "TryPreferredFlavors"}}}},
            ),
]  # fmt: skip


# ResourceFlavors and the smaller kinds


def flavor(**spec: Any) -> Object:
    return named("ResourceFlavor", spec)


def tolerating(**toleration: Any) -> Object:
    return flavor(tolerations=[toleration])


def tolerations_invalid(title: str, toleration: Object, text: str) -> Refusal:
    message = invalid("ResourceFlavor", f'spec.tolerations: Invalid value: "array": {text}')
    return Refusal(title, "kueue 1.0", tolerating(**toleration), INVALID, message)


def flavor_denied(title: str, obj: Object, text: str) -> Refusal:
    return Refusal(title, "kueue 1.4", obj, FORBIDDEN, denied("ResourceFlavor", text))


TAINT = {"key": "a", "value": "b", "effect": "NoSchedule"}
VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  "
    "or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
EFFECTS = "supported taint effect values: 'NoSchedule', 'PreferNoSchedule', 'NoExecute'"
HOSTNAME = "kubernetes.io/hostname"
LEVELS = (
    "levels are mutable only when kubernetes.io/hostname is the lowest level both before and "
    "after the change"
)


def levels(*labels: str, name: str = NAME) -> Object:
    return named("Topology", {"levels": [{"nodeLabel": label} for label in labels]}, name)


FLAVORS = [
    tolerations_invalid("no key, and not for all", {"operator": "Equal"},
                        "operator must be Exists when 'key' is empty, which means 'match all "
                        "values and all keys'"),
    tolerations_invalid("seconds without their effect",
                        {"key": "a", "effect": "NoSchedule", "tolerationSeconds": 1},
                        "effect must be 'NoExecute' when 'tolerationSeconds' is set"),
    tolerations_invalid("an unknown operator", {"key": "a", "operator": "Likes"},
                        "supported toleration values: 'Equal'(default), 'Exists'"),
    tolerations_invalid("a value that must exist", {"key": "a", "operator": "Exists", "value": "b"},
                        "a value must be empty when 'operator' is 'Exists'"),
    tolerations_invalid("an unknown effect", {"key": "a", "effect": "Never"}, EFFECTS),
    Refusal("a taint of unknown effect", "kueue 1.4",
            flavor(nodeTaints=[TAINT | {"effect": "Never"}]), INVALID,
            invalid("ResourceFlavor", f'spec.nodeTaints: Invalid value: "array": {EFFECTS}')),
    Refusal("a topology without labels", "kueue 1.4", flavor(topologyName="t"), INVALID,
            invalid("ResourceFlavor", 'spec: Invalid value: "object": no such key: nodeLabels '
                    "evaluating rule: at least one nodeLabel is required when topology is set")),
    Refusal("another topology", "kueue 1.4",
            named("ResourceFlavor", {"topologyName": "t", "nodeLabels": {"a": "b"}}, "placed"),
            INVALID,
            invalid("ResourceFlavor", 'spec: Invalid value: "object": topologyName is immutable '
                    "when topologyName is set", "placed"),
            {"spec": {"topologyName": "u"}}),
    flavor_denied("a bad label", flavor(nodeLabels={"@": "b"}),
                  f'spec.nodeLabels: Invalid value: "@": {NAME_PART}'),
    flavor_denied("a bad value of a label", flavor(nodeLabels={"a": "@"}),
                  f'spec.nodeLabels: Invalid value: "@": {VALUE}'),
    flavor_denied("a bad key of a taint", flavor(nodeTaints=[TAINT | {"key": "@"}]),
                  f'spec.nodeTaints[0].key: Invalid value: "@": {NAME_PART}'),
    flavor_denied("a taint twice", flavor(nodeTaints=[TAINT, TAINT | {"value": "c"}]),
                  'spec.nodeTaints[1]: Duplicate value: {"key":"a","value":"c","effect":'
                  '"NoSchedule"}: taints must be unique by key and effect pair'),
    flavor_denied("a bad key of a toleration", tolerating(key="@"),
                  f'spec.tolerations[0].key: Invalid value: "@": {NAME_PART}'),
    Refusal("another queue behind a door", "kueue 1.2",
            named("LocalQueue", {"clusterQueue": "a"}, "door"), INVALID,
            invalid("LocalQueue", 'spec.clusterQueue: Invalid value: "string": field is immutable',
                    "door"),
            {"spec": {"clusterQueue": "b"}}),
    Refusal("another controller of a check", "kueue 1.6",
            named("AdmissionCheck", {"controllerName": "a"}, "checked"), INVALID,
            invalid("AdmissionCheck", 'spec.controllerName: Invalid value: "string": field is '
                    "immutable", "checked"),
            {"spec": {"controllerName": "b"}}),
    Refusal("a check of nobody", "kueue 1.6", named("AdmissionCheck", {}), INVALID,
            invalid("AdmissionCheck", unread("spec.controllerName: Required value"))),
    Refusal("a level twice", "kueue 1.6", levels("a", "a"), INVALID,
            invalid("Topology", 'spec.levels: Invalid value: "array": must be unique')),
    Refusal("hosts above racks", "kueue 1.6", levels(HOSTNAME, "rack"), INVALID,
            invalid("Topology", 'spec.levels: Invalid value: "array": the kubernetes.io/hostname '
                    "label can only be used at the lowest level of topology")),
    Refusal("other levels", "kueue 1.6", levels("block", "rack", name="levelled"), INVALID,
            invalid("Topology", f'spec.levels: Invalid value: "array": {LEVELS}', "levelled"),
            {"spec": {"levels": [{"nodeLabel": "block"}]}}),
    Refusal("a priority without value", "kueue 1.6", named("WorkloadPriorityClass"), INVALID,
            invalid("WorkloadPriorityClass", "value: Required value")),
    Refusal("a cluster twice", "kueue 1.6", named("MultiKueueConfig", {"clusters": ["a", "a"]}),
            INVALID,
            invalid("MultiKueueConfig", 'spec.clusters: Invalid value: "array": must be unique')),
    Refusal("a cluster from nowhere", "kueue 1.6",
            named("MultiKueueCluster", {"clusterSource": {}}), INVALID,
            invalid("MultiKueueCluster", 'spec.clusterSource: Invalid value: "object": exactly '
                    "one of the fields in [kubeConfig clusterProfileRef] must be set")),
]  # fmt: skip


# Workloads


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
GATES = "kueue.x-k8s.io/admission-gated-by"
GATES_PATH = f"metadata.annotations[{GATES}]"
SHOWN = (
    '{"name":"main","template":{"metadata":{},"spec":{"containers":[{"name":"c","image":"i",'
    '"resources":{}}],"restartPolicy":"Never"}},"count":%d}'
)
WHILE_RESERVED = "is immutable while workload quota reserved"

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
]  # fmt: skip


# Jobs


def job(
    name: str = NAME, labels: Object | None = None, annotations: Object | None = None,
    kind: str = "Job", **spec: Any,
) -> Object:  # fmt: skip
    pod = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    made = named(kind, {"template": pod, **spec}, name)
    made["metadata"] |= {"labels": {QUEUE: "q", **(labels or {})}, "annotations": annotations or {}}
    return made


def jax_job(**annotations: str) -> Object:
    container = {"name": "jax", "image": "i"}
    worker = {"replicas": 1, "template": {"spec": {"containers": [container]}}}
    made = job(annotations=annotations, kind="JAXJob")
    return {**made, "spec": {"jaxReplicaSpecs": {"Worker": worker}}}


def job_denied(title: str, obj: Object, text: str, rule: str = "jobs A.7") -> Refusal:
    return Refusal(title, rule, obj, FORBIDDEN, denied(obj["kind"], text))


def job_change(title: str, obj: Object, patch: Object, text: str) -> Refusal:
    """Of a Job that runs."""
    obj["metadata"]["name"] = title.replace(" ", "-")
    runs = Change({"spec": {"suspend": False}})
    return Refusal(
        title, "kueue 9.6", obj, FORBIDDEN, denied("Job", text), patch, before=(runs,)
    )  # fmt: skip


QUEUE = "kueue.x-k8s.io/queue-name"
CLASS = "kueue.x-k8s.io/priority-class"
SECONDS = "kueue.x-k8s.io/max-exec-time-seconds"
PREBUILT = "kueue.x-k8s.io/prebuilt-workload-name"
ELASTIC = "kueue.x-k8s.io/elastic-job"
LEAST = "kueue.x-k8s.io/job-min-parallelism"
EQUAL = "kueue.x-k8s.io/job-completions-equal-parallelism"
SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    r"for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
SYNTAX = 'strconv.Atoi: parsing "x": invalid syntax'


def labelled(key: str, value: Any) -> Object:
    return {"metadata": {"labels": {key: value}}}


def annotated(key: str, value: Any) -> Object:
    return {"metadata": {"annotations": {key: value}}}


JOBS = [
    job_denied("a bad name of a queue", job(labels={QUEUE: "A_b"}),
               f'metadata.labels[{QUEUE}]: Invalid value: "A_b": {SUBDOMAIN_TEXT}'),
    job_denied("a bad name of a workload", job(annotations={PREBUILT: "A_b"}),
               f'metadata.annotations[{PREBUILT}]: Invalid value: "A_b": {SUBDOMAIN_TEXT}'),
    job_denied("a workload for a kind that takes none", jax_job(**{PREBUILT: "w"}),
               f'metadata.annotations[{PREBUILT}]: Forbidden: Is not supported for '
               '"kubeflow.org/v1, Kind=JAXJob"'),
    job_denied("a kind that is not elastic", jax_job(**{ELASTIC: "true"}),
               f"metadata.annotations[{ELASTIC}]: Forbidden: elastic job is not supported for "
               '"kubeflow.org/v1, Kind=JAXJob"'),
    job_denied("a time that is no number", job(labels={SECONDS: "x"}),
               f'metadata.labels[{SECONDS}]: Invalid value: "x": {SYNTAX}'),
    job_denied("no time", job(labels={SECONDS: "0"}),
               f"metadata.labels[{SECONDS}]: Invalid value: 0: should be greater than 0"),
    job_denied("empty gates of a job", job(annotations={GATES: "a.io/b,"}),
               f'{GATES_PATH}: Invalid value: "a.io/b,": cannot contain empty gate names'),
    job_denied("a gate of a job twice", job(annotations={GATES: "a.io/b,a.io/b"}),
               f'{GATES_PATH}: Invalid value: "a.io/b,a.io/b": duplicate gate name: a.io/b'),
    job_denied("a gate of a job without domain", job(annotations={GATES: "b"}),
               f'{GATES_PATH}: Invalid value: "b": must be a domain-prefixed path (such as '
               '"acme.io/foo")'),
    job_denied("too few at least", job(annotations={LEAST: "0"}, parallelism=3),
               f"metadata.annotations[{LEAST}]: Invalid value: 0: should be between 0 and 2",
               "kueue 9.6"),
    job_denied("too many at least", job(annotations={LEAST: "3"}, parallelism=3),
               f"metadata.annotations[{LEAST}]: Invalid value: 3: should be between 0 and 2",
               "kueue 9.6"),
    job_denied("at least no number", job(annotations={LEAST: "x"}, parallelism=3),
               f'metadata.annotations[{LEAST}]: Invalid value: "x": {SYNTAX}', "kueue 9.6"),
    job_denied("fewer pods of an elastic job",
               job(annotations={LEAST: "1", ELASTIC: "true"}, parallelism=3),
               f"metadata.annotations[{LEAST}]: Invalid value: 1: partial admission and elastic "
               "job cannot be used together", "kueue 9.6"),
    job_denied("equal, and not indexed",
               job(annotations={EQUAL: "true"}, parallelism=2, completions=2),
               f'metadata.annotations[{EQUAL}]: Invalid value: "NonIndexed": should not be enabled '
               "for NonIndexed jobs", "kueue 9.6"),
    job_denied("equal, and different",
               job(annotations={EQUAL: "true"}, parallelism=2, completions=3,
                   completionMode="Indexed"),
               "spec.completions: Invalid value: 3: should be equal to parallelism when "
               f"{EQUAL} annotation is true", "kueue 9.6"),
    job_change("another queue", job(), labelled(QUEUE, "other"),
               f'metadata.labels[{QUEUE}]: Invalid value: "other": field is immutable'),
    job_change("another workload", job(annotations={PREBUILT: "w"}), annotated(PREBUILT, "v"),
               f'metadata.annotations[{PREBUILT}]: Invalid value: "v": field is immutable'),
    job_change("another time", job(labels={SECONDS: "9"}), labelled(SECONDS, "8"),
               f'metadata.labels[{SECONDS}]: Invalid value: "8": field is immutable'),
    job_change("a class for what runs", job(), labelled(CLASS, "high"),
               f'metadata.labels[{CLASS}]: Invalid value: "high": WorkloadPriorityClass cannot be '
               "added to a non-suspended workload"),
    job_change("no class any more", job(labels={CLASS: "high"}), labelled(CLASS, None),
               f'metadata.labels[{CLASS}]: Invalid value: "": WorkloadPriorityClass cannot be '
               "removed from a workload"),
    job_change("elastic from now on", job(), annotated(ELASTIC, "true"),
               f"metadata.annotations[{ELASTIC}]: Invalid value: true: field is immutable"),
    job_change("a gate from now on", job(), annotated(GATES, "a.io/b"),
               f"{GATES_PATH}: Forbidden: cannot add admission gate after creation"),
    job_change("one more gate", job(annotations={GATES: "a.io/b"}),
               annotated(GATES, "a.io/b,a.io/c"),
               f"{GATES_PATH}: Forbidden: can only remove gates, not add new ones"),
    job_change("more pods than were admitted", job(annotations={LEAST: "1"}, parallelism=3),
               {"spec": {"parallelism": 2}},
               "spec.parallelism: Forbidden: cannot change when partial admission is enabled and "
               "the job is not suspended"),
]  # fmt: skip

ALL = [*QUEUES, *FLAVORS, *WORKLOADS, *JOBS]
