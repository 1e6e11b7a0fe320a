"""What a hub refuses, case by case, and how a foreign API server is told to ask."""

from collections.abc import Sequence
from typing import Any

import pytest

from fleetqueue.errors import InvalidInput
from fleetqueue.fleet import kinds
from fleetqueue.fleet.settings import HubSettings
from fleetqueue.fleet.webhooks import guard_rail, hub_objects, overrides, policies, registry
from fleetqueue.fleet.webhooks.declared import Around, Declared
from fleetqueue.fleet.webhooks.serving import answer
from fleetqueue.kube.resources import Object
from fleetqueue.kube.reviews import Review
from fleetqueue.kube.sources import Listed
from fleetqueue.kube.webhook_serving import Reach
from fleetqueue.testing import named

pytestmark = pytest.mark.rule("kubefleet 9.1", "kubefleet 9.2", "kubefleet 9.3", "kubefleet 9.4")

API = "placement.kubernetes-fleet.io/v1beta1"
CLUSTER_API = "cluster.kubernetes-fleet.io/v1beta1"
NAMESPACE = {"group": "", "version": "v1", "kind": "Namespace", "name": "a"}
DEPLOYMENT = {"group": "apps", "version": "v1", "kind": "Deployment", "name": "d"}
SHOWN = "{{Group: Version:v1 Kind:Namespace Name:{} LabelSelector:{} SelectionScope:}}"
LABELLED = (
    "&LabelSelector{MatchLabels:map[string]string{k: v,},"
    "MatchExpressions:[]LabelSelectorRequirement{},}"
)


def around(*objects: Object, **settings: Any) -> Around:
    return Around(Listed(objects), HubSettings(**settings), lambda group, version, kind: True)


def review(
    obj: Object | None,
    operation: str = "CREATE",
    *,
    old: Object | None = None,
    user: str = "test-user",
    groups: Sequence[str] = ("system:authenticated",),
    plural: str = "",
    subresource: str = "",
) -> Review:
    seen = obj or old or {}
    group, _, version = str(seen["apiVersion"]).rpartition("/")
    return Review(
        uid="1",
        operation=operation,
        group=group,
        version=version,
        plural=plural,
        kind=seen["kind"],
        name=seen["metadata"]["name"],
        namespace=seen["metadata"].get("namespace", ""),
        subresource=subresource,
        object=obj,
        old_object=old,
        user={"username": user, "groups": list(groups)},
    )


def cluster_override(name: str, *selectors: Object, rule: Object | None = None) -> Object:
    spec: Object = {"clusterResourceSelectors": list(selectors)}
    patch = {"op": "add", "path": "/metadata/labels/a", "value": "b"}
    spec["policy"] = {"overrideRules": [rule or {"jsonPatchOverrides": [patch]}]}
    return named("ClusterResourceOverride", API, name, spec=spec)


def override(name: str, *selectors: Object, space: str = "default") -> Object:
    patch = {"op": "add", "path": "/metadata/labels/a", "value": "b"}
    rules = {"overrideRules": [{"jsonPatchOverrides": [patch]}]}
    spec = {"resourceSelectors": list(selectors), "policy": rules}
    return named("ResourceOverride", API, name, space, spec=spec)


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("", "path cannot be empty"),
        ("a", "path must start with /"),
        ("/kind", "cannot override typeMeta fields"),
        ("/apiVersion", "cannot override typeMeta fields"),
        ("/metadata", "cannot override field metadata"),
        ("/metadata/name", "cannot override metadata fields except annotations and labels"),
        ("/metadata/finalizers/0", "cannot override metadata fields except annotations and labels"),
        ("/metadata/labels/a", ""),
        ("/metadata/annotations", ""),
        ("/status", "cannot override status fields"),
        ("/status/phase", "cannot override status fields"),
        ("/spec//a", "path cannot contain empty string"),
        ("/spec/", "path cannot contain empty string"),
        ("/spec/replicas", ""),
    ],
)
def test_paths_that_a_patch_must_not_touch(path: str, problem: str) -> None:
    assert overrides.path_error(path) == problem


def test_all_wrong_selectors_of_an_override_are_told_at_once() -> None:
    by_labels = {**NAMESPACE, "name": "", "labelSelector": {"matchLabels": {"k": "v"}}}
    nameless = {**NAMESPACE, "name": ""}
    made = cluster_override("o", by_labels, nameless, NAMESPACE, NAMESPACE)
    assert overrides.refuse_cluster_override(review(made), around()) == (
        "[label selector is not supported for resource selection "
        f"{SHOWN.format('', LABELLED)}, "
        f"resource name is required for resource selection {SHOWN.format('', 'nil')}, "
        f"resource selector {SHOWN.format('a', 'nil')} already exists, and must be unique]"
    )


def test_an_object_is_overridden_by_one_override_of_a_kind() -> None:
    theirs, ours = cluster_override("theirs", NAMESPACE), cluster_override("ours", NAMESPACE)
    refused = overrides.refuse_cluster_override(review(ours), around(theirs, ours))
    assert refused == (
        f"invalid resource selector {SHOWN.format('a', 'nil')}: the resource has been selected by "
        "both ours and theirs, which is not supported"
    )
    assert overrides.refuse_cluster_override(review(ours, "UPDATE"), around(ours)) == ""


def test_namespaced_overrides_are_compared_within_their_namespace() -> None:
    theirs, ours = override("theirs", DEPLOYMENT), override("ours", DEPLOYMENT, DEPLOYMENT)
    shown = "{Group:apps Version:v1 Kind:Deployment Name:d}"
    assert overrides.refuse_override(review(ours), around(theirs)) == (
        f"[resource selector {shown} already exists, and must be unique, "
        f"invalid resource selector {shown}: the resource has been selected by both ours and "
        "theirs, which is not supported]"
    )
    elsewhere = override("theirs", DEPLOYMENT, space="other")
    one = override("ours", DEPLOYMENT)
    assert overrides.refuse_override(review(one), around(elsewhere)) == ""


def test_there_are_at_most_a_hundred_overrides() -> None:
    many = [cluster_override(f"o{each}", {**NAMESPACE, "name": str(each)}) for each in range(100)]
    new = cluster_override("new", NAMESPACE)
    assert overrides.refuse_cluster_override(review(new), around(*many)) == (
        "clusterResourceOverride limit has been reached: at most 100 cluster resources can be "
        "created."
    )
    assert overrides.refuse_cluster_override(review(many[0], "UPDATE"), around(*many)) == ""
    spread = [
        override(f"o{each}", {**DEPLOYMENT, "name": str(each)}, space=f"s{each}")
        for each in range(100)
    ]
    assert overrides.refuse_override(review(override("new", DEPLOYMENT)), around(*spread)) == (
        "resourceOverride limit has been reached: at most 100 resources can be created."
    )


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        ({}, "invalid JSONPatchOverrides: JSONPatchOverrides cannot be empty"),
        (
            {"overrideType": "Delete", "jsonPatchOverrides": [{"op": "remove", "path": "/a"}]},
            "invalid JSONPatchOverrides: JSONPatchOverrides cannot be set when the override type "
            "is Delete",
        ),
        ({"overrideType": "Delete"}, ""),
        (
            {
                "overrideType": "Delete",
                "clusterSelector": {"clusterSelectorTerms": [{"propertySelector": {}}]},
            },
            "invalid clusterSelector {LabelSelector:nil PropertySelector:0xc000000000 "
            "PropertySorter:<nil>}: only labelSelector is supported",
        ),
        (
            {"overrideType": "Delete", "clusterSelector": {"clusterSelectorTerms": [{}]}},
            "invalid clusterSelector {LabelSelector:nil PropertySelector:<nil> "
            "PropertySorter:<nil>}: labelSelector is required",
        ),
    ],
)
def test_rules_of_overrides(rule: Object, problem: str) -> None:
    made = cluster_override("o", NAMESPACE, rule=rule or {"jsonPatchOverrides": []})
    assert overrides.refuse_cluster_override(review(made), around()) == problem


def test_a_taint_needs_a_proper_key() -> None:
    taints = [{"key": "key-1=", "value": "v", "effect": "NoSchedule"}]
    made = named("MemberCluster", CLUSTER_API, "m", spec={"taints": taints})
    refused = hub_objects.refuse_member_cluster(review(made), around())
    assert refused.startswith(
        "invalid taint key {Key:key-1= Value:v Effect:NoSchedule}: name part must consist of "
        "alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
        "character"
    )


def test_taints_that_say_the_same_are_one_too_many() -> None:
    taints = [
        {"key": "a", "effect": "NoSchedule"},
        {"key": "a", "value": "", "effect": "NoSchedule"},
    ]
    made = named("MemberCluster", CLUSTER_API, "m", spec={"taints": taints})
    assert hub_objects.refuse_member_cluster(review(made), around()) == (
        "taint {Key:a Value: Effect:NoSchedule} already exists, taints must be unique"
    )


@pytest.mark.parametrize(
    ("is_on", "mode", "is_refused"),
    [(True, "Strict", True), (True, "Skip", False), (False, "Strict", False)],
)
def test_a_member_whose_services_are_used_stays(is_on: bool, mode: str, is_refused: bool) -> None:
    spec = {"deleteOptions": {"validationMode": mode}}
    made = named("MemberCluster", CLUSTER_API, "m", spec=spec)
    export = named(
        "InternalServiceExport", "networking.fleet.azure.com/v1alpha1", "web", "fleet-member-m"
    )
    refused = hub_objects.refuse_member_cluster(
        review(None, "DELETE", old=made), around(export, networking_agents_enabled=is_on)
    )
    text = "Please delete serviceExport web in the member cluster before leaving, request is denied"
    assert refused == (text if is_refused else "")


def placement(kind: str, **metadata: Any) -> Object:
    made = named("ClusterResourcePlacement", API, "p", spec={"policy": {"placementType": kind}})
    made["metadata"].update(metadata)
    return made


@pytest.mark.parametrize(
    ("found", "problem"),
    [
        (None, ""),
        (placement("PickN"), ""),
        (
            placement("PickFixed"),
            "cluster resource placement policy type PickFixed is not supported",
        ),
        (
            placement("PickN", deletionTimestamp="2026-01-01T00:00:00Z"),
            "cluster resource placement p is being deleted",
        ),
    ],
)
def test_evictions_of_what_cannot_be_evicted(found: Object | None, problem: str) -> None:
    spec = {"placementName": "p", "clusterName": "m"}
    made = named("ClusterResourcePlacementEviction", API, "e", spec=spec)
    known = around(*([found] if found else []))
    assert hub_objects.refuse_eviction(review(made), known) == problem


@pytest.mark.parametrize(
    ("kind", "spec", "problem"),
    [
        ("PickN", {"maxUnavailable": 1}, ""),
        ("PickAll", {"minAvailable": 1}, ""),
        (
            "PickAll",
            {"maxUnavailable": "10%"},
            "cluster resource placement policy type PickAll is not supported with any specified "
            "max unavailable 10%",
        ),
        (
            "PickAll",
            {"minAvailable": "10%"},
            "cluster resource placement policy type PickAll is not supported with min available as "
            "a percentage 10%",
        ),
    ],
)
def test_budgets(kind: str, spec: Object, problem: str) -> None:
    made = named("ClusterResourcePlacementDisruptionBudget", API, "p", spec=spec)
    assert hub_objects.refuse_budget(review(made), around(placement(kind))) == problem


@pytest.mark.parametrize("space", ["default", "kube-system", "fleet-system"])
def test_workloads_on_a_hub_that_runs_none(space: str) -> None:
    pod, replicas = named("Pod", "v1", "p", space), named("ReplicaSet", "apps/v1", "r", space)
    budget = named("PodDisruptionBudget", "policy/v1", "b", space)
    told = [
        hub_objects.refuse_pod(review(pod), around()),
        hub_objects.refuse_replica_set(review(replicas), around()),
        hub_objects.refuse_disruption_budget(review(budget), around()),
    ]
    expected = [
        "Pod default/p creation is disallowed in the fleet hub cluster",
        "ReplicaSet default/r creation is disallowed in the fleet hub cluster.",
        "PDBs default/b cannot be directly created in the hub cluster due to potential side "
        "effects; to place a PDB to member clusters, consider wrapping it in a resource envelope.",
    ]
    assert told == (expected if space == "default" else ["", "", ""])


def member(labels: Object | None = None, identity: str = "agent") -> Object:
    made = named("MemberCluster", CLUSTER_API, "m", spec={"identity": {"name": identity}})
    made["metadata"]["annotations"] = {"fleet.azure.com/id": "1"}
    made["metadata"]["labels"] = labels or {}
    return made


@pytest.mark.parametrize(
    ("groups", "labels", "problem"),
    [
        (("system:authenticated",), {"a": "b"}, guard_rail.LABELS_LOCKED),
        (("system:authenticated",), {"kubernetes-fleet.io/member-name": "m"}, ""),
        (("system:masters",), {"a": "b"}, ""),
    ],
)
def test_labels_of_members_can_be_locked(
    groups: Sequence[str], labels: Object, problem: str
) -> None:
    asked = review(member(labels), "UPDATE", old=member(), groups=groups)
    locked = around(deny_modify_member_cluster_labels=True)
    assert guard_rail.refuse_member_cluster(asked, locked) == problem
    assert guard_rail.refuse_member_cluster(asked, around()) == ""


@pytest.mark.parametrize(
    ("user", "is_refused"),
    [
        ("agent", False),
        ("system:serviceaccount:fleet-system:agent", False),
        ("system:serviceaccount:default:agent", True),
        ("another", True),
    ],
)
def test_an_agent_writes_in_the_namespace_of_its_member(user: str, is_refused: bool) -> None:
    work = named("Work", API, "w", "fleet-member-m")
    asked = review(work, "UPDATE", old=work, user=user, plural="works")
    assert bool(guard_rail.refuse_namespaced(asked, around(member()))) == is_refused
    other = named("Work", API, "w", "fleet-member-x")
    unknown = review(other, "UPDATE", old=other, user=user, plural="works")
    assert guard_rail.refuse_namespaced(unknown, around(member())) == ""
    elsewhere = named("Work", API, "w", "fleet-system")
    assert guard_rail.refuse_namespaced(review(elsewhere, user=user), around(member()))


def crd(name: str) -> Object:
    return named("CustomResourceDefinition", "apiextensions.k8s.io/v1", name)


def test_events_are_everybodys() -> None:
    event = named("Event", "v1", "e", "fleet-system")
    assert guard_rail.refuse_namespaced(review(event), around()) == ""


@pytest.mark.parametrize(
    ("groups", "is_refused"),
    [(("system:masters",), False), (("kubeadm:cluster-admins",), False), (("system:nodes",), True)],
)
def test_crds_of_the_fleet_are_for_admins(groups: Sequence[str], is_refused: bool) -> None:
    ours = named(
        "CustomResourceDefinition", "apiextensions.k8s.io/v1", "works.placement.kubernetes-fleet.io"
    )
    asked = review(ours, "UPDATE", old=ours, groups=groups)
    assert bool(guard_rail.refuse_crd(asked, around())) == is_refused
    known = review(ours, "UPDATE", old=ours, user="me", groups=())
    assert guard_rail.refuse_crd(known, around(whitelisted_users=("me",))) == ""
    foreign = crd("widgets.example.com")
    assert guard_rail.refuse_crd(review(foreign, groups=()), around()) == ""


def names_of(configuration: Object) -> list[tuple[str, str, int]]:
    return [
        (each["name"], each["failurePolicy"], each["timeoutSeconds"])
        for each in configuration["webhooks"]
    ]


def test_how_a_foreign_server_is_told_to_ask() -> None:
    settings = HubSettings(enable_guard_rail=True, enable_workload=False, enable_pdbs=False)
    owner = {"metadata": {"name": "fleet-system", "uid": "u"}}
    reach = Reach(url="https://127.0.0.1:9443")
    mutating, validating, guard = registry.configurations(settings, reach, owner)
    assert names_of(mutating) == [("fleet.clusterresourceplacementv1beta1.mutating", "Ignore", 5)]
    assert names_of(validating) == [
        ("fleet.pod.validating", "Fail", 5),
        ("fleet.replicaset.validating", "Fail", 5),
        ("fleet.poddisruptionbudget.validating", "Fail", 5),
        ("fleet.clusterresourceplacementv1beta1.validating", "Fail", 5),
        ("fleet.membercluster.validating", "Fail", 5),
        ("fleet.clusterresourceoverride.validating", "Fail", 5),
        ("fleet.resourceoverride.validating", "Fail", 5),
        ("fleet.clusterresourceplacementeviction.validating", "Fail", 5),
        ("fleet.clusterresourceplacementdisruptionbudget.validating", "Fail", 5),
    ]
    assert {policy for _, policy, _ in names_of(guard)} == {"Ignore"}
    assert {seconds for _, _, seconds in names_of(guard)} == {1}
    assert [each["metadata"]["name"] for each in (mutating, validating, guard)] == [
        "fleet-mutating-webhook-configuration",
        "fleet-validating-webhook-configuration",
        "fleet-guard-rail-webhook-configuration",
    ]
    for each in (mutating, validating, guard):
        assert each["metadata"]["labels"] == {"admissions.enforcer/disabled": "true"}
    assert "ownerReferences" not in mutating["metadata"]
    assert validating["metadata"]["ownerReferences"][0]["name"] == "fleet-system"
    asked = {each["clientConfig"]["url"] for each in guard["webhooks"]}
    assert asked == {"https://127.0.0.1:9443/validate-fleetresourcehandler"}
    path = "/mutate-placement-kubernetes-fleet-io-v1beta1-clusterresourceplacement"
    assert mutating["webhooks"][0]["clientConfig"]["url"].endswith(path)


def test_what_is_off_is_not_asked_for() -> None:
    plain = list(registry.configurations(HubSettings(), Reach(url="https://x")))
    assert len(plain) == 2
    assert "fleet.pod.validating" not in {each["name"] for each in plain[1]["webhooks"]}
    assert not registry.declared(HubSettings(enable_webhook=False))
    assert not list(registry.configurations(HubSettings(enable_webhook=False), Reach()))


def of_path(path: str) -> list[Declared]:
    found = registry.declared(HubSettings(enable_guard_rail=True))
    return [each for each in found if each.path == path]


def test_a_foreign_server_gets_the_answers_of_what_concerns_a_write() -> None:
    new = named("Namespace", "v1", "fleet-x")
    asked = review(new, plural="namespaces")
    verdict = answer(of_path(guard_rail.PATH), around(), asked)
    assert (verdict.is_allowed, verdict.code) == (False, 403)
    assert answer(of_path(guard_rail.PATH), around(), review(new, "UPDATE", old=new)).is_allowed
    bare = named("ClusterResourcePlacement", API, "p", spec={"resourceSelectors": []})
    path = registry.path_of("mutate", kinds.CLUSTER_SCOPE.placement)
    filled = answer(of_path(path), around(), review(bare, plural="clusterresourceplacements"))
    assert filled.object is not None
    assert filled.object["spec"]["policy"] == {"placementType": "PickAll"}


def test_policies_as_documents() -> None:
    policy, binding = policies.NO_ACCOUNTS.documents()
    name = "deny-serviceaccounts-and-tokenrequests-in-reserved-namespaces"
    assert policy["metadata"]["name"] == name
    assert binding["metadata"]["name"] == f"{name}-binding"
    assert policy["metadata"]["labels"] == binding["metadata"]["labels"] == policies.LABELS
    assert policy["spec"]["failurePolicy"] == "Fail"
    (only,) = policy["spec"]["validations"]
    assert only["reason"] == "Forbidden"
    assert only["expression"].startswith(
        "!(request.namespace.startsWith('fleet-') || request.namespace.startsWith('kube-')) ||"
    )


@pytest.mark.parametrize(
    ("space", "groups", "is_denied"),
    [
        ("default", (), True),
        ("fleet-system", (), False),
        ("default", ("system:serviceaccounts",), False),
    ],
)
def test_pods_stay_out_by_policy(space: str, groups: Sequence[str], is_denied: bool) -> None:
    asked = review(named("Pod", "v1", "p", space), groups=groups, plural="pods")
    assert policies.NO_PODS.denies(asked) == is_denied


def test_a_configuration_says_which_policies_hold_and_for_whom_not() -> None:
    key = "denyPodsAndReplicaSetsOutsideReservedNamespaces"
    said = {"ReservedNamespacePrefixes": ["own-"], "WhitelistedUsernames": ["me"]}
    (policy,) = policies.read({key: said})
    pod = named("Pod", "v1", "p", "fleet-system")
    assert policy.denies(review(pod, plural="pods"))
    assert not policy.denies(review(pod, plural="pods", user="me"))
    assert not policy.denies(review(named("Pod", "v1", "p", "own-x"), plural="pods"))


def test_no_namespace_need_be_reserved() -> None:
    key = "denyPodsAndReplicaSetsOutsideReservedNamespaces"
    (policy,) = policies.read({key: {"ReservedNamespacePrefixes": []}})
    assert policy.denies(review(named("Pod", "v1", "p", "fleet-system"), plural="pods"))
    written, _ = policy.documents()
    (rule,) = written["spec"]["validations"]
    assert rule["expression"].startswith("(false) || request.userInfo.username in [")


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ([], "the configuration of policies must be a map; its keys are "),
        ({"denyAll": {}}, 'there is no policy "denyAll": known are '),
        (
            {"denyPodsAndReplicaSetsOutsideReservedNamespaces": {"Users": []}},
            "denyPodsAndReplicaSetsOutsideReservedNamespaces may have ReservedNamespacePrefixes, ",
        ),
        (
            {"denyPodsAndReplicaSetsOutsideReservedNamespaces": {"WhitelistedUsernames": "me"}},
            "denyPodsAndReplicaSetsOutsideReservedNamespaces.WhitelistedUsernames must be a list",
        ),
    ],
)
def test_a_bad_configuration_of_policies_is_refused(config: Any, problem: str) -> None:
    with pytest.raises(InvalidInput) as error:
        policies.read(config)
    assert str(error.value).startswith(problem)
