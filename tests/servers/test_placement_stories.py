"""What one kube-apiserver, the hub, places on two others, with `fleetqueue controller` beside each:
the texts are those that KubeFleet writes, and what the servers themselves do is theirs.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from fleetqueue.fleet import kinds
from fleetqueue.kube.resources import Resource
from support import placement_fleet
from support.placement_fleet import (
    ACCOUNTS,
    BINDINGS,
    CONFIG_MAPS,
    NAMESPACES,
    SYSTEM,
    USER,
    Fleet,
    add_node,
    add_pod,
    token_of,
)
from support.placement_stories import (
    APPROVAL,
    EVENTS_OF_A_ROLLOUT,
    PLACEMENT,
    QUICKLY,
    approve,
    arrives,
    cluster_conditions,
    condition,
    entry,
    evict,
    executed,
    generation_seen,
    has_joined,
    in_region,
    index_of,
    is_available,
    is_deleting,
    is_placed,
    named,
    nothing_is_left,
    offer,
    override,
    place,
    placement,
    preferred,
    remove,
    report_joined,
    reported,
    room,
    selector,
    sides,
    told,
    without_times,
    work_spec,
    work_status,
)

Object = dict[str, Any]
FIRST, SECOND = "cluster-1", "cluster-2"
BOTH = [FIRST, SECOND]
NAMESPACED = kinds.NAMESPACED.placement
RUN, STRATEGY = kinds.CLUSTER_SCOPE.update_run, kinds.CLUSTER_SCOPE.update_strategy
PROFILES = Resource("multicluster.x-k8s.io", "v1alpha1", "clusterprofiles", "ClusterProfile")
ROLES = Resource("rbac.authorization.k8s.io", "v1", "roles", "Role")
ROLE_BINDINGS = Resource("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding")
MERGE = {"Content-Type": placement_fleet.MERGE}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    chosen = metafunc.config.getoption("--servers").split(",")
    names = [name for name in ("kube-apiserver",) if name in chosen]
    metafunc.parametrize("fleet", names, indirect=True, scope="module")


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    made = placement_fleet.start(tmp_path_factory.mktemp("fleet"), BOTH)
    try:
        add_node(made.members[FIRST], "one", "8", "16Gi")
        add_node(made.members[FIRST], "two", "8", "16Gi")
        add_node(made.members[SECOND], "only", "8", "16Gi")
        add_pod(made.members[SECOND], "busy", "only", "2", "4Gi")
        made.join(FIRST)
        made.join_by_environment(SECOND)
        for name in BOTH:
            made.until(f"{name} joins", lambda name=name: has_joined(made, name))
        yield made
    finally:
        made.stop()


# Membership


@pytest.mark.rule("MC-1", "MC-2", "MC-5", "MC-6", "MC-7", "MC-8", "IMC-1", "IMC-3", "PROP-1")
def test_a_member_joins_and_tells_what_it_has(fleet: Fleet) -> None:
    member = fleet.hub.get(kinds.MEMBER_CLUSTER, SECOND)
    assert member["metadata"]["labels"]["kubernetes-fleet.io/member-name"] == SECOND
    assert "kubernetes-fleet.io/membercluster-finalizer" in member["metadata"]["finalizers"]
    generation, status = member["metadata"]["generation"], member["status"]
    assert told(status) == [
        ("ReadyToJoin", "True", "MemberClusterReadyToJoin",
         "Member cluster is ready to join the fleet", generation),
        ("Joined", "True", "MemberClusterJoined",
         "Member cluster has successfully joined the fleet", generation),
    ]  # fmt: skip
    (agent,) = status["agentStatus"]
    assert agent["type"] == "MemberAgent"
    assert told(agent) == [
        ("Healthy", "True", "InternalMemberClusterHealthy", "", generation),
        ("Joined", "True", "InternalMemberClusterJoined", "", generation),
    ]
    counts = {name: each["value"] for name, each in status["properties"].items()}
    assert counts["kubernetes-fleet.io/node-count"] == "1"
    usage = status["resourceUsage"]
    assert {key: usage["capacity"][key] for key in ("cpu", "memory")} == room("8", "16Gi")
    assert {key: usage["available"][key] for key in ("cpu", "memory")} == room("6", "12Gi")
    first = fleet.hub.get(kinds.MEMBER_CLUSTER, FIRST)["status"]
    assert first["properties"]["kubernetes-fleet.io/node-count"]["value"] == "2"
    assert first["resourceUsage"]["available"]["cpu"] == "16"
    reasons = [reason for _, reason, _ in fleet.hub.events(SECOND)]
    for reason in ("NamespaceCreated", "RoleCreated", "RoleBindingCreated", "MemberClusterJoined"):
        assert reason in reasons
    fleet.until("a profile", lambda: fleet.hub.find(PROFILES, SECOND, SYSTEM))


@pytest.mark.rule("MC-2", "MC-3", "MC-4")
def test_an_agent_may_touch_its_own_namespace_and_nothing_else(fleet: Fleet) -> None:
    hub, space = fleet.hub, f"fleet-member-{SECOND}"
    labels = hub.get(NAMESPACES, space)["metadata"]["labels"]
    assert labels["kubernetes-fleet.io/is-fleet-resource"] == "true"
    groups = [rule["apiGroups"] for rule in hub.get(ROLES, f"fleet-role-{SECOND}", space)["rules"]]
    assert sorted(group for (group,) in groups) == [
        "", "cluster.kubernetes-fleet.io", "networking.fleet.azure.com",
        "placement.kubernetes-fleet.io",
    ]  # fmt: skip
    binding = hub.get(ROLE_BINDINGS, f"fleet-rolebinding-{SECOND}", space)
    account = {"kind": "ServiceAccount", "name": f"agent-of-{SECOND}", "namespace": SYSTEM}
    assert binding["subjects"] == [account]
    named = [
        subject.get("name")
        for each in hub.all(BINDINGS)
        for subject in each.get("subjects") or ()
        if subject["kind"] == "ServiceAccount"
    ]
    assert not [name for name in named if FIRST in name or SECOND in name]
    token = token_of(hub, f"agent-of-{SECOND}")

    def may(kind: Resource, namespace: str) -> bool:
        return hub.send("GET", kind.path(namespace), token=token)[0] == 200

    assert may(kinds.WORK, space)
    assert may(kinds.INTERNAL_MEMBER_CLUSTER, space)
    assert not may(kinds.WORK, f"fleet-member-{FIRST}")
    assert not may(CONFIG_MAPS, space)
    assert not may(CONFIG_MAPS, "default")
    assert not may(kinds.MEMBER_CLUSTER, "")


# A ClusterResourcePlacement


@pytest.mark.rule("SEL-1", "SEL-18", "SEL-20", "SPEC-9", "ST-3", "APPLY-1", "GEN-2")
def test_a_namespace_is_placed_changed_and_taken_back(fleet: Fleet) -> None:
    hub = fleet.hub
    offer(fleet, "c1", conf={"a": "1"})
    made = place(fleet, "crp-all", "c1")
    assert made["spec"]["revisionHistoryLimit"] == 10
    assert made["spec"]["strategy"]["applyStrategy"] == {
        "comparisonOption": "PartialComparison", "type": "ClientSideApply",
        "whenToApply": "Always", "whenToTakeOver": "Always",
    }  # fmt: skip
    is_available(fleet, PLACEMENT, "crp-all", "", 2)
    status = hub.get(PLACEMENT, "crp-all")["status"]
    assert status["observedResourceIndex"] == "0"
    assert status["selectedResources"] == [
        {"kind": "Namespace", "name": "c1", "version": "v1"},
        {"kind": "ConfigMap", "name": "conf", "namespace": "c1", "version": "v1"},
    ]
    assert [each["clusterName"] for each in status["placementStatuses"]] == BOTH
    for each in status["placementStatuses"]:
        assert told(each) == cluster_conditions(each["clusterName"], 0, 1)
    fleet.until_equal("events", lambda: hub.events("crp-all"), list(EVENTS_OF_A_ROLLOUT))
    snapshot = hub.get(kinds.CLUSTER_SCOPE.resource_snapshot, "crp-all-0-snapshot")
    assert snapshot["metadata"]["annotations"]["kubernetes-fleet.io/resource-hash"]
    for name in BOTH:
        is_placed(fleet.members[name], "c1", "crp-all-work", {"a": "1"})
    hub.patch(CONFIG_MAPS, "conf", {"data": {"a": "2"}}, "c1")
    for name in BOTH:
        arrives(fleet, name, "c1", "conf", {"a": "2"})
    fleet.until_equal("the next index", lambda: index_of(fleet, "crp-all"), "1")
    is_available(fleet, PLACEMENT, "crp-all", "", 2)
    latest = hub.get(kinds.CLUSTER_SCOPE.resource_snapshot, "crp-all-1-snapshot")["metadata"]
    assert latest["annotations"]["kubernetes-fleet.io/resource-hash"] == HASH_OF_C1
    for name in BOTH:
        found = fleet.members[name].get(CONFIG_MAPS, "conf", "c1")["metadata"]["annotations"]
        assert found["kubernetes-fleet.io/spec-hash"] == HASH_OF_CONF
    hub.delete(PLACEMENT, "crp-all")
    nothing_is_left(fleet, "crp-all", "c1")
    removed = (
        "Normal",
        "PlacementCleanupFinalizerRemoved",
        "Deleted the snapshots and removed the placement cleanup finalizer",
    )
    fleet.until("it is told", lambda: removed in hub.events("crp-all"))
    assert hub.get(CONFIG_MAPS, "conf", "c1")["data"] == {"a": "2"}


HASH_OF_C1 = "9aaeefb6c449dd83a549241181b94f200d40fc6d83ad6773ba3cd2c30aca730f"
HASH_OF_CONF = "a6fb130df96eecf7f3acc8d10b1b2c797d2e577d72360036808a22d9bdf35968"
"""As KubeFleet computes them of the same objects."""


@pytest.mark.rule("APPLY-15", "APPLY-20", "DRIFT-1", "ROLL-1")
def test_what_somebody_changes_on_a_member_is_put_right(fleet: Fleet) -> None:
    offer(fleet, "drifted", conf={"a": "1"})
    place(fleet, "drifted", "drifted")
    is_available(fleet, PLACEMENT, "drifted", "", 2)
    member = fleet.members[SECOND]
    member.patch(CONFIG_MAPS, "conf", {"data": {"a": "other", "mine": "kept"}}, "drifted")
    arrives(fleet, SECOND, "drifted", "conf", {"a": "1", "mine": "kept"})
    member.delete(CONFIG_MAPS, "conf", "drifted")
    arrives(fleet, SECOND, "drifted", "conf", {"a": "1"})
    applied = {"applyStrategy": {"whenToApply": "IfNotDrifted"}}
    fleet.hub.patch(PLACEMENT, "drifted", {"spec": {"strategy": applied}})
    fleet.until("it is taken up", lambda: generation_seen(fleet, "drifted") == 2)
    is_available(fleet, PLACEMENT, "drifted", "", 2)
    member.patch(CONFIG_MAPS, "conf", {"data": {"a": "other"}}, "drifted")
    fleet.until("it is told", lambda: entry(fleet, "drifted", SECOND).get("driftedPlacements"))
    (drifted,) = entry(fleet, "drifted", SECOND)["driftedPlacements"]
    assert (drifted["kind"], drifted["name"], drifted["namespace"]) == (
        "ConfigMap", "conf", "drifted",
    )  # fmt: skip
    assert drifted["observedDrifts"] == [
        {"path": "/data/a", "valueInHub": "1", "valueInMember": "other"}
    ]
    assert member.get(CONFIG_MAPS, "conf", "drifted")["data"] == {"a": "other"}
    fleet.until(
        "it failed there",
        lambda: condition(entry(fleet, "drifted", SECOND), "Applied")[:2] == ("False", NOT_APPLIED),
    )
    remove(fleet, "drifted")


NOT_APPLIED = "NotAllWorkHaveBeenApplied"


@pytest.mark.rule("APPLY-13", "GEN-6")
def test_differences_are_told_and_nothing_is_touched(fleet: Fleet) -> None:
    offer(fleet, "diffed", conf={"a": "1"})
    for name in BOTH:
        fleet.members[name].create(NAMESPACES, {"metadata": {"name": "diffed"}})
    other = {"metadata": {"name": "conf", "namespace": "diffed"}, "data": {"a": "other"}}
    fleet.members[FIRST].create(CONFIG_MAPS, other)
    apart = {"applyStrategy": {"type": "ReportDiff", "whenToTakeOver": "Never"}}
    place(fleet, "diffed", "diffed", strategy={**QUICKLY, **apart})
    done = ("True", "DiffReportingCompleted", "Diff reporting in 2 cluster(s) has been completed")
    fleet.until_equal(
        "all is compared", lambda: reported(fleet, PLACEMENT, "diffed", "DiffReported"), done
    )
    (first,) = entry(fleet, "diffed", FIRST)["diffedPlacements"]
    assert first["observedDiffs"] == [
        {"path": "/data/a", "valueInHub": "1", "valueInMember": "other"}
    ]
    (second,) = entry(fleet, "diffed", SECOND)["diffedPlacements"]
    assert [(each["path"], each["valueInHub"]) for each in second["observedDiffs"]] == [
        ("/", "(the whole object)")
    ]
    assert fleet.members[FIRST].get(CONFIG_MAPS, "conf", "diffed")["data"] == {"a": "other"}
    assert fleet.members[SECOND].find(CONFIG_MAPS, "conf", "diffed") is None
    fleet.members[FIRST].patch(CONFIG_MAPS, "conf", {"data": {"a": "1"}}, "diffed")
    fleet.until(
        "no difference is left", lambda: not entry(fleet, "diffed", FIRST).get("diffedPlacements")
    )
    fleet.hub.delete(PLACEMENT, "diffed")
    fleet.until("it is gone", lambda: fleet.hub.find(PLACEMENT, "diffed") is None)
    found = fleet.members[FIRST].get(CONFIG_MAPS, "conf", "diffed")
    assert found["data"] == {"a": "1"}
    assert not found["metadata"].get("ownerReferences")


@pytest.mark.rule("OVR-1", "OVR-7", "MC-6")
def test_members_get_what_overrides_make_of_it(fleet: Fleet) -> None:
    hub = fleet.hub
    for name, region in ((FIRST, "east"), (SECOND, "west")):
        hub.patch(kinds.MEMBER_CLUSTER, name, {"metadata": {"labels": {"region": region}}})
    labels = {"app": "x"}
    hub.create(NAMESPACES, {"metadata": {"name": "changed", "labels": labels}})
    for name in ("conf", "only-one"):
        metadata = {"name": name, "namespace": "changed", "labels": labels}
        hub.create(CONFIG_MAPS, {"metadata": metadata, "data": {"a": "1"}})
    where = {"op": "add", "path": "/metadata/labels/where", "value": "east"}
    selected = [{"group": "", "version": "v1", "kind": "Namespace", "name": "changed"}]
    rule = {"clusterSelector": in_region("east"), "jsonPatchOverrides": [where]}
    of_placement = {"placement": {"name": "changed"}, "policy": {"overrideRules": [rule]}}
    spec = {"clusterResourceSelectors": selected, **of_placement}
    hub.create(kinds.CLUSTER_OVERRIDE, {"metadata": {"name": "cro"}, "spec": spec})
    patches = [
        {"op": "replace", "path": "/data/a", "value": "${MEMBER-CLUSTER-NAME}"},
        {"op": "add", "path": "/data/region", "value": "${MEMBER-CLUSTER-LABEL-KEY-region}"},
    ]
    everywhere = {"clusterSelector": {"clusterSelectorTerms": []}, "jsonPatchOverrides": patches}
    override(fleet, "ro", "conf", everywhere)
    override(fleet, "ro-delete", "only-one",
             {"clusterSelector": in_region("west"), "overrideType": "Delete"})  # fmt: skip
    for kind, count in ((kinds.CLUSTER_OVERRIDE_SNAPSHOT, 1), (kinds.OVERRIDE_SNAPSHOT, 2)):
        fleet.until("snapshots", lambda kind=kind, count=count: len(hub.all(kind)) == count)
    place(fleet, "changed", "changed")
    arrives(fleet, FIRST, "changed", "conf", {"a": FIRST, "region": "east"})
    arrives(fleet, SECOND, "changed", "conf", {"a": SECOND, "region": "west"})
    arrives(fleet, FIRST, "changed", "only-one", {"a": "1"})
    overridden = (
        "True", "OverriddenSucceeded",
        "Successfully applied the override rules on the resources",
    )  # fmt: skip
    for name in BOTH:
        fleet.until_equal(
            name, lambda name=name: condition(entry(fleet, "changed", name), "Overridden"),
            overridden,
        )  # fmt: skip
    assert fleet.members[SECOND].find(CONFIG_MAPS, "only-one", "changed") is None
    assert fleet.members[FIRST].get(NAMESPACES, "changed")["metadata"]["labels"]["where"] == "east"
    assert "where" not in fleet.members[SECOND].get(NAMESPACES, "changed")["metadata"]["labels"]
    assert entry(fleet, "changed", FIRST)["applicableClusterResourceOverrides"] == ["cro-0"]
    assert entry(fleet, "changed", SECOND)["applicableResourceOverrides"] == [
        {"name": "ro-0", "namespace": "changed"}, {"name": "ro-delete-0", "namespace": "changed"},
    ]  # fmt: skip
    broken = [{"op": "replace", "path": "/data/missing/deep", "value": "x"}]
    rules = {"overrideRules": [{**everywhere, "jsonPatchOverrides": broken}]}
    hub.patch(kinds.OVERRIDE, "ro", {"spec": {"policy": rules}}, "changed")
    why = (
        'Failed to apply the override rules on the resources: ResourceOverrideSnapshot "ro-1"'
        ' failed to apply on ConfigMap "conf" in namespace "changed": replace operation does not'
        " apply: doc is missing path: /data/missing/deep: missing value"
    )

    def failures() -> list[tuple[str, str, str]]:
        return [condition(entry(fleet, "changed", name), "Overridden") for name in BOTH]

    fleet.until("it fails somewhere", lambda: ("False", "OverriddenFailed", why) in failures())
    remove(fleet, "changed")
    hub.delete(kinds.CLUSTER_OVERRIDE, "cro")


@pytest.mark.rule("EVICT-1", "EVICT-2", "EVICT-3")
def test_a_placement_is_evicted_unless_its_budget_says_no(fleet: Fleet) -> None:
    hub = fleet.hub
    offer(fleet, "evicted", conf={"a": "1"})
    place(fleet, "evicted", "evicted")
    is_available(fleet, PLACEMENT, "evicted", "", 2)
    budget = {"metadata": {"name": "evicted"}, "spec": {"minAvailable": 2}}
    hub.create(kinds.DISRUPTION_BUDGET, budget)
    evict(fleet, "blocked", "evicted", SECOND)
    by_budget = "{} by specified ClusterResourcePlacementDisruptionBudget, availablePlacements: 2, "
    by_budget += "totalPlacements: 2"
    blocked = ("False", "ClusterResourcePlacementEvictionNotExecuted",
               by_budget.format("Eviction is blocked"))  # fmt: skip
    fleet.until_equal("it is blocked", lambda: executed(fleet, "blocked"), blocked)
    assert fleet.members[SECOND].find(CONFIG_MAPS, "conf", "evicted")
    hub.patch(kinds.DISRUPTION_BUDGET, "evicted", {"spec": {"minAvailable": 1}})
    taint = {"key": "k", "value": "v", "effect": "NoSchedule"}
    hub.patch(kinds.MEMBER_CLUSTER, SECOND, {"spec": {"taints": [taint]}})
    evict(fleet, "allowed", "evicted", SECOND)
    allowed = ("True", "ClusterResourcePlacementEvictionExecuted",
               by_budget.format("Eviction is allowed"))  # fmt: skip
    fleet.until_equal("it is allowed", lambda: executed(fleet, "allowed"), allowed)
    fleet.until(
        "the namespace goes",
        lambda: fleet.members[SECOND].find(NAMESPACES, "evicted") is None,
    )
    is_available(fleet, PLACEMENT, "evicted", "", 1)
    hub.patch(kinds.MEMBER_CLUSTER, SECOND, {"spec": {"taints": []}})
    is_available(fleet, PLACEMENT, "evicted", "", 2)
    for kind, name in (
        (kinds.DISRUPTION_BUDGET, "evicted"),
        (kinds.EVICTION, "blocked"),
        (kinds.EVICTION, "allowed"),
    ):
        hub.delete(kind, name)
    remove(fleet, "evicted")


@pytest.mark.rule("RUN-1", "RUN-6", "RUN-12")
def test_a_staged_update_waits_for_approvals(fleet: Fleet) -> None:
    hub = fleet.hub
    for name, stage in ((FIRST, "canary"), (SECOND, "prod")):
        hub.patch(kinds.MEMBER_CLUSTER, name, {"metadata": {"labels": {"stage": stage}}})
    offer(fleet, "staged", conf={"a": "1"})
    after = [{"type": "TimedWait", "waitTime": "1s"}, {"type": "Approval"}]
    stages = [
        {"name": "canary", "labelSelector": {"matchLabels": {"stage": "canary"}},
         "afterStageTasks": after},
        {"name": "prod", "labelSelector": {"matchLabels": {"stage": "prod"}},
         "beforeStageTasks": [{"type": "Approval"}]},
    ]  # fmt: skip
    hub.create(STRATEGY, {"metadata": {"name": "two-stages"}, "spec": {"stages": stages}})
    place(fleet, "staged", "staged", strategy={"type": "External"})
    outside = (
        "Unknown", "RolloutControlledByExternalController",
        "Rollout is controlled by an external controller and no resource snapshot name is observed"
        " across clusters. To determine rollout status, check the ClusterStagedUpdateRun resources"
        " with spec.placementName matching this placement",
    )  # fmt: skip
    fleet.until_equal(
        "nothing happens", lambda: reported(fleet, PLACEMENT, "staged", "RolloutStarted"), outside
    )
    spec = {"placementName": "staged", "stagedRolloutStrategyName": "two-stages", "state": "Run"}
    hub.create(RUN, {"metadata": {"name": "run1"}, "spec": spec})
    fleet.until("a request", lambda: hub.find(APPROVAL, "run1-after-canary"))
    arrives(fleet, FIRST, "staged", "conf", {"a": "1"})
    assert fleet.members[SECOND].find(NAMESPACES, "staged") is None
    assert hub.find(APPROVAL, "run1-before-prod") is None
    approve(fleet, "run1-after-canary")
    fleet.until("the next request", lambda: hub.find(APPROVAL, "run1-before-prod"))
    assert fleet.members[SECOND].find(NAMESPACES, "staged") is None
    approve(fleet, "run1-before-prod")
    arrives(fleet, SECOND, "staged", "conf", {"a": "1"})
    done = ("True", "UpdateRunSucceeded", "All stages are completed successfully")
    fleet.until_equal(
        "it is over", lambda: condition(hub.get(RUN, "run1").get("status"), "Succeeded"), done
    )
    found = hub.get(RUN, "run1")["status"]
    assert found["resourceSnapshotIndexUsed"] == "0"
    assert [each["stageName"] for each in found["stagesStatus"]] == ["canary", "prod"]
    assert told(found["stagesStatus"][0]["afterStageTaskStatus"][1], with_generation=False) == [
        ("ApprovalRequestCreated", "True", "StageTaskApprovalRequestCreated",
         "ApprovalRequest object is created"),
        ("ApprovalRequestApproved", "True", "StageTaskApprovalRequestApproved",
         "ApprovalRequest object is approved"),
    ]  # fmt: skip
    available = ("True", "ResourceAvailable", "The selected resources in 2 cluster(s) are available"
                 " now")  # fmt: skip
    fleet.until_equal(
        "all is available", lambda: reported(fleet, PLACEMENT, "staged", "Available"), available
    )
    hub.delete(RUN, "run1")
    remove(fleet, "staged")
    fleet.until("requests go", lambda: not hub.all(APPROVAL))


# A ResourcePlacement


@pytest.mark.rule("PROP-1", "ST-3")
def test_one_member_is_picked_by_what_is_left_on_it(fleet: Fleet) -> None:
    hub = fleet.hub
    offer(fleet, "picked", conf={"a": "1"}, other={"b": "2"})
    place(fleet, "picked-namespace", "picked", scope="NamespaceOnly")
    is_available(fleet, PLACEMENT, "picked-namespace", "", 2)
    assert fleet.members[FIRST].find(CONFIG_MAPS, "conf", "picked") is None
    for name, selected, order in (("most", "conf", "Descending"), ("least", "other", "Ascending")):
        spec = {
            "resourceSelectors": [selector("ConfigMap", selected)],
            "policy": {
                "placementType": "PickN", "numberOfClusters": 1,
                "affinity": {"clusterAffinity": preferred(order)},
            },
            "strategy": QUICKLY,
        }  # fmt: skip
        metadata = {"name": name, "namespace": "picked"}
        hub.create(NAMESPACED, {"metadata": metadata, "spec": spec})
        is_available(fleet, NAMESPACED, name, "picked", 1)
    for name, chosen, selected in (("most", FIRST, "conf"), ("least", SECOND, "other")):
        status = hub.get(NAMESPACED, name, "picked")["status"]
        (only,) = status["placementStatuses"]
        assert only["clusterName"] == chosen
        assert told(only) == cluster_conditions(chosen, 70, 1)
        assert status["selectedResources"] == [
            {"kind": "ConfigMap", "name": selected, "namespace": "picked", "version": "v1"}
        ]
        assert hub.events(name, "picked") == list(EVENTS_OF_A_ROLLOUT)
        owner = fleet.members[chosen].get(CONFIG_MAPS, selected, "picked")["metadata"]
        assert owner["ownerReferences"][0]["name"] == f"picked.{name}-work"
        others = [each for each in BOTH if each != chosen]
        assert fleet.members[others[0]].find(CONFIG_MAPS, selected, "picked") is None
        hub.delete(NAMESPACED, name, "picked")
    for chosen, selected in ((FIRST, "conf"), (SECOND, "other")):
        member = fleet.members[chosen]
        fleet.until(
            f"{selected} goes",
            lambda member=member, selected=selected: (
                member.find(CONFIG_MAPS, selected, "picked") is None
            ),
        )
    remove(fleet, "picked-namespace", "picked")


# One side alone


@pytest.mark.rule("MC-5", "MC-7", "MC-10", "GEN-1", "GEN-5")
def test_a_hub_gets_on_with_an_agent_that_is_not_ours(fleet: Fleet) -> None:
    """The test writes what KubeFleet's agent writes, with its rights and no others."""
    hub, name, space = fleet.hub, "by-hand", "fleet-member-by-hand"
    account = {"kind": "ServiceAccount", "name": name, "namespace": SYSTEM}
    hub.create(ACCOUNTS, {"metadata": {"name": name, "namespace": SYSTEM}})
    hub.create(kinds.MEMBER_CLUSTER, {"metadata": {"name": name}, "spec": {"identity": account}})
    fleet.until("its object", lambda: hub.find(kinds.INTERNAL_MEMBER_CLUSTER, name, space))
    found = hub.get(kinds.INTERNAL_MEMBER_CLUSTER, name, space)
    assert found["spec"] == {"state": "Join", "heartbeatPeriodSeconds": 60}
    fleet.until("its rights", lambda: hub.find(ROLE_BINDINGS, f"fleet-rolebinding-{name}", space))
    token = token_of(hub, name)
    fleet.until("it may write", lambda: report_joined(hub, name, token, "True") == 200)
    fleet.until("it has joined", lambda: has_joined(fleet, name))
    offer(fleet, "afar", conf={"a": "1"})
    place(fleet, "afar", "afar", policy={"placementType": "PickFixed", "clusterNames": [name]})
    fleet.until("a Work", lambda: hub.find(kinds.WORK, "afar-work", space))
    work = hub.get(kinds.WORK, "afar-work", space)
    annotations, labels = work["metadata"]["annotations"], work["metadata"]["labels"]
    prefix = "kubernetes-fleet.io/parent"
    assert annotations == {
        f"{prefix}-cluster-resource-override-snapshot-hash": HASH_OF_NOTHING,
        f"{prefix}-resource-override-snapshot-hash": HASH_OF_NOTHING,
        f"{prefix}-resource-snapshot-name": "afar-0-snapshot",
    }
    assert labels.pop(f"{prefix}-resource-binding").startswith("afar-by-hand-")
    assert labels == {f"{prefix}-CRP": "afar", f"{prefix}-resource-snapshot-index": "0"}
    assert work["spec"] == work_spec("afar", {"a": "1"})
    finalizer = {"metadata": {"finalizers": ["kubernetes-fleet.io/work-cleanup"]}}
    status = {"status": work_status("afar", 1)}
    path = kinds.WORK.path(space, "afar-work")
    assert hub.send("PATCH", path, finalizer, MERGE, token)[0] == 200
    assert hub.send("PATCH", f"{path}/status", status, MERGE, token)[0] == 200
    is_available(fleet, PLACEMENT, "afar", "", 1)
    hub.delete(PLACEMENT, "afar")
    fleet.until("the Work is to go", lambda: is_deleting(hub.find(kinds.WORK, "afar-work", space)))
    assert hub.all(kinds.CLUSTER_SCOPE.binding)
    assert hub.send("PATCH", path, {"metadata": {"finalizers": []}}, MERGE, token)[0] == 200
    for kind in (PLACEMENT, kinds.CLUSTER_SCOPE.binding):
        fleet.until_equal("all of it goes", lambda kind=kind: hub.names(kind), [])
    hub.delete(kinds.MEMBER_CLUSTER, name)
    leaves = {"state": "Leave", "heartbeatPeriodSeconds": 60}
    fleet.until_equal(
        "it is told to leave",
        lambda: hub.get(kinds.INTERNAL_MEMBER_CLUSTER, name, space)["spec"],
        leaves,
    )
    assert report_joined(hub, name, token, "False") == 200
    fleet.until("it has left", lambda: hub.find(kinds.MEMBER_CLUSTER, name) is None)
    assert hub.find(NAMESPACES, space) is None


@pytest.mark.rule("APPLY-1", "APPLY-20", "AVAIL-1")
def test_an_agent_gets_on_with_a_hub_that_is_not_ours(fleet: Fleet) -> None:
    """The test writes what KubeFleet's hub writes; ours does not run."""
    hub, member, space = fleet.hub, fleet.members[FIRST], f"fleet-member-{FIRST}"
    hub.end_agent()
    metadata = {"name": "alone-work", "namespace": space}
    hub.create(kinds.WORK, {"metadata": metadata, "spec": work_spec("alone", {"a": "1"})})
    arrives(fleet, FIRST, "alone", "conf", {"a": "1"})
    is_placed(member, "alone", "alone-work", {"a": "1"})

    def status() -> Object:
        return without_times(hub.get(kinds.WORK, "alone-work", space).get("status") or {})

    fleet.until_equal("its status", status, without_times(work_status("alone", 1)))
    applied = member.get(kinds.APPLIED_WORK, "alone-work")
    assert applied["spec"] == {"workName": "alone-work", "workNamespace": space}
    assert [each["resource"] for each in applied["status"]["appliedResources"]] == [
        "namespaces",
        "configmaps",
    ]
    hub.delete(kinds.WORK, "alone-work", space)
    fleet.until("it is cleared", lambda: member.find(NAMESPACES, "alone") is None)
    fleet.until("the Work goes", lambda: hub.find(kinds.WORK, "alone-work", space) is None)
    fleet.start_hub()


HASH_OF_NOTHING = "74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b"


# What is refused


@pytest.mark.rule("SPEC-5")
def test_the_hub_refuses_what_cannot_be_placed(fleet: Fleet) -> None:
    prefix = 'admission webhook "fleet.clusterresourceplacementv1beta1.validating" denied the'
    prefix += " request: deny create/update v1beta1 CRP has invalid fields "
    fixed = {"placementType": "PickFixed", "clusterNames": ["a", "a"]}
    cases = (
        (placement("no", [selector("Namespace", "default")], policy=fixed),
         "the placement policy field is invalid: cluster names must be unique for policy type"
         " PickFixed"),
        (placement("no", [selector("ConfigMap", "x")]),
         "the resource is not found in schema (please retry) or it is not a cluster scoped"
         " resource: /v1, Kind=ConfigMap"),
    )  # fmt: skip
    for body, text in cases:
        status, answer = fleet.hub.send("POST", PLACEMENT.path(), body)
        assert (status, answer["reason"], answer["message"]) == (403, "Forbidden", prefix + text)
    spec = {"identity": {"kind": "User", "name": "x"}, "taints": [{"key": "key@", "effect": "NoSchedule"}]}  # fmt: skip  # noqa: E501
    member = {"apiVersion": kinds.MEMBER_CLUSTER.api_version, "kind": "MemberCluster"}
    member |= {"metadata": {"name": "no"}, "spec": spec}
    status, answer = fleet.hub.send("POST", kinds.MEMBER_CLUSTER.path(), member)
    assert status == 403
    assert answer["message"].startswith(
        'admission webhook "fleet.membercluster.validating" denied the request: '
    )
    assert "invalid taint key" in answer["message"]


@pytest.mark.rule("GR-1", "GR-2")
def test_the_guard_rail_keeps_ordinary_users_off_the_fleet(fleet: Fleet) -> None:
    hub, space = fleet.hub, f"fleet-member-{FIRST}"
    who = "user: 'test-user' in 'groups: [system:authenticated]' is not allowed to"
    empty = {"workload": {"manifests": []}}
    cases = (
        ("namespace", "CREATE resource /v1, Kind=Namespace/: /fleet-custom-x",
         "POST", NAMESPACES.path(), named(NAMESPACES, "fleet-custom-x")),
        ("fleetmembernamespacedresources", f"CREATE resource /v1, Kind=ConfigMap/: {space}/y",
         "POST", CONFIG_MAPS.path(space), named(CONFIG_MAPS, "y", space)),
        ("fleetsystemnamespacedresources", "CREATE resource /v1, Kind=ConfigMap/: fleet-system/y",
         "POST", CONFIG_MAPS.path(SYSTEM), named(CONFIG_MAPS, "y", SYSTEM)),
        ("kubenamespacedresources", "CREATE resource /v1, Kind=ConfigMap/: kube-system/y",
         "POST", CONFIG_MAPS.path("kube-system"), named(CONFIG_MAPS, "y", "kube-system")),
        ("fleetmembernamespacedresources",
         f"CREATE resource placement.kubernetes-fleet.io/v1beta1, Kind=Work/: {space}/w",
         "POST", kinds.WORK.path(space), named(kinds.WORK, "w", space, spec=empty)),
    )  # fmt: skip
    for webhook, what, method, path, body in cases:
        status, answer = hub.send(method, path, body, USER)
        text = f'admission webhook "fleet.{webhook}.guardrail.validating" denied the request: '
        assert (status, answer["message"]) == (403, f"{text}{who} {what}")
    path = kinds.MEMBER_CLUSTER.path("", FIRST)
    annotated = {"metadata": {"annotations": {"fleet.azure.com/x": "x"}}}
    status, answer = hub.send("PATCH", path, annotated, {**USER, **MERGE})
    assert status == 403
    assert answer["message"].endswith(
        "no user is allowed to add a fleet pre-fixed annotation to an upstream member cluster"
    )
    labelled = {"metadata": {"labels": {"by": "test-user"}}}
    assert hub.send("PATCH", path, labelled, {**USER, **MERGE})[0] == 200
    ordinary = named(NAMESPACES, "ordinary")
    assert hub.send("POST", NAMESPACES.path(), ordinary, USER)[0] == 201


# The end


@pytest.mark.rule("MC-9", "MC-10", "MC-12", "MC-13", "IMC-2")
def test_a_member_that_leaves_keeps_what_it_has_and_may_come_back(fleet: Fleet) -> None:
    hub, member = fleet.hub, fleet.members[SECOND]
    offer(fleet, "stays", conf={"a": "1"})
    place(fleet, "stays", "stays")
    is_available(fleet, PLACEMENT, "stays", "", 2)
    kept = member.get(CONFIG_MAPS, "conf", "stays")["metadata"]["uid"]
    spec = hub.get(kinds.MEMBER_CLUSTER, SECOND)["spec"]
    hub.delete(kinds.MEMBER_CLUSTER, SECOND)
    fleet.until("it has left", lambda: hub.find(kinds.MEMBER_CLUSTER, SECOND) is None)
    assert hub.find(NAMESPACES, f"fleet-member-{SECOND}") is None
    fleet.until("its profile goes", lambda: hub.find(PROFILES, SECOND, SYSTEM) is None)
    is_available(fleet, PLACEMENT, "stays", "", 1)
    assert member.get(CONFIG_MAPS, "conf", "stays")["metadata"]["uid"] == kept
    hub.create(kinds.MEMBER_CLUSTER, {"metadata": {"name": SECOND}, "spec": spec})
    fleet.until("it is back", lambda: has_joined(fleet, SECOND))
    is_available(fleet, PLACEMENT, "stays", "", 2)
    assert member.get(CONFIG_MAPS, "conf", "stays")["metadata"]["uid"] == kept
    remove(fleet, "stays")


@pytest.mark.rule("GEN-3")
def test_agents_that_start_again_change_nothing(fleet: Fleet) -> None:
    hub, member = fleet.hub, fleet.members[FIRST]
    offer(fleet, "lasting", conf={"a": "1"})
    place(fleet, "lasting", "lasting")
    is_available(fleet, PLACEMENT, "lasting", "", 2)

    def versions() -> dict[str, str]:
        scope, works = kinds.CLUSTER_SCOPE, hub.all(kinds.WORK, f"fleet-member-{FIRST}")
        found = [hub.get(PLACEMENT, "lasting"), member.get(CONFIG_MAPS, "conf", "lasting"), *works]
        for kind in (scope.binding, scope.resource_snapshot, scope.policy_snapshot):
            found += hub.all(kind)
        return {
            f"{each['kind']} {each['metadata']['name']}": each["metadata"]["resourceVersion"]
            for each in found
            if each["metadata"]["name"] == "conf" or each["metadata"]["name"].startswith("lasting")
        }

    before = versions()
    assert len(before) == 7
    hub.end_agent()
    member.end_agent()
    fleet.start_hub()
    member.spawn("member", *placement_fleet.MEMBER_FLAGS)
    offer(fleet, "later", conf={"a": "1"})
    place(fleet, "later", "later")
    is_available(fleet, PLACEMENT, "later", "", 2)
    assert versions() == before
    hub.patch(CONFIG_MAPS, "conf", {"data": {"a": "2"}}, "lasting")
    for name in BOTH:
        arrives(fleet, name, "lasting", "conf", {"a": "2"})
    remove(fleet, "later")
    remove(fleet, "lasting")


@pytest.mark.rule("MC-3", "GEN-2")
def test_what_is_deleted_leaves_nothing_and_nobody_was_forbidden_anything(fleet: Fleet) -> None:
    """The last one: by now everything has happened that the stories make happen."""
    for kind in (PLACEMENT, NAMESPACED):
        for each in fleet.hub.all(kind):
            fleet.hub.delete(kind, each["metadata"]["name"], each["metadata"].get("namespace", ""))
    kept = [
        *(
            kind
            for scope in kinds.SCOPES
            for kind in (
                scope.placement, scope.binding, scope.resource_snapshot, scope.policy_snapshot
            )
        ),
        kinds.WORK,
    ]  # fmt: skip
    for kind in kept:
        fleet.until_equal(str(kind), lambda kind=kind: fleet.hub.names(kind), [])
    for member in fleet.members.values():
        fleet.until_equal("applied", lambda member=member: member.names(kinds.APPLIED_WORK), [])
    lines = [line for side in sides(fleet) for line in side.log_text().splitlines()]
    assert not [line for line in lines if "forbidden" in line.lower()]
    assert not [line for line in lines if "Traceback" in line]
