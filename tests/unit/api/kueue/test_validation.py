"""What Kueue's webhooks refuse: one line per mistake, with the text that a client sees."""

from typing import Any

import pytest

from fleetqueue.api.field_errors import aggregate
from fleetqueue.api.kueue import labels
from fleetqueue.api.kueue.validation import Rules, validate
from fleetqueue.base import codec
from fleetqueue.base.paths import set_in_place

Json = dict[str, Any]


def quota(name: str = "cpu", nominal: Any = "4", **limits: Any) -> Json:
    return {"name": name, "nominalQuota": nominal, **limits}


def group(*quotas: Json, flavor: str = "default") -> Json:
    return {
        "coveredResources": [each["name"] for each in quotas],
        "flavors": [{"name": flavor, "resources": list(quotas)}],
    }


def cluster_queue(*groups: Json, **spec: Any) -> Json:
    return {"kind": "ClusterQueue", "metadata": {}, "spec": {"resourceGroups": [*groups], **spec}}


def cohort(*groups: Json, **spec: Any) -> Json:
    return cluster_queue(*groups, **spec) | {"kind": "Cohort"}


def flavors(*names: str) -> Json:
    made = group(quota())
    made["flavors"] = [{"name": name, "resources": [quota()]} for name in names]
    return made


def checks(*on_flavors: str) -> Json:
    return {"admissionChecks": [{"name": "a", "onFlavors": list(on_flavors)}]}


FIRST = "spec.resourceGroups[0].flavors[0].resources[0]"
RESERVED_NAME = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end"
    " with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for"
    " validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)

# fmt: off
QUEUES: dict[str, tuple[Json, list[str]]] = {
    "a plain queue": (cluster_queue(group(quota())), []),
    "nothing at all": ({"kind": "ClusterQueue"}, []),
    "negative quota": (cluster_queue(group(quota(nominal="-1"))), [
        f'{FIRST}.nominalQuota: Invalid value: "-1": must be greater than or equal to 0']),
    "negative limits": (
        cluster_queue(group(quota(borrowingLimit="-1", lendingLimit="-2")), cohortName="c"), [
            f'{FIRST}.borrowingLimit: Invalid value: "-1": must be greater than or equal to 0',
            f'{FIRST}.lendingLimit: Invalid value: "-2": must be greater than or equal to 0']),
    "a resource and a flavor in two groups": (cluster_queue(group(quota()), group(quota())), [
        'spec.resourceGroups[1].coveredResources[0]: Duplicate value: "cpu"',
        'spec.resourceGroups[1].flavors[0].name: Duplicate value: "default"']),
    "a bad resource name": (cluster_queue(group(quota("@cpu"))), [
        f'spec.resourceGroups[0].coveredResources[0]: Invalid value: "@cpu": {RESERVED_NAME}']),
    "resources in another order": (cluster_queue(
        group(quota("cpu"), quota("memory")) | {"coveredResources": ["memory", "cpu"]}), [
        f'{FIRST}.name: Invalid value: "cpu": must match the name in coveredResources',
        'spec.resourceGroups[0].flavors[0].resources[1].name: Invalid value: "memory":'
        ' must match the name in coveredResources']),
    "limits without a cohort": (cluster_queue(group(quota(borrowingLimit="1", lendingLimit=1))), [
        f'{FIRST}.borrowingLimit: Invalid value: "1": must be nil when cohort is empty',
        f'{FIRST}.lendingLimit: Invalid value: "1": must be nil when cohort is empty']),
    "lending more than there is": (
        cluster_queue(group(quota(lendingLimit="5")), cohortName="c"), [
            f'{FIRST}.lendingLimit: Invalid value: "5":'
            ' must be less than or equal to the nominalQuota']),
    "lending all, in another unit": (
        cluster_queue(group(quota(lendingLimit="4000m")), cohortName="c"), []),
    "borrowing in order to preempt": (
        cluster_queue(preemption={"reclaimWithinCohort": "Never",
                                  "borrowWithinCohort": {"policy": "LowerPriority"}}), [
            'spec.preemption: Invalid value: {"reclaimWithinCohort":"Never",'
            '"borrowWithinCohort":{"policy":"LowerPriority"}}:'
            " reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never"]),
    "a preference without effect": (
        cluster_queue(flavorFungibility={"preference": "BorrowingOverPreemption",
                                         "whenCanBorrow": "MayStopSearch"}), [
            "spec.flavorFungibility.preference: Invalid value: \"BorrowingOverPreemption\":"
            ' preference "BorrowingOverPreemption" requires both whenCanBorrow and whenCanPreempt'
            " to be TryNextFlavor"]),
    "weight zero": (cluster_queue(fairSharing={"weight": 0}), []),
    "a small weight": (cluster_queue(fairSharing={"weight": "2n"}), []),
    "half a weight": (cluster_queue(fairSharing={"weight": "0.5"}), []),
    "a weight too small": (cluster_queue(fairSharing={"weight": "1n"}), [
        'spec.fairSharing.weight: Invalid value: "1n": When not 0, weight must be > 10e-9']),
    "a negative weight": (cluster_queue(fairSharing={"weight": "-1"}), [
        'spec.fairSharing.weight: Invalid value: "-1": must be greater than or equal to 0']),
    "a bad selector": (
        cluster_queue(namespaceSelector={"matchExpressions": [{"key": "a", "operator": "In"}]}), [
            "spec.namespaceSelector.matchExpressions[0].values: Required value:"
            " must be specified when `operator` is 'In' or 'NotIn'"]),
    "too many flavors": (cluster_queue(*(flavors(*(f"f{g}-{n}" for n in range(64)))
                                         | {"coveredResources": [f"r{g}"]} for g in range(5))), [
        *[f'spec.resourceGroups[{g}].flavors[{n}].resources[0].name: Invalid value: "cpu":'
          " must match the name in coveredResources" for g in range(5) for n in range(64)],
        "spec.resourceGroups: Invalid value: 320: total number of flavors across all"
        " resourceGroups must be ≤ 256, got 320"]),
    "too many resources": (
        cluster_queue(*(group(*(quota(f"r{g}-{n}") for n in range(64)), flavor=f"f{g}")
                        for g in range(5))), [
            "spec.resourceGroups: Invalid value: 320: total number of covered resources across all"
            " resourceGroups must be ≤ 256, got 320"]),
    "too many combinations": (
        cluster_queue({"coveredResources": [f"r{n}" for n in range(60)],
                       "flavors": [{"name": f"f{n}", "resources": []} for n in range(10)]}), [
            "spec.resourceGroups[0]: Invalid value: 600: number of flavor-resource combinations"
            " in a resourceGroup must be ≤ 512, got 600"]),
    "a check on a flavor of another queue": (
        cluster_queue(flavors("f", "g"), admissionChecksStrategy=checks("f", "x")), [
            "spec.admissionChecksStrategy.admissionChecks[0].onFlavors[1]: Unsupported value:"
            ' "x": supported values: "f", "g"']),
    "a cohort without parent": (cohort(group(quota(borrowingLimit="1"))), [
        f'{FIRST}.borrowingLimit: Invalid value: "1": must be nil when parent is empty']),
    "a cohort lends more than it has": (
        cohort(group(quota(lendingLimit="9")), parentName="p"), []),
    "a cohort with a negative weight": (cohort(fairSharing={"weight": -1}), [
        'spec.fairSharing.weight: Invalid value: "-1": must be greater than or equal to 0']),
}
# fmt: on


@pytest.mark.rule("kueue 1.0", "kueue 1.1", "kueue 1.3")
@pytest.mark.parametrize(("obj", "texts"), QUEUES.values(), ids=QUEUES.keys())
def test_queues_and_cohorts(obj: Json, texts: list[str]) -> None:
    assert [str(error) for error in validate(obj)] == texts


def test_an_unchanged_check_is_not_judged_again_while_the_flavors_are_the_same() -> None:
    old = cluster_queue(flavors("f"), admissionChecksStrategy=checks("x"))
    new = cluster_queue(flavors("f"), admissionChecksStrategy=checks("x"), stopPolicy="Hold")
    assert validate(new, old) == []
    assert validate(new, old, Rules(reject_updates_to_cq_with_invalid_on_flavors=True))
    assert validate(cluster_queue(flavors("g"), admissionChecksStrategy=checks("x")), old)
    assert validate(cluster_queue(flavors("f"), admissionChecksStrategy=checks("y")), old)


def concurrent(mode: str = "TryPreferredFlavors", **constraints: Any) -> Json:
    migration: Json = {"mode": mode}
    if constraints:
        migration["constraints"] = constraints
    return {"migration": migration}


# fmt: off
CONCURRENT: dict[str, tuple[Json, list[str]]] = {
    "one group":          (cluster_queue(flavors("f"), concurrentAdmissionPolicy=concurrent()), []),
    "two groups":          (cluster_queue(flavors("f"), group(quota("gpu"), flavor="g"),
                                          concurrentAdmissionPolicy=concurrent()),
                            ["spec.resourceGroups"]),
    "seventeen flavors":   (cluster_queue(flavors(*(f"f{n}" for n in range(17))),
                                          concurrentAdmissionPolicy=concurrent()),
                            ["spec.resourceGroups[0].flavors"]),
    "strict order":        (cluster_queue(flavors("f"), queueingStrategy="StrictFIFO",
                                          concurrentAdmissionPolicy=concurrent()),
                            ["spec.queueingStrategy"]),
    "limits of no use":    (cluster_queue(flavors("f"), concurrentAdmissionPolicy=concurrent(
                                "RetainFirstAdmission", lastAcceptableFlavorName="f")),
                            ["spec.concurrentAdmissionPolicy.migration.constraints"]),
    "an unknown limit":    (cluster_queue(flavors("f"), concurrentAdmissionPolicy=concurrent(
                                lastAcceptableFlavorName="x")),
                            ["spec.concurrentAdmissionPolicy.migration.constraints"
                             ".lastAcceptableFlavorName"]),
}
# fmt: on


@pytest.mark.parametrize(("obj", "paths"), CONCURRENT.values(), ids=CONCURRENT.keys())
def test_concurrent_admission(obj: Json, paths: list[str]) -> None:
    assert [e.path for e in validate(obj, None, Rules(concurrent_admission=True))] == paths
    assert validate(obj) == []


def test_the_policy_for_concurrent_admission_never_changes() -> None:
    new = cluster_queue(flavors("f"), concurrentAdmissionPolicy=concurrent())
    assert aggregate(validate(new, cluster_queue(flavors("f")))) == (
        "spec.concurrentAdmissionPolicy: Invalid value:"
        ' {"migration":{"mode":"TryPreferredFlavors"}}: field is immutable'
    )


def resource_flavor(**spec: Any) -> Json:
    return {"kind": "ResourceFlavor", "spec": spec}


TAINT = {"key": "a", "value": "b", "effect": "NoSchedule"}

# fmt: off
FLAVORS: dict[str, tuple[Json, list[str]]] = {
    "plain":        (resource_flavor(nodeLabels={"a": "b"}, nodeTaints=[TAINT]), []),
    "bad label":    (resource_flavor(nodeLabels={"@": "b"}), ["spec.nodeLabels"]),
    "bad value":    (resource_flavor(nodeLabels={"a": "@"}), ["spec.nodeLabels"]),
    "bad taint":    (resource_flavor(nodeTaints=[TAINT | {"key": "@", "value": "@"}]),
                     ["spec.nodeTaints[0].key", "spec.nodeTaints[0].value"]),
    "bad toleration": (resource_flavor(tolerations=[{"operator": "Exists"}, {"key": "@"}]),
                       ["spec.tolerations[1].key"]),
}
# fmt: on


@pytest.mark.rule("kueue 1.4")
@pytest.mark.parametrize(("obj", "paths"), FLAVORS.values(), ids=FLAVORS.keys())
def test_resource_flavors(obj: Json, paths: list[str]) -> None:
    assert [error.path for error in validate(obj)] == paths


def test_taints_must_be_unique_by_key_and_effect() -> None:
    obj = resource_flavor(nodeTaints=[TAINT, TAINT | {"value": "c"}])
    assert aggregate(validate(obj)) == (
        'spec.nodeTaints[1]: Duplicate value: {"key":"a","value":"c","effect":"NoSchedule"}:'
        " taints must be unique by key and effect pair"
    )


def test_several_errors_are_listed_once_each() -> None:
    errors = validate(cluster_queue(group(quota(nominal="-1"))))
    assert aggregate(errors * 2) == str(errors[0])
    two = validate(cluster_queue(group(quota()), group(quota())))
    assert aggregate(two) == f"[{two[0]}, {two[1]}]"


def test_kinds_without_a_webhook_are_never_refused() -> None:
    assert validate({"kind": "LocalQueue", "spec": {}}) == []


def workload(changes: dict[str, Any] | None = None, **metadata: Any) -> Json:
    made: Json = codec.copy(
        {
            "kind": "Workload",
            "metadata": {"name": "w", **metadata},
            "spec": {
                "podSets": [
                    {
                        "name": "main",
                        "count": 3,
                        "template": {"spec": {"containers": [{"name": "c", "image": "i"}]}},
                    }
                ]
            },
            "status": {},
        }
    )
    for path, value in (changes or {}).items():
        set_in_place(made, path, value)
    return made


def reserved(changes: dict[str, Any] | None = None, **metadata: Any) -> Json:
    admission = {
        "clusterQueue": "q",
        "podSetAssignments": [{"name": "main", "count": 3, "resourceUsage": {"cpu": "3"}}],
    }
    conditions = [{"type": "QuotaReserved", "status": "True"}]
    start = {"status.conditions": conditions, "status.admission": admission}
    return workload(start | (changes or {}), **metadata)


POD = "spec.podSets[0].template.spec"
RESOURCES = f"{POD}.containers[0].resources"
GATES = f"metadata.annotations[{labels.ADMISSION_GATED_BY}]"
RESERVED_KEY = "the key is reserved for internal kueue use"


def set_at(path: str, value: Any) -> Json:
    return workload({path: value})


# fmt: off
WORKLOADS: dict[str, tuple[Json, list[str]]] = {
    "plain": (workload(), []),
    "with quota": (reserved(), []),
    "pods in a container": (set_at(RESOURCES, {"requests": {"pods": "1"}, "limits": {"pods": 1}}), [
        f'{RESOURCES}.requests[pods]: Invalid value: "pods": {RESERVED_KEY}',
        f'{RESOURCES}.limits[pods]: Invalid value: "pods": {RESERVED_KEY}']),
    "pods in an init container": (
        set_at(f"{POD}.initContainers", [{"resources": {"requests": {"pods": "1"}}}]), [
            f"{POD}.initContainers[0].resources.requests[pods]: Invalid value:"
            f' "pods": {RESERVED_KEY}']),
    "pods of the pod": (set_at(f"{POD}.resources", {"limits": {"pods": "1"}}), [
        f'{POD}.resources.limits[pods]: Invalid value: "pods": {RESERVED_KEY}']),
    "a negative request": (set_at(RESOURCES, {"requests": {"cpu": "-1"}}), [
        f'{RESOURCES}.requests[cpu]: Invalid value: "-1": must be greater than or equal to 0']),
    "a slice without size": (
        set_at("spec.podSets[0].topologyRequest", {"podSetSliceRequiredTopology": "rack"}), [
            "spec.podSets[0].topologyRequest.podSetSliceSize: Required value:"
            " must be set when podSetSliceRequiredTopology is specified"]),
    "a slice of nothing": (
        set_at("spec.podSets[0].topologyRequest",
               {"podSetSliceRequiredTopology": "rack", "podSetSliceSize": 0}), [
            "spec.podSets[0].topologyRequest.podSetSliceSize: Invalid value: 0:"
            " must be greater than 0"]),
    "a size without slice": (set_at("spec.podSets[0].topologyRequest", {"podSetSliceSize": 2}), [
        "spec.podSets[0].topologyRequest.podSetSliceSize: Forbidden:"
        " may not be set when podSetSliceRequiredTopology is not specified"]),
    "a constraint of nothing": (
        set_at("spec.podSets[0].topologyRequest",
               {"podsetSliceRequiredTopologyConstraints": [{"topology": "a", "size": 0}]}), [
            "spec.podSets[0].topologyRequest.podsetSliceRequiredTopologyConstraints[0].size:"
            " Invalid value: 0: must be greater than 0"]),
    "two flexible pod sets": (
        workload({"spec.podSets": [{"name": n, "minCount": 1, "template": {}} for n in "ab"]}), [
            "spec.podSets: Invalid value: 2: at most one podSet can use minCount"]),
    "flexible and elastic": (
        workload({"spec.podSets[0].minCount": 1}, annotations={labels.ELASTIC_JOB: "true"}), [
            "spec.podSets[0].minCount: Forbidden:"
            " partial admission and elastic job cannot be used together"]),
    "quota without admission": (reserved({"status.admission": None}), [
        "status.admission: Required value: must be set while the QuotaReserved condition is true"]),
    "an assignment of no pod set": (reserved({"status.admission.podSetAssignments[0].name": "x"}), [
        'status.admission.podSetAssignments[0].name: Not found: "x"']),
    "usage that does not divide": (
        reserved({"status.admission.podSetAssignments[0].resourceUsage":
                  {"cpu": "1", "memory": "4"}}), [
            'status.admission.podSetAssignments[0].resourceUsage[cpu]: Invalid value: "1":'
            " is not a multiple of 3",
            'status.admission.podSetAssignments[0].resourceUsage[memory]: Invalid value: "4":'
            " is not a multiple of 3"]),
    "cpu divides in thousandths": (
        reserved({"status.admission.podSetAssignments[0].resourceUsage": {"cpu": "1500m"}}), []),
    "reclaiming an unknown pod set": (
        workload({"status.reclaimablePods": [{"name": "x", "count": 1}]}), [
            'status.reclaimablePods[x].name: Unsupported value: "x": supported values: "main"']),
    "reclaiming more than there are": (
        workload({"status.reclaimablePods": [{"name": "main", "count": 4}]}), [
            "status.reclaimablePods[main].count: Invalid value: 4: should be less or equal to 3"]),
    "a bad condition": (workload({"status.conditions": [
        {"type": "a" * 64, "status": "True", "observedGeneration": -1}]}), [
        f'status.conditions[0].type: Invalid value: "{"a" * 64}": name part'
        " must be no more than 63 characters",
        "status.conditions[0].observedGeneration: Invalid value: -1:"
        " must be greater than or equal to 0"]),
    "an empty gate": (workload(annotations={labels.ADMISSION_GATED_BY: "a.io/b,"}), [
        f'{GATES}: Invalid value: "a.io/b,": cannot contain empty gate names']),
    "a gate twice": (workload(annotations={labels.ADMISSION_GATED_BY: "a.io/b, a.io/b"}), [
        f'{GATES}: Invalid value: "a.io/b, a.io/b": duplicate gate name: a.io/b']),
    "a gate without domain": (workload(annotations={labels.ADMISSION_GATED_BY: "b"}), [
        f'{GATES}: Invalid value: "b": must be a domain-prefixed path (such as "acme.io/foo")']),
    "a gate that is too long": (
        workload(annotations={labels.ADMISSION_GATED_BY: f"a.io/{'b' * 59}"}), [
            f"{GATES}: Too long: may not be more than 63 bytes"]),
    "a gate with a bad path": (workload(annotations={labels.ADMISSION_GATED_BY: "a.io/b c"}), [
        f'{GATES}: Invalid value: "b c": Invalid path (regex used for validation is'
        " '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')"]),
}
# fmt: on


@pytest.mark.rule("kueue 1.5")
@pytest.mark.parametrize(("obj", "texts"), WORKLOADS.values(), ids=WORKLOADS.keys())
def test_workloads(obj: Json, texts: list[str]) -> None:
    assert [str(error) for error in validate(obj)] == texts


def test_a_checks_updates_must_fit_the_pods() -> None:
    update = {
        "name": "x",
        "labels": {"a": "@"},
        "annotations": {"@": ""},
        "nodeSelector": {"@": ""},
        "tolerations": [{"key": "@"}],
    }
    checks_of = [{"name": "a", "state": "Ready", "podSetUpdates": [update]}]
    path = "status.admissionChecks[0].podSetUpdates[0]"
    assert [error.path for error in validate(workload({"status.admissionChecks": checks_of}))] == [
        f"{path}.name",
        f"{path}.annotations",
        f"{path}.labels",
        f"{path}.nodeSelector",
        f"{path}.tolerations[0].key",
    ]


def test_template_metadata_must_be_valid() -> None:
    obj = workload(
        {"spec.podSets[0].template.metadata": {"labels": {"@": ""}, "annotations": {"@": ""}}}
    )
    assert [error.path for error in validate(obj)] == [
        "spec.podSets[0].template.metadata.labels",
        "spec.podSets[0].template.metadata.annotations",
    ]
    assert validate(obj, None, Rules(workload_validation_for_pod_set_metadata=False)) == []


@pytest.mark.rule("kueue 1.5")
def test_template_annotations_have_a_size() -> None:
    large = {"annotations": {"a": "x" * (256 * 1024)}}
    [error] = validate(workload({"spec.podSets[0].template.metadata": large}))
    assert str(error) == (
        "spec.podSets[0].template.metadata.annotations: Too long: may not be more than 262144 bytes"
    )


def test_rules_can_be_switched_off() -> None:
    negative = set_at(RESOURCES, {"requests": {"cpu": "-1"}})
    odd = set_at("spec.podSets[0].topologyRequest", {"podSetSliceSize": 2})
    gated = workload(annotations={labels.ADMISSION_GATED_BY: "b"})
    assert validate(negative, None, Rules(workload_validate_resources_are_non_negative=False)) == []
    assert validate(odd, None, Rules(tas_validate_workload_slice_size=False)) == []
    assert validate(gated, None, Rules(admission_gated_by=False)) == []


@pytest.mark.parametrize(
    ("boost", "accepted"),
    [("5", True), ("-5", True), ("", False), ("x", False), ("2147483648", False), ("-", False)],
)
def test_a_priority_boost_is_a_number_of_32_bits(boost: str, accepted: bool) -> None:
    obj = workload(annotations={labels.PRIORITY_BOOST: boost})
    assert (validate(obj, None, Rules(priority_boost=True)) == []) is accepted
    assert validate(obj) == []


RECLAIMED = [{"name": "main", "count": 2}]
ELASTIC = {labels.ELASTIC_JOB: "true"}
GATED = {labels.ADMISSION_GATED_BY: "a.io/b"}
READY = [{"name": "a", "state": "Ready", "podSetUpdates": [{"name": "main"}]}]
TOPOLOGY = {"levels": ["l"], "slices": []}

# fmt: off
UPDATES: dict[str, tuple[Json, Json, list[str]]] = {
    "pod sets before reservation": (workload(), workload({"spec.podSets[0].count": 9}), []),
    "pod sets while reserved": (reserved(), reserved({"spec.podSets[0].count": 6}), [
        'spec.podSets.0: Invalid value: {"name":"main","template":{"metadata":{},"spec":'
        '{"containers":[{"name":"c","image":"i","resources":{}}]}},"count":6}:'
        " field is immutable"]),
    "fewer pods while reserved": (reserved(), reserved({"spec.podSets[0].count": 2}), []),
    "empty parts that Go adds": (
        reserved(), reserved({"spec.podSets[0].template.metadata": {}}), []),
    "a pod set more": (
        reserved(), reserved({"spec.podSets": [*workload()["spec"]["podSets"], {"name": "b",
                              "count": 1, "template": {}}]}), [
            'spec.podSets: Invalid value: [{"name":"main","template":{"metadata":{},"spec":'
            '{"containers":[{"name":"c","image":"i","resources":{}}]}},"count":3},{"name":"b",'
            '"template":{"metadata":{},"spec":{}},"count":1}]: field is immutable']),
    "admission is set": (workload(), reserved(), []),
    "admission is unset": (reserved(), workload(), []),
    "admission changes": (reserved(), reserved({"status.admission.clusterQueue": "other"}), [
        'status.admission: Invalid value: {"clusterQueue":"other","podSetAssignments":[{"name":'
        '"main","resourceUsage":{"cpu":"3"},"count":3}]}: field is immutable']),
    "the topology is settled later": (
        reserved({"status.admission.podSetAssignments[0].delayedTopologyRequest": "Pending"}),
        reserved({"status.admission.podSetAssignments[0].topologyAssignment": TOPOLOGY}), []),
    "quota without admission, as before": (
        reserved({"status.admission": None}), reserved({"status.admission": None}), []),
    "fewer pods to reclaim": (
        reserved({"status.reclaimablePods": RECLAIMED}),
        reserved({"status.reclaimablePods": [{"name": "main", "count": 1}]}), [
            "status.reclaimablePods[main].count: Invalid value: 1: cannot be less than 2"]),
    "no more pods to reclaim": (reserved({"status.reclaimablePods": RECLAIMED}), reserved(), [
        "status.reclaimablePods[main]: Required value: cannot be removed"]),
    "reclaimed pods after eviction": (
        reserved({"status.reclaimablePods": RECLAIMED}), workload(), []),
    "reclaimed pods of a smaller elastic set": (
        reserved({"status.reclaimablePods": RECLAIMED}, annotations=ELASTIC),
        reserved({"spec.podSets[0].count": 1}, annotations=ELASTIC), []),
    "fewer pods to reclaim of a set that was made smaller": (
        reserved({"status.reclaimablePods": RECLAIMED, "spec.podSets[0].count": 1},
                 annotations=ELASTIC),
        reserved({"spec.podSets[0].count": 1}, annotations=ELASTIC), []),
    "a stale count of an elastic set": (
        reserved({"status.reclaimablePods": RECLAIMED}, annotations=ELASTIC),
        reserved({"status.reclaimablePods": RECLAIMED, "spec.podSets[0].count": 1},
                 annotations=ELASTIC), []),
    "updates of a ready check": (
        workload({"status.admissionChecks": READY}),
        workload({"status.admissionChecks": [READY[0] | {"podSetUpdates": []}]}), [
            "status.admissionChecks[0].podSetUpdates: Invalid value: []: field is immutable"]),
    "updates of a check that gets ready": (
        workload({"status.admissionChecks": [READY[0] | {"state": "Pending"}]}),
        workload({"status.admissionChecks": [READY[0] | {"podSetUpdates": []}]}), []),
    "a cluster nobody nominated": (workload(), workload({"status.clusterName": "w1"}), [
        'status.clusterName: Invalid value: "w1":'
        " when setting clusterName it must be one of the nominatedClusterNames"]),
    "a nominated cluster": (workload({"status.nominatedClusterNames": ["w1"]}),
                            workload({"status.clusterName": "w1"}), []),
    "a replacement goes where it wants": (
        workload(), workload({"status.clusterName": "w1"},
                             annotations={labels.WORKLOAD_SLICE_REPLACEMENT_FOR: "a/b"}), []),
    "a gate is added": (workload(), workload(annotations=GATED), [
        f"{GATES}: Forbidden: cannot add admission gate after creation"]),
    "another gate is added": (
        workload(annotations=GATED),
        workload(annotations={labels.ADMISSION_GATED_BY: "a.io/b,a.io/c"}), [
            f"{GATES}: Forbidden: can only remove gates, not add new ones"]),
    "a gate is removed": (workload(annotations=GATED), workload(), []),
}
# fmt: on


@pytest.mark.rule("kueue 1.5")
@pytest.mark.parametrize(("old", "new", "texts"), UPDATES.values(), ids=UPDATES.keys())
def test_workload_updates(old: Json, new: Json, texts: list[str]) -> None:
    assert [str(error) for error in validate(new, old)] == texts
