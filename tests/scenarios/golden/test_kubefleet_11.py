"""Typical mistakes on a hub, and the exact refusal that each one gets."""

from typing import Any

import pytest
from tests.support import hub_doors
from tests.support.hub_doors import API, CLUSTER_API, denied, refusal_of

from fleetqueue.fleet import kinds
from fleetqueue.kube.errors import NotFound, Refused
from fleetqueue.kube.resources import Object
from fleetqueue.testing import Fleet, named
from fleetqueue.testing import namespace as a_namespace
from fleetqueue.testing import pod as a_pod

pytestmark = pytest.mark.rule("SPEC-1", "SPEC-3", "SPEC-5", "SPEC-6", "SPEC-7", "SPEC-9")

PLACEMENT = "ClusterResourcePlacement"
NAMESPACE = {"group": "", "version": "v1", "kind": "Namespace", "name": "c11"}
CONFIG_MAP = {"group": "", "version": "v1", "kind": "ConfigMap", "name": "x"}
BY_WEBHOOK = "clusterresourceplacementv1beta1.validating"
FIELDS = "deny create/update v1beta1 CRP has invalid fields "
POLICY = f"{FIELDS}the placement policy field is invalid: "
STRATEGY = f"{FIELDS}the rollout Strategy field  is invalid: "
IDENTITY = {"kind": "User", "name": "x", "apiGroup": "rbac.authorization.k8s.io"}
UNCHECKED = (
    "<nil>: Invalid value: null: some validation rules were not checked because the object was "
    "invalid; correct the existing errors to complete validation"
)
SORTER = (
    "spec.policy.affinity.clusterAffinity.preferredDuringSchedulingIgnoredDuringExecution[0]"
    ".preference.propertySorter.sortOrder"
)
QUANTITY = r"'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
SUBDOMAIN = r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'"


def placement(name: str = "c11-y", *selectors: Object, **spec: Any) -> Object:
    return named(PLACEMENT, API, name, spec={"resourceSelectors": selectors or [NAMESPACE], **spec})


def picked(kind: str, **policy: Any) -> Object:
    return placement(policy={"placementType": kind, **policy})


def preferred(**preference: Any) -> Object:
    terms = [{"weight": 1, "preference": preference}]
    return {"clusterAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}}


def required(name: str, operator: str, *values: str) -> Object:
    expression = {"name": name, "operator": operator, "values": list(values)}
    terms = [{"propertySelector": {"matchExpressions": [expression]}}]
    wanted = {"clusterSelectorTerms": terms}
    return {"clusterAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": wanted}}


def sorted_by(name: str, order: str = "Descending") -> Object:
    return preferred(propertySorter={"name": name, "sortOrder": order})


def override(patch: Object, **rule: Any) -> Object:
    made = {
        "clusterSelector": {"clusterSelectorTerms": []},
        "jsonPatchOverrides": [patch],
        **rule,
    }
    spec = {"clusterResourceSelectors": [NAMESPACE], "policy": {"overrideRules": [made]}}
    return named("ClusterResourceOverride", API, "c11-cro", spec=spec)


def budget(name: str, **spec: Any) -> Object:
    return named("ClusterResourcePlacementDisruptionBudget", API, name, spec=spec)


def strategy(**stage: Any) -> Object:
    return named("ClusterStagedUpdateStrategy", API, "c11-s", spec={"stages": [stage]})


def cluster(name: str, **spec: Any) -> Object:
    return named("MemberCluster", CLUSTER_API, name, spec={"identity": IDENTITY, **spec})


def invalid(kind: str, name: str, text: str) -> tuple[int, str, str]:
    group = "cluster" if kind == "MemberCluster" else "placement"
    return 422, "Invalid", f'{kind}.{group}.kubernetes-fleet.io "{name}" is invalid: {text}'


def bad(text: str) -> tuple[int, str, str]:
    return invalid(PLACEMENT, "c11-y", text)


ACCEPTED = (201, "", "")
CASES: dict[str, tuple[Object, tuple[int, str, str]]] = {
    "name and labels": (
        placement("c11-y", {**NAMESPACE, "labelSelector": {"matchLabels": {"a": "b"}}}),
        bad(
            'spec.resourceSelectors: Invalid value: "array": name and labelSelector are mutually '
            "exclusive in a resource selector"
        ),
    ),
    "the same cluster twice": (
        picked("PickFixed", clusterNames=["a", "a"]),
        denied(BY_WEBHOOK, f"{POLICY}cluster names must be unique for policy type PickFixed"),
    ),
    "no cluster at all": (picked("PickFixed", clusterNames=[]), ACCEPTED),
    "a number with fixed clusters": (
        picked("PickFixed", clusterNames=["a"], numberOfClusters=2),
        bad(
            'spec.policy: Invalid value: "object": affinity, numberOfClusters, '
            "topologySpreadConstraints, and tolerations cannot be set when placementType is "
            "PickFixed"
        ),
    ),
    "no number": (
        picked("PickN"),
        bad(
            'spec.policy: Invalid value: "object": clusterNames cannot be set and numberOfClusters '
            "must be set when placementType is PickN"
        ),
    ),
    "a negative number": (
        picked("PickN", numberOfClusters=-1),
        bad(
            "spec.policy.numberOfClusters: Invalid value: -1: spec.policy.numberOfClusters in body "
            "should be greater than or equal to 0"
        ),
    ),
    "names with all clusters": (
        picked("PickAll", clusterNames=["a"]),
        bad(
            'spec.policy: Invalid value: "object": clusterNames, numberOfClusters, and '
            "topologySpreadConstraints cannot be set when placementType is PickAll"
        ),
    ),
    "a namespaced kind": (
        placement("c11-y", CONFIG_MAP),
        denied(
            BY_WEBHOOK,
            f"{FIELDS}the resource is not found in schema (please retry) or it is not a cluster "
            "scoped resource: /v1, Kind=ConfigMap",
        ),
    ),
    "a long name": (
        placement("c11-y" * 20),
        denied(BY_WEBHOOK, f"{FIELDS}the name field cannot have length exceeding 63"),
    ),
    "no share": (
        placement(strategy={"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "abc"}}),
        bad(
            'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "abc": '
            "spec.strategy.rollingUpdate.maxUnavailable in body should match "
            "'^((100|[0-9]{1,2})%|[0-9]+)$'"
        ),
    ),
    "a rolling update by others": (
        placement(strategy={"type": "External", "rollingUpdate": {"maxUnavailable": 1}}),
        denied(
            BY_WEBHOOK,
            f"{STRATEGY}rollingUpdateConifg is not valid for ExternalRollout strategy type",
        ),
    ),
    "force without server-side apply": (
        placement(
            strategy={
                "applyStrategy": {
                    "type": "ClientSideApply",
                    "serverSideApplyConfig": {"force": True},
                }
            }
        ),
        denied(
            BY_WEBHOOK,
            f"{STRATEGY}serverSideApplyConfig is only valid for ServerSideApply strategy type",
        ),
    ),
    "a value that exists": (
        picked("PickAll", tolerations=[{"operator": "Exists", "key": "k", "value": "v"}]),
        bad(
            'spec.policy.tolerations: Invalid value: "array": value must be empty when operator is '
            "Exists"
        ),
    ),
    "preferences where all are picked": (
        picked("PickAll", affinity=preferred(labelSelector={"matchLabels": {"a": "b"}})),
        denied(
            BY_WEBHOOK,
            f"{POLICY}PreferredDuringSchedulingIgnoredDuringExecution will be ignored for "
            "placement policy type PickAll",
        ),
    ),
    "a property that nobody has": (
        picked(
            "PickN",
            numberOfClusters=1,
            affinity=sorted_by("resources.kubernetes-fleet.io/free-cpu"),
        ),
        denied(
            BY_WEBHOOK,
            f"{POLICY}invalid capacity type in resource property name "
            "resources.kubernetes-fleet.io/free-cpu, supported values are "
            "[allocatable available total]",
        ),
    ),
    "no order": (
        picked(
            "PickN",
            numberOfClusters=1,
            affinity=sorted_by("resources.kubernetes-fleet.io/total-cpu", "Up"),
        ),
        bad(
            f'[{SORTER}: Unsupported value: "Up": supported values: "Ascending", "Descending", '
            f"{UNCHECKED}]"
        ),
    ),
    "no quantity": (
        picked(
            "PickN",
            numberOfClusters=1,
            affinity=required("kubernetes-fleet.io/node-count", "Gt", "x"),
        ),
        denied(
            BY_WEBHOOK,
            f"{POLICY}invalid requirement on property kubernetes-fleet.io/node-count: value "
            '"x" is not a valid resource.Quantity: quantities must match the regular expression '
            f"{QUANTITY}",
        ),
    ),
    "a namespaced placement without a number": (
        named(
            "ResourcePlacement", API, "rp-bad", "c11",
            spec={"resourceSelectors": [CONFIG_MAP], "policy": {"placementType": "PickN"}},
        ),
        invalid(
            "ResourcePlacement",
            "rp-bad",
            'spec.policy: Invalid value: "object": clusterNames cannot be set and numberOfClusters '
            "must be set when placementType is PickN",
        ),
    ),
    "a namespaced placement, which no webhook looks at": (
        named(
            "ResourcePlacement", API, "rp-odd", "c11",
            spec={
                "resourceSelectors": [CONFIG_MAP],
                "policy": {
                    "placementType": "PickN",
                    "numberOfClusters": 1,
                    "affinity": sorted_by("resources.kubernetes-fleet.io/free-cpu"),
                },
            },
        ),
        ACCEPTED,
    ),
    "a pod": (a_pod("p", namespace="c11"), ACCEPTED),
    "a namespace of the fleet, by masters": (a_namespace("fleet-custom"), ACCEPTED),
    "a namespace of the cluster, by masters": (a_namespace("kube-custom"), ACCEPTED),
    "a kind that changes": (
        override({"op": "add", "path": "/kind", "value": "X"}),
        denied(
            "clusterresourceoverride.validating",
            'invalid JSONPatchOverride {add /kind {"X"}}: cannot override typeMeta fields',
        ),
    ),
    "a removal with a value": (
        override({"op": "remove", "path": "/metadata/labels/a", "value": "X"}),
        denied(
            "clusterresourceoverride.validating",
            'invalid JSONPatchOverride {remove /metadata/labels/a {"X"}}: remove operation cannot '
            "have value",
        ),
    ),
    "a deletion with patches": (
        override({"op": "remove", "path": "/metadata/labels/a"}, overrideType="Delete"),
        denied(
            "clusterresourceoverride.validating",
            "invalid JSONPatchOverrides: JSONPatchOverrides cannot be set when the override type "
            "is Delete",
        ),
    ),
    "a budget with both": (
        budget("c11-b", minAvailable=1, maxUnavailable=1),
        invalid(
            "ClusterResourcePlacementDisruptionBudget",
            "c11-b",
            'spec: Invalid value: "object": Both MaxUnavailable and MinAvailable cannot be '
            "specified",
        ),
    ),
    "a budget of nobody knows how many": (
        budget("c11-ok", maxUnavailable=1),
        denied(
            "clusterresourceplacementdisruptionbudget.validating",
            "cluster resource placement policy type PickAll is not supported with any specified "
            "max unavailable 1",
        ),
    ),
    "an eviction of nothing": (
        named(
            "ClusterResourcePlacementEviction", API, "c11-e",
            spec={"placementName": "no-such", "clusterName": "cluster-1"},
        ),
        ACCEPTED,
    ),
    "a stage with a bad name": (
        strategy(name="Bad Name"),
        invalid(
            "ClusterStagedUpdateStrategy",
            "c11-s",
            'spec.stages[0].name: Invalid value: "Bad Name": spec.stages[0].name in body should '
            "match '^[a-z0-9]+$'",
        ),
    ),
    "a wait of no length": (
        strategy(name="a", afterStageTasks=[{"type": "TimedWait"}]),
        invalid(
            "ClusterStagedUpdateStrategy",
            "c11-s",
            'spec.stages[0].afterStageTasks: Invalid value: "array": AfterStageTaskType is '
            "TimedWait, waitTime is required",
        ),
    ),
    "a member with a bad name": (
        cluster("Bad_Name"),
        invalid(
            "MemberCluster",
            "Bad_Name",
            'metadata.name: Invalid value: "Bad_Name": a lowercase RFC 1123 subdomain must consist '
            "of lower case alphanumeric characters, '-' or '.', and must start and end with an "
            "alphanumeric character (e.g. 'example.com', regex used for validation is "
            f"{SUBDOMAIN})",
        ),
    ),
    "the same taint twice": (
        cluster("c11-m", taints=[{"key": "k", "effect": "NoSchedule"}] * 2),
        denied(
            "membercluster.validating",
            "taint {Key:k Value: Effect:NoSchedule} already exists, taints must be unique",
        ),
    ),
    "a heart that does not beat": (
        cluster("c11-m", heartbeatPeriodSeconds=0),
        invalid(
            "MemberCluster",
            "c11-m",
            "spec.heartbeatPeriodSeconds: Invalid value: 0: spec.heartbeatPeriodSeconds in body "
            "should be greater than or equal to 1",
        ),
    ),
}  # fmt: skip


async def test_each_mistake_gets_its_refusal() -> None:
    async with Fleet() as fleet:
        hub = await hub_doors.start(fleet)
        await hub.masters.create(placement("c11-ok", policy={"placementType": "PickAll"}))
        for what, (obj, expected) in CASES.items():
            assert (what, await refusal_of(hub.masters, obj)) == (what, expected)
            if expected == ACCEPTED and obj["kind"] == PLACEMENT:
                await hub.masters.delete(kinds.CLUSTER_SCOPE.placement, obj["metadata"]["name"])


async def test_what_must_stay_and_what_may_change() -> None:
    async with Fleet() as fleet:
        hub = await hub_doors.start(fleet)
        kind = kinds.CLUSTER_SCOPE.placement
        await hub.masters.create(placement("c11-ok", policy={"placementType": "PickAll"}))

        async def change(**spec: Any) -> str:
            try:
                await hub.masters.patch(kind, "c11-ok", {"spec": spec})
            except Refused as error:
                return str(error)
            return ""

        lead = f'{PLACEMENT}.placement.kubernetes-fleet.io "c11-ok" is invalid: '
        assert await change(policy={"placementType": "PickN", "numberOfClusters": 1}) == (
            f'{lead}spec.policy: Invalid value: "object": placement type is immutable'
        )
        assert await change(policy=None) == ""
        assert await change(strategy={"type": "External", "rollingUpdate": None}) == ""
        assert await change(strategy={"type": "RollingUpdate"}) == (
            f'{lead}spec.strategy.type: Invalid value: "string": cannot change rollout strategy '
            "type from 'External' to other types"
        )


async def test_what_is_not_there_cannot_be_deleted() -> None:
    async with Fleet() as fleet:
        hub = await hub_doors.start(fleet)
        with pytest.raises(NotFound) as error:
            await hub.masters.delete(kinds.CLUSTER_SCOPE.placement, "does-not-exist")
    assert str(error.value) == (
        'clusterresourceplacements.placement.kubernetes-fleet.io "does-not-exist" not found'
    )
