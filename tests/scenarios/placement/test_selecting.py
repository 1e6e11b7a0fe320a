"""What placements select, and how they follow it."""

from dataclasses import replace
from typing import Any

import pytest
from tests.support import placed_alone, placing
from tests.support.placed import config_map, names, placement, selector, told, words

from fleetqueue.api.crds import all_crds
from fleetqueue.fleet.kinds import CLUSTER_SCOPE, NAMESPACED
from fleetqueue.fleet.kinds import SCOPES as SCOPES_OF_PLACEMENTS
from fleetqueue.kube.resources import CONFIG_MAPS, CRDS, NAMESPACES, Object, Resource
from fleetqueue.testing import Fleet, namespace

CRP, RP = CLUSTER_SCOPE.placement, NAMESPACED.placement
WEB = ("Namespace", "web")


@pytest.fixture
async def world(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> placing.World:
    return await placed_alone.start(fleet, monkeypatch)


async def selected(world: placing.World, name: str = "all", where: str = "") -> list[Any]:
    await world.settle()
    return names(await world.hub.get(RP if where else CRP, name, where))


def thing_definition(*versions: str) -> Object:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Cluster",
            "names": {"plural": "things", "singular": "thing", "kind": "Thing"},
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": version == versions[0],
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "x-kubernetes-preserve-unknown-fields": True,
                        }
                    },
                }
                for version in versions
            ],
        },
    }


def thing(name: str, version: str = "v1") -> Object:
    return {"apiVersion": f"example.com/{version}", "kind": "Thing", "metadata": {"name": name}}


@pytest.mark.rule("SEL-6")
async def test_a_namespace_is_placed_with_what_is_in_it_and_followed(world: placing.World) -> None:
    hub = world.hub
    await hub.create(namespace("web"), config_map("conf", "web", a="1"))
    await hub.create(placement("all", selector("Namespace", "web")))
    assert await selected(world) == [WEB, ("ConfigMap", "conf")]
    await hub.create(config_map("later", "web"))
    assert await selected(world) == [WEB, ("ConfigMap", "conf"), ("ConfigMap", "later")]
    await hub.client.delete(CONFIG_MAPS, "conf", "web")
    assert await selected(world) == [WEB, ("ConfigMap", "later")]
    await hub.create(namespace("other"), config_map("conf", "other"))
    assert await selected(world) == [WEB, ("ConfigMap", "later")]


@pytest.mark.rule("SEL-6")
async def test_a_namespace_begins_and_ceases_to_match(world: placing.World) -> None:
    hub = world.hub
    labelled = selector("Namespace", labelSelector={"matchLabels": {"process": "1"}})
    await hub.create(namespace("web"), config_map("conf", "web"), placement("all", labelled))
    assert await selected(world) == []
    await _label(world, "web", process="1")
    assert await selected(world) == [WEB, ("ConfigMap", "conf")]
    await _label(world, "web", process="2")
    assert await selected(world) == []


@pytest.mark.rule("SEL-6")
async def test_a_status_that_changes_makes_no_snapshot(world: placing.World) -> None:
    hub = world.hub
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "s", "namespace": "web"},
        "spec": {"type": "LoadBalancer", "ports": [{"port": 80}]},
    }
    await hub.create(namespace("web"), service, placement("all", selector("Namespace", "web")))
    await world.settle()
    services = Resource("", "v1", "services", "Service")
    change = {"status": {"loadBalancer": {"ingress": [{"ip": "10.0.0.9"}]}}}
    await hub.client.patch(services, "s", change, "web", subresource="status")
    await world.settle()
    assert len(await hub.all(CLUSTER_SCOPE.resource_snapshot)) == 1
    snapshot = await hub.get(CLUSTER_SCOPE.resource_snapshot, "all-0-snapshot")
    kept = snapshot["spec"]["selectedResources"][1]
    assert "clusterIP" not in kept["spec"]
    assert "status" not in kept


@pytest.mark.rule("SEL-4")
async def test_what_is_missing_is_no_mistake(world: placing.World) -> None:
    await world.hub.create(placement("all", selector("Namespace", "nowhere")))
    assert await selected(world) == []
    found = await world.hub.get(CRP, "all")
    assert told(found) == {"Scheduled": ("Unknown", "SchedulePending")}
    snapshot = await world.hub.get(CLUSTER_SCOPE.resource_snapshot, "all-0-snapshot")
    assert snapshot["spec"]["selectedResources"] == []


@pytest.mark.rule("SEL-1", "SEL-2")
async def test_kinds_that_never_go_are_left_out_silently(world: placing.World) -> None:
    await world.hub.create(
        namespace("web"),
        placement(
            "all",
            selector("Node"),
            selector("MemberCluster", group="cluster.kubernetes-fleet.io", version="v1beta1"),
            selector("Namespace", "web"),
        ),
    )
    assert await selected(world) == [WEB]


@pytest.mark.rule("SEL-2")
async def test_a_hub_is_told_what_else_not_to_propagate(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = replace(placing.IMMEDIATE, skipped_apis="v1/Secret", skipped_namespaces=("private",))
    world = await placed_alone.start(fleet, monkeypatch, settings)
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "web"}}
    await world.hub.create(namespace("web"), secret, namespace("private"))
    await world.hub.create(
        placement("all", selector("Namespace", "web")),
        placement("private", selector("Namespace", "private")),
    )
    assert await selected(world) == [WEB]
    assert told(await world.hub.get(CRP, "private")) == {
        "Scheduled": ("False", "InvalidResourceSelectors")
    }


SCOPES = {
    "NamespaceOnly": ([], [WEB]),
    "NamespaceWithResources": ([], [WEB, ("ConfigMap", "a"), ("ConfigMap", "b")]),
    "NamespaceWithResourceSelectors": (
        [selector("ConfigMap", "a"), selector("PriorityClass", "high", group="scheduling.k8s.io")],
        [("PriorityClass", "high"), WEB, ("ConfigMap", "a")],
    ),
}


@pytest.mark.rule("SEL-18")
async def test_a_selector_says_how_much_of_a_namespace_it_takes(world: placing.World) -> None:
    high = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "high"},
        "value": 5,
    }
    await world.hub.create(
        high,
        namespace("web"),
        config_map("a", "web"),
        config_map("b", "web"),
        namespace("elsewhere"),
        config_map("a", "elsewhere"),
    )
    for scope, (more, _) in SCOPES.items():
        term = selector("Namespace", "web", selectionScope=scope)
        await world.hub.create(placement(scope.lower(), term, *more))
    for scope, (_, wanted) in SCOPES.items():
        assert await selected(world, scope.lower()) == wanted, scope


CLIENT = "The resource selectors are invalid: failed to process the request due to a client error: "
MISTAKES: dict[str, tuple[Object, str]] = {
    "a reserved namespace": (
        placement("p", selector("Namespace", "kube-system")),
        "invalid clusterRresourcePlacement NAME: namespace kube-system is not allowed to propagate",
    ),
    "the default namespace": (
        placement("p", selector("Namespace", "default")),
        "invalid clusterRresourcePlacement NAME: namespace default is not allowed to propagate",
    ),
    "a Namespace in an RP": (
        placement("p", selector("Namespace", "web"), namespace="web"),
        "invalid placement web/NAME: cannot select cluster-scoped resource Namespace in a"
        " resourcePlacement",
    ),
    "a namespaced kind": (
        placement("p", selector("ConfigMap", "conf")),
        "invalid placement NAME: cannot select namespace-scoped resource /v1, Resource=configmaps"
        " in a clusterResourcePlacement",
    ),
    "a cluster-scoped kind in an RP": (
        placement(
            "p",
            selector("ClusterRole", "r", group="rbac.authorization.k8s.io"),
            namespace="web",
        ),
        "invalid placement web/NAME: cannot select cluster-scoped resource"
        " rbac.authorization.k8s.io/v1, Resource=clusterroles in a resourcePlacement",
    ),
    "an object twice": (
        placement("p", selector("Namespace", "web"), selector("Namespace", "web")),
        "found duplicate resource"
        " {Group: Version:v1 Kind:Namespace Name:web Namespace: Envelope:<nil>}",
    ),
    "an unknown kind": (
        placement("p", selector("Thing", "x", group="example.com"), namespace="web"),
        "invalid placement web/NAME, failed to get GVR of the selector: no matches for kind"
        ' "Thing" in version "example.com/v1"',
    ),
    "no namespace to select in": (
        placement(
            "p",
            selector("Namespace", "gone", selectionScope="NamespaceWithResourceSelectors"),
            selector("ConfigMap", "conf"),
        ),
        "invalid clusterResourcePlacement NAME: NamespaceWithResourceSelectors mode requires"
        " exactly one namespace, but no namespaces were selected",
    ),
}


@pytest.mark.rule("SEL-5")
async def test_selectors_that_cannot_be_followed_are_told_and_nothing_is_made(
    world: placing.World,
) -> None:
    await world.hub.create(namespace("web"))
    for what, (wanted, _) in MISTAKES.items():
        name = what.lower().replace(" ", "-")
        await world.hub.create({**wanted, "metadata": {**wanted["metadata"], "name": name}})
    await world.settle()
    for what, (wanted, cause) in MISTAKES.items():
        name, where = what.lower().replace(" ", "-"), wanted["metadata"].get("namespace", "")
        found = await world.hub.get(RP if where else CRP, name, where)
        assert told(found) == {"Scheduled": ("False", "InvalidResourceSelectors")}, what
        assert words(found)["Scheduled"] == CLIENT + cause.replace("NAME", name)
        assert set(found["status"]) == {"conditions"}, what
    for scope in SCOPES_OF_PLACEMENTS:
        assert await world.hub.all(scope.policy_snapshot) == []
        assert await world.hub.all(scope.resource_snapshot) == []


@pytest.mark.rule("SEL-5")
async def test_a_reserved_namespace_may_go_alone(world: placing.World) -> None:
    only = selector("Namespace", "kube-system", selectionScope="NamespaceOnly")
    await world.hub.create(placement("all", only))
    assert await selected(world) == [("Namespace", "kube-system")]


@pytest.mark.rule("SEL-5")
async def test_a_mistake_that_is_mended_heals(world: placing.World) -> None:
    await world.hub.create(namespace("web"), placement("all", selector("Namespace", "default")))
    await world.settle()
    mended = {"spec": {"resourceSelectors": [selector("Namespace", "web")]}}
    await world.hub.client.patch(CRP, "all", mended)
    assert await selected(world) == [WEB]
    assert told(await world.hub.get(CRP, "all")) == {"Scheduled": ("Unknown", "SchedulePending")}


@pytest.mark.rule("SEL-3")
async def test_a_kind_that_comes_later_is_selected_without_a_resync(world: placing.World) -> None:
    hub = world.hub
    await hub.create(placement("all", selector("Thing", "x", group="example.com")))
    await world.settle()
    assert told(await hub.get(CRP, "all")) == {"Scheduled": ("False", "InvalidResourceSelectors")}
    await hub.create(thing_definition("v1"))
    await world.settle()
    await hub.create(thing("x"))
    assert await selected(world) == [("Thing", "x")]
    await hub.client.delete(CRDS, "things.example.com")
    await world.settle()
    assert told(await hub.get(CRP, "all"))["Scheduled"] == ("False", "InvalidResourceSelectors")
    await hub.create(thing_definition("v1"))
    await world.settle()
    await hub.create(thing("x"))
    await world.settle()
    assert told(await hub.get(CRP, "all")) == {"Scheduled": ("Unknown", "SchedulePending")}
    assert await selected(world) == [("Thing", "x")]


@pytest.mark.rule("SEL-3")
@pytest.mark.parametrize(("is_aware", "found"), [(True, [("Thing", "x")]), (False, [])])
async def test_a_version_that_is_not_preferred_is_never_observed_in_the_compatible_mode(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch, is_aware: bool, found: list[Any]
) -> None:
    settings = replace(placing.IMMEDIATE, is_job_aware=is_aware)
    world = await placed_alone.start(fleet, monkeypatch, settings)
    await world.hub.create(thing_definition("v1", "v1beta1"))
    await world.settle()
    await world.hub.create(thing("x"))
    old = selector("Thing", "x", group="example.com", version="v1beta1")
    await world.hub.create(placement("all", old))
    assert await selected(world) == found
    if not is_aware:
        assert "status" not in await world.hub.get(CRP, "all")


@pytest.mark.rule("SEL-4")
async def test_what_controllers_made_in_a_namespace_does_not_go(world: placing.World) -> None:
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "c", "namespace": "web"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    endpoints = {
        "apiVersion": "v1",
        "kind": "Endpoints",
        "metadata": {"name": "alone", "namespace": "web"},
    }
    root = config_map("kube-root-ca.crt", "web")
    await world.hub.create(namespace("web"), claim, endpoints, root)
    await world.hub.create(placement("all", selector("Namespace", "web")))
    assert await selected(world) == [WEB, ("Endpoints", "alone")]
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "spec": {"ports": [{"port": 80}]},
        "metadata": {"name": "alone", "namespace": "web"},
    }
    await world.hub.create(service)
    assert await selected(world) == [WEB, ("Service", "alone")]


async def test_a_namespaced_placement_selects_in_its_namespace(world: placing.World) -> None:
    hub = world.hub
    await hub.create(namespace("web"), namespace("other"), config_map("conf", "other"))
    labelled = selector("ConfigMap", labelSelector={"matchLabels": {"app": "x"}})
    await hub.create(
        placement("named", selector("ConfigMap", "conf"), namespace="web"),
        placement("labelled", labelled, namespace="web"),
    )
    assert await selected(world, "named", "web") == []
    await hub.create(config_map("conf", "web"))
    assert await selected(world, "named", "web") == [("ConfigMap", "conf")]
    assert await selected(world, "labelled", "web") == []
    change = {"metadata": {"labels": {"app": "x"}}}
    await hub.client.patch(CONFIG_MAPS, "conf", change, "web")
    assert await selected(world, "labelled", "web") == [("ConfigMap", "conf")]


@pytest.mark.rule("KJ-9")
async def test_a_job_that_multikueue_sends_is_not_placed_and_somebody_is_told(
    world: placing.World,
) -> None:
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train", "namespace": "web"},
        "spec": {
            "managedBy": "kueue.x-k8s.io/multikueue",
            "suspend": True,
            "template": {
                "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
            },
        },
    }
    await world.hub.create(namespace("web"), job)
    await world.hub.create(
        placement("train", selector("Job", "train", group="batch"), namespace="web")
    )
    assert await selected(world, "train", "web") == []
    text = "Job web/train is sent to a cluster by MultiKueue and not placed"
    told_of = [each for each in await world.hub.events("train") if each[0] == "Warning"]
    assert told_of == [("Warning", "JobDispatchedByMultiKueue", text)]


@pytest.mark.rule("KJ-1")
async def test_a_placement_may_be_told_to_do_as_kube_fleet_does(world: placing.World) -> None:
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train", "namespace": "web"},
        "spec": {
            "suspend": True,
            "template": {
                "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
            },
        },
    }
    plain = placement("train", selector("Job", "train", group="batch"), namespace="web")
    plain["metadata"]["annotations"] = {"fleetqueue.io/kueue-aware": "false"}
    await world.hub.create(namespace("web"), job, plain)
    await world.settle()
    snapshot = await world.hub.get(NAMESPACED.resource_snapshot, "train-0-snapshot", "web")
    assert snapshot["spec"]["selectedResources"][0]["spec"]["selector"] == {"matchLabels": {}}
    change = {"metadata": {"annotations": None}}
    await world.hub.client.patch(RP, "train", change, "web")
    await world.settle()
    snapshot = await world.hub.get(NAMESPACED.resource_snapshot, "train-1-snapshot", "web")
    assert "selector" not in snapshot["spec"]["selectedResources"][0]["spec"]


async def test_a_hub_may_leave_namespaced_placements_alone(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = replace(placing.IMMEDIATE, enable_resource_placement=False)
    world = await placed_alone.start(fleet, monkeypatch, settings)
    await world.hub.create(namespace("web"), config_map("conf", "web"))
    await world.hub.create(placement("rp", selector("ConfigMap", "conf"), namespace="web"))
    await world.settle()
    found = await world.hub.get(RP, "rp", "web")
    assert "finalizers" not in found["metadata"]
    assert "status" not in found


async def test_kueue_objects_of_the_guide_are_selected_in_the_version_it_names(
    world: placing.World,
) -> None:
    for crd in all_crds():
        if crd["metadata"]["name"] in ("resourceflavors.kueue.x-k8s.io",):
            await world.hub.create(crd)
    await world.settle()
    flavor = {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "kind": "ResourceFlavor",
        "metadata": {"name": "default-flavor"},
    }
    await world.hub.create(flavor)
    term = selector("ResourceFlavor", "default-flavor", group="kueue.x-k8s.io", version="v1beta1")
    await world.hub.create(placement("all", term))
    assert await selected(world) == [("ResourceFlavor", "default-flavor")]
    snapshot = await world.hub.get(CLUSTER_SCOPE.resource_snapshot, "all-0-snapshot")
    assert snapshot["spec"]["selectedResources"][0]["apiVersion"] == "kueue.x-k8s.io/v1beta1"


async def _label(world: placing.World, name: str, **labels: str) -> None:
    await world.hub.client.patch(NAMESPACES, name, {"metadata": {"labels": labels}})
