"""RayServices on a whole server, pods moved by hand: with a Ray that answers, and without one."""

from typing import Any

import pytest
from tests.support import apps, ray
from tests.support.ray import FakeRay, worker_group

from fleetqueue.kube.errors import NotFound
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.kinds import RAY_CLUSTER, RAY_SERVICE, SERVICE
from fleetqueue.testing import Fleet, FleetCluster

pytestmark = [pytest.mark.rule("jobs B.7"), pytest.mark.rule("jobs D.6")]


async def read(cluster: FleetCluster) -> Object:
    return dict(await cluster.client.get(RAY_SERVICE, "s", "default"))


def states(found: Object) -> dict[str, tuple[str, str]]:
    listed = found["status"]["conditions"]
    return {each["type"]: (each["status"], each["reason"]) for each in listed}


async def cluster_names(cluster: FleetCluster) -> list[str]:
    found = (await cluster.client.list(RAY_CLUSTER, "default")).items
    return sorted(each["metadata"]["name"] for each in found)


async def change(fleet: Fleet, cluster: FleetCluster, spec: Any) -> None:
    await cluster.client.patch(RAY_SERVICE, "s", {"spec": spec}, "default")
    await fleet.settle()


async def target(cluster: FleetCluster, name: str = "s-serve-svc") -> str:
    service = await cluster.client.get(SERVICE, name, "default")
    return str(service["spec"]["selector"]["ray.io/cluster"])


@pytest.mark.rule("jobs C.7")
@pytest.mark.rule("jobs B.10")
async def test_without_ray_a_service_is_ready_when_its_pods_are(fleet: Fleet) -> None:
    cluster = await ray.start(fleet)
    await ray.create(fleet, cluster, ray.ray_service_of(worker_group()))
    found = await read(cluster)
    assert states(found) == {
        "Ready": ("False", "Initializing"),
        "UpgradeInProgress": ("False", "Initializing"),
    }
    name = found["status"]["pendingServiceStatus"]["rayClusterName"]
    assert await cluster_names(cluster) == [name]
    assert "ray.io/rayservice-finalizer" in found["metadata"]["finalizers"]
    await ray.move(fleet, cluster, "Running")
    found = await read(cluster)
    assert states(found) == {
        "Ready": ("True", "NonZeroServeEndpoints"),
        "UpgradeInProgress": ("False", "NoPendingCluster"),
    }
    assert found["status"]["serviceStatus"] == "Running"
    assert found["status"]["numServeEndpoints"] == 2
    assert found["status"]["activeServiceStatus"]["rayClusterName"] == name
    assert found["status"]["activeServiceStatus"]["applicationStatuses"] == {
        "fruit": {"status": "RUNNING"}
    }
    assert await target(cluster) == await target(cluster, "s-head-svc") == name
    revision = cluster.instance.core.store.revision
    await fleet.passes(minutes=5)
    assert cluster.instance.core.store.revision == revision

    await ray.move(fleet, cluster, "Running", states={"ray": {"waiting": {}}})
    assert states(await read(cluster))["Ready"] == ("False", "ZeroServeEndpoints")


async def test_another_cluster_takes_over_when_it_serves(fleet: Fleet) -> None:
    cluster = await ray.start(fleet)
    await ray.create(fleet, cluster, ray.ray_service_of())
    await ray.move(fleet, cluster, "Running")
    [old] = await cluster_names(cluster)
    config = ray.cluster_spec(headGroupSpec={"template": ray.template("ray:new")})
    await change(fleet, cluster, {"rayClusterConfig": config})
    found = await read(cluster)
    new = found["status"]["pendingServiceStatus"]["rayClusterName"]
    assert await cluster_names(cluster) == sorted([old, new])
    assert states(found)["UpgradeInProgress"] == ("True", "BothActivePendingClustersExist")
    assert await target(cluster) == old

    await ray.move(fleet, cluster, "Running", new)
    found = await read(cluster)
    assert found["status"]["activeServiceStatus"]["rayClusterName"] == new
    assert "rayClusterName" not in found["status"]["pendingServiceStatus"]
    assert await target(cluster) == await target(cluster, "s-head-svc") == new
    await fleet.passes(seconds=55)
    assert old in await cluster_names(cluster)
    await fleet.passes(seconds=10)
    assert await cluster_names(cluster) == [new]


async def test_more_worker_groups_need_no_other_cluster(fleet: Fleet) -> None:
    cluster = await ray.start(fleet)
    await ray.create(fleet, cluster, ray.ray_service_of(worker_group("a")))
    await ray.move(fleet, cluster, "Running")
    before = await cluster_names(cluster)
    config = ray.cluster_spec(worker_group("a"), worker_group("b"))
    await change(fleet, cluster, {"rayClusterConfig": config})
    assert await cluster_names(cluster) == before
    names = [pod["metadata"]["name"] for pod in await apps.pods(cluster.client)]
    assert any(name.startswith(f"{before[0]}-b-worker") for name in names)


async def test_the_cluster_of_a_service_is_suspended_with_it(fleet: Fleet) -> None:
    cluster = await ray.start(fleet)
    await ray.create(fleet, cluster, ray.ray_service_of())
    await ray.move(fleet, cluster, "Running")
    await change(fleet, cluster, {"rayClusterConfig": {"suspend": True}})
    [name] = await cluster_names(cluster)
    found = await cluster.client.get(RAY_CLUSTER, name, "default")
    assert found["status"]["state"] == "suspended"
    assert states(await read(cluster))["Ready"][0] == "False"
    await change(fleet, cluster, {"rayClusterConfig": {"suspend": False}})
    await ray.move(fleet, cluster, "Running")
    assert states(await read(cluster))["Ready"][0] == "True"


async def test_a_cluster_without_pods_becomes_what_is_asked_for(fleet: Fleet) -> None:
    """So a queue lets go of it and takes it back: with other labels on its pods."""
    cluster = await ray.start(fleet)
    held = ray.ray_service_of(worker_group())
    held["spec"]["rayClusterConfig"]["suspend"] = True
    await ray.create(fleet, cluster, held)
    [name] = await cluster_names(cluster)
    for suspend, queue in ((True, "a"), (False, "b"), (True, None), (False, "c")):
        template = {"metadata": {"labels": {"queue": queue}}}
        config = {"suspend": suspend, "headGroupSpec": {"template": template}}
        await change(fleet, cluster, {"rayClusterConfig": config})
        assert await cluster_names(cluster) == [name]
        await ray.move(fleet, cluster, "Running")
        heads = [
            pod["metadata"]["labels"].get("queue")
            for pod in await apps.pods(cluster.client)
            if pod["metadata"]["labels"]["ray.io/node-type"] == "head"
        ]
        assert heads == ([] if suspend else [queue])
    assert states(await read(cluster))["Ready"][0] == "True"


@pytest.mark.rule("jobs B.7.3")
async def test_a_suspended_service_has_no_cluster(fleet: Fleet) -> None:
    cluster = await ray.start(fleet)
    await ray.create(fleet, cluster, ray.ray_service_of())
    await ray.move(fleet, cluster, "Running")
    await change(fleet, cluster, {"suspend": True})
    assert await cluster_names(cluster) == []
    assert states(await read(cluster))["Suspended"][0] == "True"
    assert states(await read(cluster))["Suspending"][0] == "False"
    assert states(await read(cluster))["UpgradeInProgress"] == ("False", "NoActiveCluster")
    await change(fleet, cluster, {"suspend": False})
    assert states(await read(cluster))["Suspended"][0] == "False"
    assert len(await cluster_names(cluster)) == 1


async def test_applications_are_given_to_ray_and_waited_for(fleet: Fleet) -> None:
    dashboard = FakeRay()
    cluster = await ray.start(fleet, dashboard)
    await ray.create(fleet, cluster, ray.ray_service_of(worker_group()))
    await ray.move(fleet, cluster, "Running")
    await fleet.passes(seconds=3)
    [name] = await cluster_names(cluster)
    assert dashboard.served == {name: {"fruit": {"status": "DEPLOYING"}}}
    found = await read(cluster)
    shown = found["status"]["pendingServiceStatus"]["applicationStatuses"]
    assert shown == {"fruit": {"status": "DEPLOYING"}}
    told = await apps.events(cluster.client, "RayService")
    text = f"Updated serve applications to the RayCluster default/{name}"
    assert ("UpdatedServeApplications", text) in told

    deployments = {"app": {"status": "HEALTHY"}}
    dashboard.served[name] = {"fruit": {"status": "RUNNING", "deployments": deployments}}
    await fleet.passes(seconds=3)
    found = await read(cluster)
    assert states(found)["Ready"] == ("True", "NonZeroServeEndpoints")
    assert found["status"]["activeServiceStatus"]["applicationStatuses"] == {
        "fruit": {"status": "RUNNING", "serveDeploymentStatuses": deployments}
    }


async def test_a_service_that_takes_too_long_gives_up(fleet: Fleet) -> None:
    cluster = await ray.start(fleet)
    made = ray.ray_service_of()
    made["metadata"]["annotations"] = {"ray.io/initializing-timeout": "5m"}
    await ray.create(fleet, cluster, made)
    await fleet.passes(minutes=4)
    assert states(await read(cluster))["Ready"] == ("False", "Initializing")
    await fleet.passes(minutes=3)
    assert states(await read(cluster))["Ready"] == ("False", "InitializingTimeout")
    assert await cluster_names(cluster) == []


async def test_a_service_that_is_wrong_says_so(fleet: Fleet) -> None:
    cluster = await ray.start(fleet)
    strategy = {"type": "Sometimes"}
    await ray.create(fleet, cluster, ray.ray_service_of(upgradeStrategy=strategy))
    found = await read(cluster)
    assert states(found) == {"Ready": ("False", "ValidationFailed")}
    assert await cluster_names(cluster) == []
    await fleet.passes(seconds=1)
    [(reason, text)] = await apps.events(cluster.client, "RayService")
    assert reason == "InvalidRayServiceSpec"
    assert text.startswith("default/s: The RayService spec is invalid: Spec.UpgradeStrategy.Type")


async def test_the_clusters_of_a_service_go_before_it(fleet: Fleet) -> None:
    cluster = await ray.start(fleet)
    await ray.create(fleet, cluster, ray.ray_service_of())
    await cluster.client.delete(RAY_SERVICE, "s", "default")
    await fleet.settle()
    assert await cluster_names(cluster) == []
    with pytest.raises(NotFound):
        await read(cluster)
