"""RayClusters on a whole server, pods moved by hand."""

from typing import Any

import pytest
from tests.support import apps, ray
from tests.support.ray import worker_group

from fleetqueue.kube.errors import NotFound
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.kinds import JOB, RAY_CLUSTER, SECRET, SERVICE
from fleetqueue.testing import Fleet, FleetCluster

pytestmark = [pytest.mark.rule("jobs B.7"), pytest.mark.rule("jobs D.6")]


async def read(cluster: FleetCluster) -> Object:
    return dict(await cluster.client.get(RAY_CLUSTER, "c", "default"))


def states(found: Object) -> dict[str, tuple[str, str]]:
    listed = found["status"]["conditions"]
    return {each["type"]: (each["status"], each["reason"]) for each in listed}


async def pod_names(cluster: FleetCluster) -> list[str]:
    return [pod["metadata"]["name"] for pod in await apps.pods(cluster.client)]


async def change(fleet: Fleet, cluster: FleetCluster, spec: Any) -> None:
    await cluster.client.patch(RAY_CLUSTER, "c", {"spec": spec}, "default")
    await fleet.settle()


@pytest.mark.rule("jobs B.10")
async def test_a_cluster_becomes_ready_with_its_pods(fleet: Fleet) -> None:
    cluster = await ray.start(fleet)
    await ray.create(fleet, cluster, ray.ray_cluster_of(worker_group(replicas=2)))
    names = [name.rsplit("-", 1)[0] for name in await pod_names(cluster)]
    assert names == ["c-head", "c-small-worker", "c-small-worker"]
    service = await cluster.client.get(SERVICE, "c-head-svc", "default")
    head, worker, _ = await apps.pods(cluster.client)
    assert service["spec"]["selector"].items() <= head["metadata"]["labels"].items()
    assert not service["spec"]["selector"].items() <= worker["metadata"]["labels"].items()
    assert service["spec"]["clusterIP"] == "None"
    found = await read(cluster)
    assert "state" not in found["status"]
    assert states(found)["RayClusterProvisioned"] == ("False", "RayClusterPodsProvisioning")
    assert found["status"]["desiredWorkerReplicas"] == 2

    await ray.move(fleet, cluster, "Running", "c-head")
    assert states(await read(cluster))["HeadPodReady"] == ("True", "HeadPodRunningAndReady")
    assert "state" not in (await read(cluster))["status"]
    await ray.move(fleet, cluster, "Running")
    found = await read(cluster)
    assert found["status"]["state"] == "ready"
    assert found["status"]["stateTransitionTimes"].keys() == {"ready"}
    assert found["status"]["availableWorkerReplicas"] == 2
    assert found["status"]["readyWorkerReplicas"] == 2
    assert found["status"]["endpoints"]["dashboard"] == "8265"
    assert found["status"]["head"]["podName"] == head["metadata"]["name"]
    assert found["status"]["head"]["serviceName"] == "c-head-svc"
    assert states(found)["RayClusterProvisioned"] == ("True", "AllPodRunningAndReadyFirstTime")
    revision = cluster.instance.core.store.revision
    await fleet.passes(minutes=10)
    assert cluster.instance.core.store.revision == revision
    told = await apps.events(cluster.client, "RayCluster")
    assert ("CreatedService", "Created service default/c-head-svc") in told
    assert ("CreatedHeadPod", f"Created head Pod default/{head['metadata']['name']}") in told


async def test_a_suspended_cluster_has_no_pods_and_keeps_its_service(fleet: Fleet) -> None:
    cluster = await ray.start(fleet)
    await ray.create(fleet, cluster, ray.ray_cluster_of(worker_group()))
    await ray.move(fleet, cluster, "Running")
    await change(fleet, cluster, {"suspend": True})
    assert await pod_names(cluster) == []
    found = await read(cluster)
    assert found["status"]["state"] == "suspended"
    assert states(found)["RayClusterSuspended"] == ("True", "RayClusterSuspended")
    assert states(found)["RayClusterSuspending"] == ("False", "RayClusterSuspending")
    assert await cluster.client.get(SERVICE, "c-head-svc", "default")

    await change(fleet, cluster, {"suspend": False})
    assert len(await pod_names(cluster)) == 2
    found = await read(cluster)
    assert states(found)["RayClusterSuspended"][0] == "False"
    assert found["status"]["state"] == "suspended"
    await ray.move(fleet, cluster, "Running")
    assert (await read(cluster))["status"]["state"] == "ready"


async def test_a_pod_that_ended_is_replaced(fleet: Fleet) -> None:
    cluster = await ray.start(fleet)
    await ray.create(fleet, cluster, ray.ray_cluster_of(worker_group()))
    await ray.move(fleet, cluster, "Running")
    before = await pod_names(cluster)
    await ray.move(fleet, cluster, "Failed", "c-small")
    after = await pod_names(cluster)
    assert after[0] == before[0]
    assert len(after) == 2
    assert after[1] != before[1]
    told = dict(await apps.events(cluster.client, "RayCluster"))
    assert "Pod status: Failed" in told["DeletedWorkerPod"]
    assert told["DeletedWorkerPod"].endswith("Ray container terminated status: nil")


async def test_workers_to_delete_go_first(fleet: Fleet) -> None:
    cluster = await ray.start(fleet)
    await ray.create(fleet, cluster, ray.ray_cluster_of(worker_group(replicas=3)))
    workers = (await pod_names(cluster))[1:]
    strategy = {"workersToDelete": [workers[2]]}
    groups = [worker_group(replicas=2, scaleStrategy=strategy)]
    await change(fleet, cluster, {"workerGroupSpecs": groups})
    assert (await pod_names(cluster))[1:] == workers[:2]


async def test_a_group_that_is_suspended_or_scaled_loses_its_pods(fleet: Fleet) -> None:
    cluster = await ray.start(fleet)
    await ray.create(fleet, cluster, ray.ray_cluster_of(worker_group("a"), worker_group("b", 2)))
    groups = [worker_group("a", suspend=True), worker_group("b", 1)]
    await change(fleet, cluster, {"workerGroupSpecs": groups})
    names = [name.rsplit("-", 1)[0] for name in await pod_names(cluster)]
    assert names == ["c-b-worker", "c-head"]
    assert (await read(cluster))["status"]["desiredWorkerReplicas"] == 1


async def test_the_hosts_of_a_replica_live_and_die_together(fleet: Fleet) -> None:
    cluster = await ray.start(fleet)
    await ray.create(fleet, cluster, ray.ray_cluster_of(worker_group(replicas=2, numOfHosts=2)))
    pods = [pod for pod in await apps.pods(cluster.client) if "worker" in pod["metadata"]["name"]]
    key = "ray.io/worker-group-replica-name"
    replicas = {pod["metadata"]["labels"][key] for pod in pods}
    assert len(pods) == 4
    assert len(replicas) == 2
    assert await cluster.client.get(SERVICE, "c-headless", "default")
    await apps.remove(cluster.client, pods[0])
    await fleet.settle()
    pods = [pod for pod in await apps.pods(cluster.client) if "worker" in pod["metadata"]["name"]]
    assert len(pods) == 4
    assert len({pod["metadata"]["labels"][key] for pod in pods} & replicas) == 1


async def test_a_refused_pod_is_told_in_the_status(fleet: Fleet) -> None:
    cluster = await ray.start(fleet)
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "none", "namespace": "default"},
        "spec": {"hard": {"count/pods": "0"}},
    }
    await cluster.client.create(quota)
    await fleet.passes(seconds=1)
    made = ray.ray_cluster_of()
    made["metadata"] = {"name": "c", "namespace": "default"}
    await cluster.client.create(made)
    await fleet.passes(seconds=2)
    found = await read(cluster)
    assert states(found)["ReplicaFailure"] == ("True", "FailedCreateHeadPod")
    told = await apps.events(cluster.client, "RayCluster")
    assert "FailedToCreateHeadPod" in {reason for reason, _ in told}


async def test_another_controllers_cluster_is_not_touched(fleet: Fleet) -> None:
    cluster = await ray.start(fleet)
    made = ray.ray_cluster_of(managedBy="kueue.x-k8s.io/multikueue")
    await ray.create(fleet, cluster, made)
    assert await pod_names(cluster) == []
    assert "status" not in await read(cluster)


async def test_the_autoscaler_gets_its_rights(fleet: Fleet) -> None:
    cluster = await ray.start(fleet)
    await ray.create(fleet, cluster, ray.ray_cluster_of(enableInTreeAutoscaling=True))
    [head] = await apps.pods(cluster.client)
    assert [each["name"] for each in head["spec"]["containers"]] == ["ray", "autoscaler"]
    assert head["spec"]["serviceAccountName"] == "c"
    told = {reason for reason, _ in await apps.events(cluster.client, "RayCluster")}
    assert {"CreatedServiceAccount", "CreatedRole", "CreatedRoleBinding"} <= told
    assert "ErrResourceExists" not in told


async def test_the_state_in_redis_is_cleaned_up_before_a_cluster_goes(fleet: Fleet) -> None:
    cluster = await ray.start(fleet)
    options = {"redisAddress": "redis:6379"}
    await ray.create(fleet, cluster, ray.ray_cluster_of(gcsFaultToleranceOptions=options))
    assert (
        "ray.io/gcs-ft-redis-cleanup-finalizer" in (await read(cluster))["metadata"]["finalizers"]
    )
    await cluster.client.delete(RAY_CLUSTER, "c", "default")
    await fleet.settle()
    assert await cluster.client.get(JOB, "c-redis-cleanup", "default")
    await ray.move(fleet, cluster, "Succeeded", "c-redis-cleanup")
    with pytest.raises(NotFound):
        await read(cluster)


async def test_the_token_of_a_cluster_is_drawn_once(fleet: Fleet) -> None:
    cluster = await ray.start(fleet)
    spec = {"authOptions": {"mode": "token"}, "rayVersion": "2.52.0"}
    await ray.create(fleet, cluster, ray.ray_cluster_of(**spec))
    secret = await cluster.client.get(SECRET, "c", "default")
    assert secret["data"].keys() == {"auth_token"}
    [head] = await apps.pods(cluster.client)
    env = {each["name"]: each for each in head["spec"]["containers"][0]["env"]}
    assert env["RAY_AUTH_TOKEN"]["valueFrom"]["secretKeyRef"]["name"] == "c"


async def test_a_changed_spec_recreates_the_pods_where_that_is_asked_for(fleet: Fleet) -> None:
    cluster = await ray.start(fleet)
    strategy = {"type": "Recreate"}
    await ray.create(fleet, cluster, ray.ray_cluster_of(worker_group(), upgradeStrategy=strategy))
    before = await pod_names(cluster)
    groups = [worker_group(replicas=2)]
    await change(fleet, cluster, {"workerGroupSpecs": groups})
    assert set(before) < set(await pod_names(cluster))
    groups = [worker_group(replicas=2, template=ray.template("other"))]
    await change(fleet, cluster, {"workerGroupSpecs": groups})
    after = await apps.pods(cluster.client)
    assert len(after) == 3
    assert not set(before) & set(await pod_names(cluster))
    assert after[1]["spec"]["containers"][0]["image"] == "other"
