"""The CRDs of Kueue: the facts that users and the specification name."""

from typing import Any

import pytest

from fleetqueue.api.crd import declared_crds

CRDS = {made["spec"]["names"]["kind"]: made["spec"] for made in declared_crds("kueue.x-k8s.io")}
WARNING = "This version is deprecated. Use v1beta2 instead."

# fmt: off
NAMES = {
    "Workload":                  ("Namespaced", ["kwl", "kueueworkload", "kueueworkloads"], True),
    "ClusterQueue":              ("Cluster",    ["cq"], True),
    "LocalQueue":                ("Namespaced", ["queue", "queues", "lq"], True),
    "Cohort":                    ("Cluster",    ["co"], True),
    "ResourceFlavor":            ("Cluster",    ["flavor", "flavors", "rf"], False),
    "AdmissionCheck":            ("Cluster",    ["ac"], True),
    "Topology":                  ("Cluster",    ["topo"], False),
    "WorkloadPriorityClass":     ("Cluster",    ["wpc"], False),
    "ProvisioningRequestConfig": ("Cluster",    ["prc"], False),
    "MultiKueueConfig":          ("Cluster",    ["mkconf"], False),
    "MultiKueueCluster":         ("Cluster",    ["mkc"], True),
}
# fmt: on

CONVERTED = {"Workload", "ClusterQueue", "LocalQueue", "Cohort", "MultiKueueCluster"}


@pytest.mark.parametrize("kind", NAMES)
def test_each_kind_has_its_names_scope_and_subresources(kind: str) -> None:
    scope, short_names, status = NAMES[kind]
    spec = CRDS[kind]
    assert (spec["scope"], spec["names"]["shortNames"]) == (scope, short_names)
    for version in spec["versions"]:
        assert ("status" in version.get("subresources", {})) is status


@pytest.mark.parametrize("kind", NAMES)
def test_v1beta2_is_stored_and_v1beta1_is_served(kind: str) -> None:
    old, new = CRDS[kind]["versions"]
    assert (old["name"], old["served"], old["storage"]) == ("v1beta1", True, False)
    assert (new["name"], new["served"], new["storage"]) == ("v1beta2", True, True)
    warning = None if kind == "MultiKueueConfig" else WARNING
    assert old.get("deprecationWarning") == warning
    assert "deprecated" not in new


@pytest.mark.parametrize("kind", NAMES)
def test_a_webhook_converts_the_kinds_that_differ(kind: str) -> None:
    assert ("conversion" in CRDS[kind]) is (kind in CONVERTED)


def at(kind: str, path: str, version: int = 1) -> dict[str, Any]:
    node: dict[str, Any] = CRDS[kind]["versions"][version]["schema"]["openAPIV3Schema"]
    for name in filter(None, path.split(".")):
        node = node["items"] if name == "[]" else node["properties"][name]
    return node


@pytest.mark.rule("kueue 1.1")
@pytest.mark.parametrize(
    ("path", "default"),
    [
        ("spec.queueingStrategy", "BestEffortFIFO"),
        ("spec.stopPolicy", "None"),
        ("spec.flavorFungibility", {}),
        ("spec.flavorFungibility.whenCanBorrow", "MayStopSearch"),
        ("spec.flavorFungibility.whenCanPreempt", "TryNextFlavor"),
        ("spec.preemption", {}),
        ("spec.preemption.reclaimWithinCohort", "Never"),
        ("spec.preemption.withinClusterQueue", "Never"),
        ("spec.preemption.borrowWithinCohort", {}),
        ("spec.preemption.borrowWithinCohort.policy", "Never"),
        ("spec.fairSharing.weight", 1),
    ],
)
def test_a_cluster_queue_has_defaults(path: str, default: Any) -> None:
    assert at("ClusterQueue", path)["default"] == default


def messages(node: dict[str, Any]) -> list[str]:
    return [rule["message"] for rule in node["x-kubernetes-validations"]]


@pytest.mark.rule("kueue 1.2", "kueue 1.5", "kueue 1.6")
def test_rules_say_what_users_know() -> None:
    reserved = "while workload quota reserved"
    assert messages(at("LocalQueue", "spec.clusterQueue")) == ["field is immutable"]
    assert messages(at("AdmissionCheck", "spec.controllerName")) == ["field is immutable"]
    assert messages(at("Workload", "")) == [
        "podSetAssignments must have the same number of podSets as the spec",
        f"priorityClassRef is immutable {reserved}",
        f"priorityClassRef.group is immutable {reserved}",
        f"priorityClassRef.kind is immutable {reserved}",
        f"priorityClassRef.name is immutable for scheduling.k8s.io/priorityclass {reserved}",
        f"queueName is immutable {reserved}",
        f"maximumExecutionTimeSeconds is immutable {reserved}",
    ]
    assert len(messages(at("ResourceFlavor", "spec.tolerations"))) == 5
    assert len(messages(at("Workload", "", version=0))) == 5


def test_a_workload_can_be_selected_by_its_cluster_queue() -> None:
    old, new = CRDS["Workload"]["versions"]
    assert new["selectableFields"] == [{"jsonPath": ".status.admission.clusterQueue"}]
    assert "selectableFields" not in old


@pytest.mark.rule("kueue 1.7")
@pytest.mark.parametrize(
    ("field", "older"), [("whenCanBorrow", "Borrow"), ("whenCanPreempt", "Preempt")]
)
def test_older_words_come_last(field: str, older: str) -> None:
    """In the order in which a refusal lists them."""
    [version] = [each for each in CRDS["ClusterQueue"]["versions"] if each["name"] == "v1beta1"]
    spec: Any = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    found = spec["properties"]["flavorFungibility"]["properties"][field]["enum"]
    assert found == ["MayStopSearch", "TryNextFlavor", older]
