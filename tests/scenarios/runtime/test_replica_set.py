"""ReplicaSets on a whole server."""

import pytest

from fleetqueue.kube.frame import controller_of
from fleetqueue.kube.resources import Object, Resource
from fleetqueue.runtime.controllers import replica_set
from fleetqueue.runtime.kinds import POD, REPLICA_SET
from fleetqueue.testing import Fleet, FleetCluster
from support import apps

pytestmark = pytest.mark.rule("jobs B.2.1")
_QUOTA = Resource("", "v1", "resourcequotas", "ResourceQuota")


async def start(fleet: Fleet) -> FleetCluster:
    cluster = await fleet.add_cluster("one")
    fleet.run(controller_of(replica_set.OPERATOR), on=cluster)
    return cluster


async def read(cluster: FleetCluster) -> Object:
    return dict(await cluster.client.get(REPLICA_SET, "web", "default"))


async def test_pods_are_made_with_names_that_the_server_draws(fleet: Fleet) -> None:
    cluster = await start(fleet)
    await cluster.client.create(apps.workload("ReplicaSet", replicas=3))
    await fleet.settle()
    found = await apps.pods(cluster.client)
    assert len(found) == 3
    for pod in found:
        assert pod["metadata"]["generateName"] == "web-"
        assert set(pod["metadata"]["name"][4:]) <= set("bcdfghjklmnpqrstvwxz2456789")
        (owner,) = pod["metadata"]["ownerReferences"]
        assert (owner["controller"], owner["blockOwnerDeletion"]) == (True, True)
    await fleet.passes(seconds=1)
    names = [pod["metadata"]["name"] for pod in found]
    assert sorted(await apps.events(cluster.client)) == [
        ("SuccessfulCreate", f"Created pod: {name}") for name in names
    ]
    before = cluster.instance.core.store.revision
    await fleet.passes(minutes=30)
    assert cluster.instance.core.store.revision == before


async def test_a_pod_is_available_when_it_was_ready_for_long_enough(fleet: Fleet) -> None:
    cluster = await start(fleet)
    await cluster.client.create(apps.workload("ReplicaSet", replicas=1, minReadySeconds=60))
    await fleet.settle()
    await apps.run_all(cluster.client, fleet.clock.now())
    await fleet.passes(seconds=58)
    status = (await read(cluster))["status"]
    assert (status["readyReplicas"], status.get("availableReplicas")) == (1, None)
    await fleet.passes(seconds=3)
    assert (await read(cluster))["status"]["availableReplicas"] == 1


async def test_a_refused_pod_is_a_condition_until_it_goes_well(fleet: Fleet) -> None:
    cluster = await start(fleet)
    await cluster.client.create(
        {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": "none", "namespace": "default"},
            "spec": {"hard": {"pods": "0"}},
        }
    )
    await fleet.passes(seconds=1)
    await cluster.client.create(apps.workload("ReplicaSet", replicas=1))
    await fleet.passes(seconds=2)
    (condition,) = (await read(cluster))["status"]["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == (
        "ReplicaFailure",
        "True",
        "FailedCreate",
    )
    assert "exceeded quota: none" in condition["message"]
    assert any(
        reason == "FailedCreate" and message.startswith("Error creating: pods ")
        for reason, message in await apps.events(cluster.client)
    )
    await cluster.client.delete(_QUOTA, "none", "default")
    await fleet.settle()
    status = (await read(cluster))["status"]
    assert (status["replicas"], status.get("conditions")) == (1, None)


async def test_a_pod_is_adopted_and_let_go_by_its_labels(fleet: Fleet) -> None:
    cluster = await start(fleet)
    await cluster.client.create(apps.workload("ReplicaSet", replicas=1))
    await fleet.settle()
    (first,) = await apps.pods(cluster.client)
    name = first["metadata"]["name"]
    await cluster.client.patch(POD, name, {"metadata": {"labels": {"app": "x"}}}, "default")
    await fleet.settle()
    found = {pod["metadata"]["name"]: pod for pod in await apps.pods(cluster.client)}
    assert len(found) == 2
    assert not found[name]["metadata"].get("ownerReferences")
    await cluster.client.patch(POD, name, {"metadata": {"labels": {"app": "web"}}}, "default")
    await fleet.settle()
    left = await apps.pods(cluster.client)
    assert len(left) == 1
    assert left[0]["metadata"]["ownerReferences"]


async def test_ended_pods_are_replaced_and_stay(fleet: Fleet) -> None:
    cluster = await start(fleet)
    await cluster.client.create(apps.workload("ReplicaSet", replicas=1))
    for count, phase in ((2, "Failed"), (3, "Succeeded")):
        await fleet.settle()
        pod = next(
            each for each in await apps.pods(cluster.client) if each["status"]["phase"] == "Pending"
        )
        await apps.move(cluster.client, pod, phase, ready=False, at=fleet.clock.now())
        await fleet.settle()
        assert len(await apps.pods(cluster.client)) == count
    assert (await read(cluster))["status"]["replicas"] == 1


async def test_many_pods_are_looked_at_together(fleet: Fleet) -> None:
    cluster = await start(fleet)
    await cluster.client.create(apps.workload("ReplicaSet", replicas=600))
    await fleet.passes(seconds=2)
    assert (await read(cluster))["status"]["replicas"] == 600
    before = int((await read(cluster))["metadata"]["resourceVersion"])
    moment = fleet.clock.now()
    for pod in await apps.pods(cluster.client):
        await apps.move(cluster.client, pod, "Running", ready=True, at=moment)
    await fleet.passes(seconds=2)
    found = await read(cluster)
    assert found["status"]["readyReplicas"] == 600
    assert int(found["metadata"]["resourceVersion"]) - before <= 700, "few statuses in between"
