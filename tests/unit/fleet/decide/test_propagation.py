"""Which kinds, namespaces and objects may go to members."""

from typing import Any

import pytest

from fleetqueue.errors import InvalidInput
from fleetqueue.fleet.decide.propagation import Propagation, propagation

HUB = Propagation()
KINDS = {
    "a ConfigMap": ("/v1/ConfigMap", True),
    "a Pod": ("/v1/Pod", False),
    "a Node": ("/v1/Node", False),
    "an Event": ("/v1/Event", False),
    "an Event of its own group": ("events.k8s.io/v1/Event", False),
    "a Lease": ("coordination.k8s.io/v1/Lease", False),
    "metrics": ("metrics.k8s.io/v1beta1/PodMetrics", False),
    "a MemberCluster": ("cluster.kubernetes-fleet.io/v1beta1/MemberCluster", False),
    "a Work": ("placement.kubernetes-fleet.io/v1beta1/Work", False),
    "a ResourceEnvelope": ("placement.kubernetes-fleet.io/v1beta1/ResourceEnvelope", True),
    "a ClusterResourceEnvelope": (
        "placement.kubernetes-fleet.io/v1beta1/ClusterResourceEnvelope",
        True,
    ),
    "a ServiceImport": ("networking.fleet.azure.com/v1alpha1/ServiceImport", False),
    "a TrafficManagerProfile": ("networking.fleet.azure.com/v1alpha1/TrafficManagerProfile", False),
    "another kind of that group": ("networking.fleet.azure.com/v1alpha1/ServiceExport", True),
}


@pytest.mark.rule("SEL-1")
@pytest.mark.parametrize(("kind", "goes"), KINDS.values(), ids=KINDS.keys())
def test_some_kinds_never_go(kind: str, goes: bool) -> None:
    assert HUB.allows_kind(*kind.split("/")) is goes


FLAGS = {
    "a group is skipped": ("apps", "", "apps/v1/Deployment", False),
    "a version is skipped": ("batch/v1beta1", "", "batch/v1/Job", True),
    "that very version": ("batch/v1", "", "batch/v1/Job", False),
    "kinds of a version": ("batch/v1/Job,CronJob", "", "batch/v1/CronJob", False),
    "not others of it": ("batch/v1/CronJob", "", "batch/v1/Job", True),
    "kinds of the core group": ("v1/Secret,ConfigMap;apps", "", "/v1/ConfigMap", False),
    "defaults stay": ("apps", "", "/v1/Pod", False),
    "only what is allowed": ("", "apps;v1/Secret", "/v1/ConfigMap", False),
    "is allowed": ("", "apps;v1/Secret", "/v1/Secret", True),
    "even what is skipped else": ("", "v1/Pod", "/v1/Pod", True),
}


@pytest.mark.rule("SEL-2")
@pytest.mark.parametrize(("skipped", "allowed", "kind", "goes"), FLAGS.values(), ids=FLAGS.keys())
def test_flags_name_kinds(skipped: str, allowed: str, kind: str, goes: bool) -> None:
    told = propagation(skipped, allowed, (), has_workloads=True)
    assert told.allows_kind(*kind.split("/")) is goes


@pytest.mark.rule("SEL-2")
def test_both_lists_at_once_or_an_item_that_is_none_are_refused() -> None:
    with pytest.raises(InvalidInput, match="mutually exclusive"):
        propagation("apps", "batch", (), has_workloads=True)
    with pytest.raises(InvalidInput, match="a/b/c/d"):
        propagation("a/b/c/d", "", (), has_workloads=True)


@pytest.mark.rule("SEL-2")
def test_reserved_and_skipped_namespaces_do_not_go() -> None:
    told = propagation("", "", ("mine",), has_workloads=True)
    names = ("web", "mine", "default", "kube-system", "fleet-system", "fleet-member-a")
    assert [name for name in names if told.allows_namespace(name)] == ["web"]


OWNED = {"ownerReferences": [{"name": "o"}]}
OBJECTS: dict[str, tuple[str, dict[str, Any], bool]] = {
    "an owned ReplicaSet": ("apps/v1 ReplicaSet a", {"metadata": OWNED}, False),
    "a ReplicaSet of a user": ("apps/v1 ReplicaSet a", {}, True),
    "an owned ControllerRevision": ("apps/v1 ControllerRevision a", {"metadata": OWNED}, False),
    "an owned Deployment": ("apps/v1 Deployment a", {"metadata": OWNED}, True),
    "the root certificates": ("v1 ConfigMap kube-root-ca.crt", {}, False),
    "the default account": ("v1 ServiceAccount default", {}, False),
    "another account": ("v1 ServiceAccount robot", {}, True),
    "a token of an account": (
        "v1 Secret t",
        {"type": "kubernetes.io/service-account-token"},
        False,
    ),
    "another Secret": ("v1 Secret t", {"type": "Opaque"}, True),
    "Endpoints of a Service": ("v1 Endpoints served", {}, False),
    "Endpoints of a user": ("v1 Endpoints alone", {}, True),
    "a slice of a Service": (
        "discovery.k8s.io/v1 EndpointSlice a",
        {"metadata": {"labels": {"endpointslice.kubernetes.io/managed-by": "x"}}},
        False,
    ),
    "a slice of a user": ("discovery.k8s.io/v1 EndpointSlice a", {}, True),
    "a Workload of a job": ("kueue.x-k8s.io/v1beta2 Workload w", {"metadata": OWNED}, False),
    "a Workload of a user": ("kueue.x-k8s.io/v1beta2 Workload w", {}, True),
    "a claim": ("v1 PersistentVolumeClaim a", {}, False),
    "what is going": ("v1 ConfigMap a", {"metadata": {"deletionTimestamp": "x"}}, False),
}


def allows(hub: Propagation, obj: dict[str, Any], *, is_job_aware: bool = True) -> bool:
    def has_service(namespace: str, name: str) -> bool:
        return (namespace, name) == ("web", "served")

    return hub.allows_object(obj, has_service, is_job_aware=is_job_aware)


@pytest.mark.rule("SEL-4")
@pytest.mark.parametrize(("what", "more", "goes"), OBJECTS.values(), ids=OBJECTS.keys())
def test_what_controllers_made_does_not_go(what: str, more: dict[str, Any], goes: bool) -> None:
    api_version, kind, name = what.split()
    metadata = {"name": name, "namespace": "web", **more.get("metadata", {})}
    obj = {"apiVersion": api_version, "kind": kind, **more, "metadata": metadata}
    assert allows(HUB, obj) is goes


def test_claims_go_from_a_hub_that_runs_no_pods() -> None:
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "a"}}
    assert allows(propagation("", "", (), has_workloads=False), claim)


def test_workloads_of_jobs_go_with_placements_that_know_nothing_of_jobs() -> None:
    metadata = {"name": "w", **OWNED}
    workload = {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "Workload", "metadata": metadata}
    assert allows(HUB, workload, is_job_aware=False), "as KubeFleet does it"
