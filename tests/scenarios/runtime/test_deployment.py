"""Deployments on a whole server: roll-out, rollback, pause, resize, deadline, history."""

import pytest

from fleetqueue.kube.frame import controller_of
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.controllers import deployment, replica_set
from fleetqueue.runtime.controllers.deployment_revisions import new_replica_set
from fleetqueue.runtime.kinds import DEPLOYMENT, REPLICA_SET
from fleetqueue.testing import Fleet, FleetCluster
from support import apps

pytestmark = pytest.mark.rule("jobs B.2.3")


async def start(fleet: Fleet) -> FleetCluster:
    cluster = await fleet.add_cluster("one")
    fleet.run(controller_of(replica_set.OPERATOR), on=cluster)
    fleet.run(controller_of(deployment.OPERATOR), on=cluster)
    return cluster


async def roll(fleet: Fleet, cluster: FleetCluster, steps: int = 20) -> None:
    """Until nothing changes: pods become ready a second after they are made."""
    for _ in range(steps):
        await fleet.settle()
        before = cluster.instance.core.store.revision
        await apps.run_all(cluster.client, fleet.clock.now())
        await fleet.passes(seconds=1)
        await fleet.settle()
        if cluster.instance.core.store.revision == before:
            return


async def read(cluster: FleetCluster) -> Object:
    found = await cluster.client.get(DEPLOYMENT, "web", "default")
    return dict(found)


async def set_image(cluster: FleetCluster, image: str) -> None:
    patch = {"spec": {"template": apps.template(image)}}
    await cluster.client.patch(DEPLOYMENT, "web", patch, "default")


async def replica_sets(cluster: FleetCluster) -> dict[str, Object]:
    """By revision."""
    found = (await cluster.client.list(REPLICA_SET, "default")).items
    return {
        each["metadata"]["annotations"]["deployment.kubernetes.io/revision"]: each for each in found
    }


async def test_a_deployment_is_rolled_out(fleet: Fleet) -> None:
    cluster = await start(fleet)
    await cluster.client.create(apps.workload("Deployment", replicas=3))
    await fleet.settle()
    found = await read(cluster)
    assert [
        (each["type"], each["status"], each["reason"]) for each in found["status"]["conditions"]
    ] == [
        ("Available", "False", "MinimumReplicasUnavailable"),
        ("Progressing", "True", "ReplicaSetUpdated"),
    ]
    await roll(fleet, cluster)
    found = await read(cluster)
    made = (await replica_sets(cluster))["1"]
    name = made["metadata"]["name"]
    assert found["metadata"]["annotations"] == {"deployment.kubernetes.io/revision": "1"}
    assert {key: value for key, value in found["status"].items() if key != "conditions"} == {
        "observedGeneration": 1,
        "replicas": 3,
        "updatedReplicas": 3,
        "readyReplicas": 3,
        "availableReplicas": 3,
    }
    assert [
        (each["type"], each["status"], each["reason"], each["message"])
        for each in found["status"]["conditions"]
    ] == [
        (
            "Available",
            "True",
            "MinimumReplicasAvailable",
            "Deployment has minimum availability.",
        ),
        (
            "Progressing",
            "True",
            "NewReplicaSetAvailable",
            f'ReplicaSet "{name}" has successfully progressed.',
        ),
    ]
    hashed = made["metadata"]["labels"]["pod-template-hash"]
    assert name == f"web-{hashed}"
    assert made["spec"]["selector"]["matchLabels"] == {"app": "web", "pod-template-hash": hashed}
    assert made["metadata"]["annotations"] == {
        "deployment.kubernetes.io/revision": "1",
        "deployment.kubernetes.io/desired-replicas": "3",
        "deployment.kubernetes.io/max-replicas": "4",
    }
    await fleet.passes(seconds=2)
    assert await apps.events(cluster.client, "Deployment") == [
        ("ScalingReplicaSet", f"Scaled up replica set {name} from 0 to 3")
    ]
    before = cluster.instance.core.store.revision
    await fleet.passes(minutes=30)
    assert cluster.instance.core.store.revision == before


async def test_resized_in_the_middle_both_parts_keep_their_proportion(fleet: Fleet) -> None:
    cluster = await start(fleet)
    rolling = {"maxSurge": 3, "maxUnavailable": 2}
    strategy = {"type": "RollingUpdate", "rollingUpdate": rolling}
    await cluster.client.create(apps.workload("Deployment", replicas=10, strategy=strategy))
    await roll(fleet, cluster)
    await set_image(cluster, "two")
    await fleet.settle()
    for replicas, old, new in ((10, 8, 5), (15, 11, 7), (6, 4, 5)):
        await cluster.client.patch(DEPLOYMENT, "web", {"spec": {"replicas": replicas}}, "default")
        await fleet.settle()
        sets = await replica_sets(cluster)
        assert [sets[number]["spec"]["replicas"] for number in "12"] == [old, new]


def reasons(found: Object) -> list[tuple[str, str, str]]:
    conditions = found["status"]["conditions"]
    return [(each["type"], each["status"], each["reason"]) for each in conditions]


async def test_an_update_never_leaves_too_few_nor_makes_too_many(fleet: Fleet) -> None:
    cluster = await start(fleet)
    rolling = {"maxSurge": 1, "maxUnavailable": 1}
    strategy = {"type": "RollingUpdate", "rollingUpdate": rolling}
    await cluster.client.create(apps.workload("Deployment", replicas=4, strategy=strategy))
    await roll(fleet, cluster)
    await set_image(cluster, "two")
    for _ in range(12):
        await fleet.settle()
        found = await apps.pods(cluster.client)
        staying = [pod for pod in found if not pod["metadata"].get("deletionTimestamp")]
        ready = [pod for pod in staying if "Ready" in repr(pod["status"].get("conditions"))]
        assert len(staying) <= 5
        assert len(ready) >= 3
        waiting = [pod for pod in staying if pod["status"]["phase"] == "Pending"]
        for pod in waiting[:1]:
            await apps.move(cluster.client, pod, "Running", ready=True, at=fleet.clock.now())
        await fleet.passes(seconds=1)
    assert {pod["spec"]["containers"][0]["image"] for pod in staying} == {"two"}
    assert reasons(await read(cluster))[1] == ("Progressing", "True", "NewReplicaSetAvailable")


async def test_going_back_uses_the_old_replica_set_and_keeps_its_numbers(fleet: Fleet) -> None:
    cluster = await start(fleet)
    await cluster.client.create(apps.workload("Deployment", replicas=1))
    await roll(fleet, cluster)
    for image in ("two", "one"):
        await set_image(cluster, image)
        await roll(fleet, cluster)
    sets = await replica_sets(cluster)
    assert set(sets) == {"2", "3"}
    annotations = sets["3"]["metadata"]["annotations"]
    assert annotations["deployment.kubernetes.io/revision-history"] == "1"
    told = (await read(cluster))["metadata"]["annotations"]
    assert told["deployment.kubernetes.io/revision"] == "3"


async def test_a_rollout_that_stands_still_is_told_at_its_deadline(fleet: Fleet) -> None:
    cluster = await start(fleet)
    await cluster.client.create(apps.workload("Deployment", replicas=1))
    await fleet.passes(seconds=590)
    assert reasons(await read(cluster))[1] == ("Progressing", "True", "ReplicaSetUpdated")
    await fleet.passes(seconds=20)
    assert reasons(await read(cluster))[1] == ("Progressing", "False", "ProgressDeadlineExceeded")
    await roll(fleet, cluster)
    assert reasons(await read(cluster))[1] == ("Progressing", "True", "NewReplicaSetAvailable")


async def test_time_spent_paused_does_not_count(fleet: Fleet) -> None:
    cluster = await start(fleet)
    await cluster.client.create(apps.workload("Deployment", replicas=1))
    await fleet.passes(seconds=60)
    await cluster.client.patch(DEPLOYMENT, "web", {"spec": {"paused": True}}, "default")
    await fleet.passes(minutes=60)
    assert ("Progressing", "Unknown", "DeploymentPaused") in reasons(await read(cluster))
    await set_image(cluster, "two")
    await fleet.settle()
    assert set(await replica_sets(cluster)) == {"1"}
    await cluster.client.patch(DEPLOYMENT, "web", {"spec": {"paused": False}}, "default")
    await fleet.passes(seconds=300)
    assert ("Progressing", "True", "ReplicaSetUpdated") in reasons(await read(cluster))
    assert set(await replica_sets(cluster)) == {"1", "2"}


async def test_recreate_waits_until_the_last_old_pod_is_gone(fleet: Fleet) -> None:
    cluster = await start(fleet)
    made = apps.workload("Deployment", replicas=2, strategy={"type": "Recreate"})
    # On a node, a deleted pod stays until its kubelet has ended it.
    made["spec"]["template"]["spec"]["nodeName"] = "a"
    await cluster.client.create(made)
    await fleet.settle()
    await apps.run_all(cluster.client, fleet.clock.now())
    await fleet.settle()
    await set_image(cluster, "two")
    await fleet.settle()
    first, second = await apps.pods(cluster.client)
    assert set(await replica_sets(cluster)) == {"1"}
    await apps.remove(cluster.client, first)
    await fleet.settle()
    assert set(await replica_sets(cluster)) == {"1"}
    await apps.remove(cluster.client, second)
    await fleet.settle()
    assert (await replica_sets(cluster))["2"]["spec"]["replicas"] == 2


async def test_a_name_that_is_taken_is_a_collision(fleet: Fleet) -> None:
    cluster = await fleet.add_cluster("one")
    made = await cluster.client.create(apps.workload("Deployment", replicas=1))
    taken = new_replica_set(made, 1, 1, 0)["metadata"]["name"]
    stranger = apps.workload("ReplicaSet", taken, replicas=0)
    stranger["metadata"]["labels"] = {"of": "another"}
    await cluster.client.create(stranger)
    fleet.run(controller_of(deployment.OPERATOR), on=cluster)
    await fleet.settle()
    assert (await read(cluster))["status"]["collisionCount"] == 1
    names = [
        each["metadata"]["name"]
        for each in (await cluster.client.list(REPLICA_SET, "default")).items
        if each["metadata"].get("ownerReferences")
    ]
    assert len(names) == 1
    assert taken not in names


async def test_old_revisions_go_beyond_the_limit(fleet: Fleet) -> None:
    cluster = await start(fleet)
    await cluster.client.create(apps.workload("Deployment", replicas=1, revisionHistoryLimit=1))
    for image in ("one", "two", "three", "four"):
        await set_image(cluster, image)
        await roll(fleet, cluster)
    assert set(await replica_sets(cluster)) == {"3", "4"}


async def test_a_restarted_controller_changes_nothing(fleet: Fleet) -> None:
    cluster = await fleet.add_cluster("one")
    fleet.run(controller_of(replica_set.OPERATOR), on=cluster)
    restart = fleet.run(controller_of(deployment.OPERATOR), on=cluster)
    await cluster.client.create(apps.workload("Deployment", replicas=2))
    await roll(fleet, cluster)
    before = cluster.instance.core.store.revision
    await restart()
    await fleet.passes(minutes=1)
    assert cluster.instance.core.store.revision == before
