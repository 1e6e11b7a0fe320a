"""Requests of queues and flavors that are refused: what is there before, what is asked for, and
the answer: code, reason and message.
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

    def served_at(self, path: str) -> str:
        """The path of its kind, in its own version."""
        version = str(self.obj["apiVersion"]).rpartition("/")[2]
        return path.replace("/v1beta2/", f"/{version}/")


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


GATES = "kueue.x-k8s.io/admission-gated-by"
GATES_PATH = f"metadata.annotations[{GATES}]"


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
    Refusal("other levels of the version before", "kueue 1.6",
            {**levels("block", HOSTNAME, name="levelled-before"),
             "apiVersion": "kueue.x-k8s.io/v1beta1"}, INVALID,
            invalid("Topology", 'spec.levels: Invalid value: "array": field is immutable',
                    "levelled-before"),
            {"spec": {"levels": [{"nodeLabel": HOSTNAME}]}}),
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
