"""Requests that are refused in the old version, by a gate that is off by default, or in places
that hardly anybody writes.
"""

from typing import Any

from support.kueue_refusals import (
    FORBIDDEN,
    INVALID,
    Object,
    Refusal,
    denied,
    flavor,
    group,
    invalid,
    levels,
    named,
    queue,
    queue_denied,
    quota,
    unread,
)
from support.kueue_workload_refusals import (
    NOW,
    OWN,
    RESERVED,
    WHILE_RESERVED,
    change_refused,
    class_of,
    pod_set,
    status_refused,
    workload,
    workload_denied,
)

OLD_API = "kueue.x-k8s.io/v1beta1"
BOOST = "kueue.x-k8s.io/priority-boost"


def old(obj: Object, **spec: Any) -> Object:
    """The same in v1beta1."""
    return {**obj, "apiVersion": OLD_API, "spec": {**obj["spec"], **spec}}


# Concurrent admission and boosts, with their gates on

POLICY = "spec.concurrentAdmissionPolicy.migration.constraints"


def concurrent(*flavors: str, mode: str = "TryPreferredFlavors", **said: Any) -> Object:
    migration: Object = {"mode": mode}
    if last := said.pop("last", ""):
        migration["constraints"] = {"lastAcceptableFlavorName": last}
    return queue(
        group(quota(), flavors=flavors or ("default",)),
        *said.pop("more", ()),
        concurrentAdmissionPolicy={"migration": migration},
        **said,
    )


GATED = [
    queue_denied("variants of two groups",
                 concurrent(more=[group(quota("memory"), flavors=["other"])]),
                 "spec.resourceGroups: Invalid value: 2: must have exactly one resource group with "
                 "concurrentAdmissionPolicy"),
    queue_denied("too many variants", concurrent(*(f"f{n}" for n in range(17))),
                 "spec.resourceGroups[0].flavors: Too many: 17: must have at most 16 items"),
    queue_denied("variants in strict order", concurrent(queueingStrategy="StrictFIFO"),
                 'spec.queueingStrategy: Invalid value: "StrictFIFO": must not be StrictFIFO with '
                 "concurrentAdmissionPolicy"),
    queue_denied("an end of migration where there is none",
                 concurrent(mode="RetainFirstAdmission", last="default"),
                 f"{POLICY}: Forbidden: may only be set with the mode TryPreferredFlavors"),
    queue_denied("an end of migration that is not offered", concurrent("a", "b", last="c"),
                 f'{POLICY}.lastAcceptableFlavorName: Unsupported value: "c": supported values: '
                 '"a", "b"'),
    Refusal("an unknown way to migrate", "kueue 1.1", concurrent(mode="Never"), INVALID,
            invalid("ClusterQueue", unread(
                'spec.concurrentAdmissionPolicy.migration.mode: Unsupported value: "Never": '
                'supported values: "TryPreferredFlavors", "RetainFirstAdmission"'))),
    *(workload_denied(f"a boost of {text!r}", workload(annotations={BOOST: text}),
                      f'metadata.annotations[{BOOST}]: Invalid value: "{text}": must be a signed '
                      "32-bit integer")
      for text in ("", "much", "1.5", "2147483648")),
]  # fmt: skip


# Gates of preemption

CLOSED = {"name": "g", "position": "Shut", "lastTransitionTime": NOW}
GATES_OF_PREEMPTION = [
    Refusal("nine gates of preemption", "kueue 7.9",
            workload(preemptionGates=[{"name": f"g{n}"} for n in range(9)]), INVALID,
            invalid("Workload", unread(
                "spec.preemptionGates: Too many: 9: must have at most 8 items"))),
    Refusal("a gate of preemption twice", "kueue 7.9",
            workload(preemptionGates=[{"name": "g"}, {"name": "g"}]), INVALID,
            invalid("Workload", 'spec.preemptionGates[1]: Duplicate value: {"name":"g"}')),
    Refusal("a gate of preemption without name", "kueue 7.9",
            workload(preemptionGates=[{"name": ""}]), INVALID,
            invalid("Workload", 'spec.preemptionGates[0].name: Invalid value: "": '
                    "spec.preemptionGates[0].name in body should be at least 1 chars long")),
]  # fmt: skip


# What checks add to pods

TOLERATIONS = "status.admissionChecks[0].podSetUpdates[0].tolerations"


def tolerated(title: str, toleration: Object, text: str) -> Refusal:
    check = {"name": "a", "state": "Ready", "message": "", "lastTransitionTime": NOW}
    update = {"name": "main", "tolerations": [toleration]}
    status = {"admissionChecks": [{**check, "podSetUpdates": [update]}]}
    return status_refused(title, status, f'{TOLERATIONS}: Invalid value: "array": {text}', INVALID)


UPDATES = [
    tolerated("a check that tolerates no key", {"operator": "Equal"},
              "operator must be Exists when 'key' is empty, which means 'match all values and all "
              "keys'"),
    tolerated("a check that tolerates for seconds",
              {"key": "a", "effect": "NoSchedule", "tolerationSeconds": 1},
              "effect must be 'NoExecute' when 'tolerationSeconds' is set"),
    tolerated("a check of an unknown operator", {"key": "a", "operator": "Likes"},
              "supported toleration values: 'Equal'(default), 'Exists'"),
    tolerated("a check of a value that must exist",
              {"key": "a", "operator": "Exists", "value": "b"},
              "a value must be empty when 'operator' is 'Exists'"),
    tolerated("a check of an unknown effect", {"key": "a", "effect": "Never"},
              "supported taint effect values: 'NoSchedule', 'PreferNoSchedule', 'NoExecute'"),
]  # fmt: skip


# What may not change while quota is held

PODS_OWN = class_of("scheduling.k8s.io", "PriorityClass")
CHANGES = [
    change_refused("another sort of class while reserved", {"priorityClassRef": PODS_OWN},
                   '[<nil>: Invalid value: "object": priorityClassRef.group '
                   f'{WHILE_RESERVED}, <nil>: Invalid value: "object": priorityClassRef.kind '
                   f"{WHILE_RESERVED}]",
                   priority=1, priorityClassRef=OWN),
    change_refused("no class while reserved", {"priorityClassRef": None},
                   f'<nil>: Invalid value: "object": priorityClassRef {WHILE_RESERVED}',
                   priority=1, priorityClassRef=OWN),
]  # fmt: skip


# ResourceFlavors with more than they may have


TAINTS = [{"key": f"k{n}", "value": "v", "effect": "NoSchedule"} for n in range(9)]
LARGE = [
    Refusal("nine taints", "kueue 1.4", flavor(nodeTaints=TAINTS), INVALID,
            invalid("ResourceFlavor", unread(
                "spec.nodeTaints: Too many: 9: must have at most 8 items"))),
    Refusal("nine labels", "kueue 1.4", flavor(nodeLabels={f"k{n}": "v" for n in range(9)}),
            INVALID,
            invalid("ResourceFlavor", unread(
                "spec.nodeLabels: Too many: 9: must have at most 8 items"))),
]  # fmt: skip


# The old version

POD_CLASS = "scheduling.k8s.io/priorityclass"
OWN_CLASS = "kueue.x-k8s.io/workloadpriorityclass"


def old_change(title: str, spec: Object, text: str, **made: Any) -> Refusal:
    name = title.replace(" ", "-")
    obj = old(workload(name=name), **made)
    shown = invalid("Workload", f'<nil>: Invalid value: "object": {text}', name)
    return Refusal(title, "kueue 1.5", obj, INVALID, shown, {"spec": spec}, "", (RESERVED,))


OLD = [
    Refusal("a class by name without priority", "kueue 1.5",
            old(workload(), priorityClassName="high", priorityClassSource=OWN_CLASS),
            INVALID,
            invalid("Workload", 'spec: Invalid value: "object": priority should not be nil when '
                    "priorityClassName is set")),
    Refusal("more than all in the old version", "kueue 1.5", old(workload(pod_set(minCount=4))),
            INVALID,
            invalid("Workload", 'spec.podSets[0]: Invalid value: "object": minCount should be '
                    "positive and less or equal to count")),
    old_change("another source of a class while reserved", {"priorityClassSource": OWN_CLASS},
               f"priorityClassSource {WHILE_RESERVED}",
               priority=1, priorityClassName="high", priorityClassSource=POD_CLASS),
    old_change("another class by name while reserved", {"priorityClassName": "low"},
               f"priorityClassName {WHILE_RESERVED} and priorityClassSource is not equal to "
               "kueue.x-k8s.io/workloadpriorityclass",
               priority=1, priorityClassName="high", priorityClassSource=POD_CLASS),
    old_change("another queue while reserved in the old version", {"queueName": "b"},
               f"queueName {WHILE_RESERVED}"),
    Refusal("other levels in the old version", "kueue 1.6",
            old(levels("block", "kubernetes.io/hostname", name="old-levels")), INVALID,
            invalid("Topology", 'spec.levels: Invalid value: "array": field is immutable',
                    "old-levels"),
            {"spec": {"levels": [{"nodeLabel": "rack"},
                                 {"nodeLabel": "kubernetes.io/hostname"}]}}),
    Refusal("a borrowing limit without cohort in the old version", "kueue 1.1",
            old(queue(group(quota(borrowingLimit="1")))), INVALID,
            invalid("ClusterQueue", 'spec: Invalid value: "object": borrowingLimit must be nil '
                    "when cohort is empty")),
    Refusal("a negative quota in the old version", "kueue 1.0",
            old(queue(group(quota(nominal="-1")))), FORBIDDEN,
            denied("ClusterQueue", "spec.resourceGroups[0].flavors[0].resources[0].nominalQuota: "
                   'Invalid value: "-1": must be greater than or equal to 0')),
    Refusal("another queue behind an old door", "kueue 1.2",
            old(named("LocalQueue", {"clusterQueue": "a"}, "old-door")), INVALID,
            invalid("LocalQueue", 'spec.clusterQueue: Invalid value: "string": field is immutable',
                    "old-door"),
            {"spec": {"clusterQueue": "b"}}),
]  # fmt: skip
