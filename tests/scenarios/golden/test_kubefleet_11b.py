"""What an ordinary user with all rights is refused on a hub with a guard rail, and what passes."""

import pytest
from tests.support import hub_doors
from tests.support.hub_doors import API, CLUSTER_API, Guarded, denied, refusal_of

from fleetqueue.fleet import kinds
from fleetqueue.fleet.settings import HubSettings
from fleetqueue.fleet.webhooks import policies
from fleetqueue.kube.errors import Refused
from fleetqueue.kube.resources import Object, Resource
from fleetqueue.testing import Fleet, named, namespace

pytestmark = pytest.mark.rule("GR-1", "GR-2")

MEMBER = "kind-cluster-1"
SPACE = f"fleet-member-{MEMBER}"
FLEET = {"fleet.azure.com/cluster-resource-id": "x"}
IDENTITY = {"kind": "User", "name": "x", "apiGroup": "rbac.authorization.k8s.io"}
CRD = Resource(
    "apiextensions.k8s.io",
    "v1",
    "customresourcedefinitions",
    "CustomResourceDefinition",
    namespaced=False,
)
NAMESPACE = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
WHO = "user: 'test-user' in 'groups: [system:authenticated]' is not allowed to"
ACCOUNTS = (
    'serviceaccounts "sa" is forbidden: ValidatingAdmissionPolicy '
    "'deny-serviceaccounts-and-tokenrequests-in-reserved-namespaces' with binding "
    "'deny-serviceaccounts-and-tokenrequests-in-reserved-namespaces-binding' denied request: "
    "writing service accounts in reserved namespaces or requesting tokens from such service "
    "accounts is disallowed"
)


async def guarded(fleet: Fleet) -> Guarded:
    settings = HubSettings(enable_guard_rail=True)
    hub = await hub_doors.start(fleet, settings, [policies.NO_ACCOUNTS])
    await hub.masters.create(namespace("fleet-system"))
    labels = {"kubernetes-fleet.io/is-fleet-resource": "true"}
    await hub.masters.create(namespace(SPACE, labels=labels))
    await hub.masters.create(cluster(MEMBER))
    return hub


def cluster(name: str, annotations: Object | None = None) -> Object:
    made = named("MemberCluster", CLUSTER_API, name, spec={"identity": IDENTITY})
    made["metadata"]["annotations"] = annotations or {}
    return made


def config_map(space: str) -> Object:
    return named("ConfigMap", "v1", "y", space, data={"a": "b"})


async def changed(hub: Guarded, kind: Resource, name: str, patch: Object, sub: str = "") -> str:
    try:
        await hub.tester.patch(kind, name, patch, subresource=sub)
    except Refused as error:
        return str(error)
    return ""


def told(webhook: str, text: str) -> str:
    return denied(f"{webhook}.guardrail.validating", text)[2]


async def test_new_objects_among_those_of_the_fleet() -> None:
    async with Fleet() as fleet:
        hub = await guarded(fleet)
        work = named("Work", API, "w", SPACE, spec={"workload": {"manifests": []}})
        cases: list[tuple[Object, str, str]] = [
            (namespace("fleet-custom-x"), "namespace", "/v1, Kind=Namespace/: /fleet-custom-x"),
            (namespace("kube-custom-x"), "namespace", "/v1, Kind=Namespace/: /kube-custom-x"),
            (
                config_map(SPACE),
                "fleetmembernamespacedresources",
                f"/v1, Kind=ConfigMap/: {SPACE}/y",
            ),
            (
                config_map("fleet-system"),
                "fleetsystemnamespacedresources",
                "/v1, Kind=ConfigMap/: fleet-system/y",
            ),
            (
                config_map("kube-system"),
                "kubenamespacedresources",
                "/v1, Kind=ConfigMap/: kube-system/y",
            ),
            (
                work,
                "fleetmembernamespacedresources",
                f"placement.kubernetes-fleet.io/v1beta1, Kind=Work/: {SPACE}/w",
            ),
            (
                cluster("mc-x", FLEET),
                "membercluster",
                "cluster.kubernetes-fleet.io/v1beta1, Kind=MemberCluster/: /mc-x",
            ),
        ]
        for obj, webhook, what in cases:
            expected = denied(f"{webhook}.guardrail.validating", f"{WHO} CREATE resource {what}")
            assert await refusal_of(hub.tester, obj) == expected
            assert (await refusal_of(hub.masters, obj))[0] == 201


async def test_a_policy_keeps_accounts_out_of_reserved_namespaces() -> None:
    async with Fleet() as fleet:
        hub = await guarded(fleet)
        account = named("ServiceAccount", "v1", "sa", "fleet-system")
        assert await refusal_of(hub.tester, account) == (403, "Forbidden", ACCOUNTS)
        assert (await refusal_of(hub.masters, account))[0] == 201
        elsewhere = named("ServiceAccount", "v1", "sa", "c11")
        assert (await refusal_of(hub.tester, elsewhere))[0] == 201


async def test_changes_of_a_member_cluster_of_somebody() -> None:
    async with Fleet() as fleet:
        hub = await guarded(fleet)
        kind = kinds.MEMBER_CLUSTER
        assert await changed(hub, kind, MEMBER, {"spec": {"heartbeatPeriodSeconds": 20}}) == ""
        annotated = {"metadata": {"annotations": FLEET}}
        assert await changed(hub, kind, MEMBER, annotated) == told(
            "membercluster",
            "no user is allowed to add a fleet pre-fixed annotation to an upstream member cluster",
        )
        assert await changed(hub, kind, MEMBER, {"status": {"conditions": []}}, "status") == told(
            "membercluster",
            f"{WHO} UPDATE resource cluster.kubernetes-fleet.io/v1beta1, Kind=MemberCluster/status:"
            f" /{MEMBER}",
        )


@pytest.mark.rule("kubefleet 9.3")
async def test_changes_of_a_member_cluster_of_the_fleet() -> None:
    async with Fleet() as fleet:
        hub = await guarded(fleet)
        await hub.masters.create(cluster("ours", FLEET))
        kind = kinds.MEMBER_CLUSTER
        refused = told(
            "membercluster",
            f"{WHO} UPDATE resource cluster.kubernetes-fleet.io/v1beta1, Kind=MemberCluster/:"
            " /ours",
        )
        assert await changed(hub, kind, "ours", {"spec": {"heartbeatPeriodSeconds": 5}}) == refused
        other = {"metadata": {"annotations": {"fleet.azure.com/cluster-resource-id": "y"}}}
        assert await changed(hub, kind, "ours", other) == refused
        gone = {"metadata": {"annotations": {"fleet.azure.com/cluster-resource-id": None}}}
        assert await changed(hub, kind, "ours", gone) == told(
            "membercluster",
            "no user is allowed to remove all fleet pre-fixed annotations from a fleet member"
            " cluster",
        )
        free = {"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}}}
        assert await changed(hub, kind, "ours", free) == ""
        taints = [{"key": "k", "effect": "NoSchedule"}]
        assert await changed(hub, kind, "ours", {"spec": {"taints": taints}}) == ""


async def test_crds_and_namespaces_of_the_fleet() -> None:
    async with Fleet() as fleet:
        hub = await guarded(fleet)
        name = "works.placement.kubernetes-fleet.io"
        assert await changed(hub, CRD, name, {"metadata": {"labels": {"x": "y"}}}) == told(
            "customresourcedefinition",
            f"{WHO} UPDATE resource apiextensions.k8s.io/v1, Kind=CustomResourceDefinition/: "
            f"/{name}",
        )
        with pytest.raises(Refused) as error:
            await hub.tester.delete(NAMESPACE, SPACE)
        assert str(error.value) == told(
            "namespace", f"{WHO} DELETE resource /v1, Kind=Namespace/: /{SPACE}"
        )
