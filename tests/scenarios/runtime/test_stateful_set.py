"""StatefulSets on a whole server: order, updates, claims."""

import pytest

from fleetqueue.kube.frame import controller_of
from fleetqueue.kube.plan import Delete, Look
from fleetqueue.kube.resources import Object
from fleetqueue.kube.sources import Listed
from fleetqueue.runtime.controllers import revisions, stateful_pods, stateful_set
from fleetqueue.runtime.kinds import CLAIM, CONTROLLER_REVISION, STATEFUL_SET
from fleetqueue.testing import Fleet, FleetCluster
from support import apps

pytestmark = pytest.mark.rule("jobs B.2.4")


async def start(fleet: Fleet) -> FleetCluster:
    cluster = await fleet.add_cluster("one")
    fleet.run(controller_of(stateful_set.OPERATOR), on=cluster)
    return cluster


async def names(cluster: FleetCluster) -> list[str]:
    return [pod["metadata"]["name"] for pod in await apps.pods(cluster.client)]


async def read(cluster: FleetCluster) -> Object:
    return dict(await cluster.client.get(STATEFUL_SET, "web", "default"))


async def step(fleet: Fleet, cluster: FleetCluster) -> None:
    """Pods that were deleted go, new ones become ready."""
    for pod in await apps.pods(cluster.client):
        if pod["metadata"].get("deletionTimestamp"):
            await apps.remove(cluster.client, pod)
    await fleet.settle()
    await apps.run_all(cluster.client, fleet.clock.now())
    await fleet.settle()


async def test_pods_are_made_one_by_one_in_order(fleet: Fleet) -> None:
    cluster = await start(fleet)
    await cluster.client.create(apps.workload("StatefulSet", replicas=3, serviceName="web"))
    for count in (1, 2, 3):
        await fleet.settle()
        assert await names(cluster) == [f"web-{number}" for number in range(count)]
        await step(fleet, cluster)
    found = await read(cluster)
    (made,) = (await cluster.client.list(CONTROLLER_REVISION, "default")).items
    revision = made["metadata"]["name"]
    assert found["status"] == {
        "observedGeneration": 1,
        "replicas": 3,
        "readyReplicas": 3,
        "currentReplicas": 3,
        "updatedReplicas": 3,
        "availableReplicas": 3,
        "currentRevision": revision,
        "updateRevision": revision,
        "collisionCount": 0,
    }
    pod = (await apps.pods(cluster.client))[1]
    assert pod["metadata"]["labels"] == {
        "app": "web",
        "apps.kubernetes.io/pod-index": "1",
        "statefulset.kubernetes.io/pod-name": "web-1",
        "controller-revision-hash": revision,
    }
    assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("web-1", "web")
    await fleet.passes(seconds=1)
    assert ("SuccessfulCreate", "create Pod web-0 in StatefulSet web successful") in (
        await apps.events(cluster.client)
    )
    before = cluster.instance.core.store.revision
    await fleet.passes(minutes=30)
    assert cluster.instance.core.store.revision == before


async def images(cluster: FleetCluster) -> dict[str, str]:
    return {
        pod["metadata"]["name"]: pod["spec"]["containers"][0]["image"]
        for pod in await apps.pods(cluster.client)
    }


async def set_image(cluster: FleetCluster, image: str) -> None:
    patch = {"spec": {"template": apps.template(image)}}
    await cluster.client.patch(STATEFUL_SET, "web", patch, "default")


def claim_template() -> Object:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return {"metadata": {"name": "data"}, "spec": spec}


async def make(fleet: Fleet, cluster: FleetCluster, replicas: int = 3, **spec: object) -> None:
    made = apps.workload("StatefulSet", replicas=replicas, serviceName="web", **spec)
    await cluster.client.create(made)
    await fleet.settle()
    for _ in range(replicas):
        await step(fleet, cluster)


async def test_an_update_goes_from_the_last_to_the_first(fleet: Fleet) -> None:
    cluster = await start(fleet)
    await make(fleet, cluster)
    before = (await read(cluster))["status"]["currentRevision"]
    await set_image(cluster, "two")
    await fleet.settle()
    seen = []
    for _ in range(3):
        seen.append([name for name, image in (await images(cluster)).items() if image == "two"])
        await step(fleet, cluster)
    assert seen == [["web-2"], ["web-1", "web-2"], ["web-0", "web-1", "web-2"]]
    status = (await read(cluster))["status"]
    assert status["currentRevision"] == status["updateRevision"] != before


async def test_a_partition_holds_the_lower_ones_back(fleet: Fleet) -> None:
    cluster = await start(fleet)
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}
    await make(fleet, cluster, updateStrategy=strategy)
    await set_image(cluster, "two")
    for _ in range(4):
        await fleet.settle()
        await step(fleet, cluster)
    assert await images(cluster) == {"web-0": "one", "web-1": "one", "web-2": "two"}
    status = (await read(cluster))["status"]
    assert (status["currentReplicas"], status["updatedReplicas"]) == (2, 1)
    await apps.remove(cluster.client, {"metadata": {"name": "web-0"}})
    await fleet.settle()
    assert (await images(cluster))["web-0"] == "one"


async def test_several_may_be_unavailable_where_it_says_so(fleet: Fleet) -> None:
    """The API server of this version drops the field, but a decision honours it."""
    strategy = {
        "type": "RollingUpdate",
        "rollingUpdate": {"partition": 0, "maxUnavailable": 2},
    }
    parent = apps.workload("StatefulSet", replicas=4, serviceName="web", updateStrategy=strategy)
    parent["metadata"] |= {"uid": "set", "generation": 2}
    pods = []
    for number in range(4):
        pod = stateful_pods.new_pod(parent, apps.template("zero"), "web-old", number)
        pod["metadata"] |= {"uid": f"pod-{number}", "creationTimestamp": "2026-01-01T00:00:00Z"}
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        pods.append({**pod, "status": {"phase": "Running", "conditions": [ready]}})
    plan = stateful_set.decide(Look(parent, fleet.clock.now(), Listed([parent, *pods])))
    gone = [each.obj["metadata"]["name"] for each in plan.steps if isinstance(each, Delete)]
    assert gone == ["web-3", "web-2"]


async def test_ended_pods_are_made_again_under_the_same_name(fleet: Fleet) -> None:
    cluster = await start(fleet)
    await make(fleet, cluster, 2)
    for phase in ("Failed", "Succeeded"):
        old = (await apps.pods(cluster.client))[0]
        await apps.move(cluster.client, old, phase, ready=False, at=fleet.clock.now())
        await fleet.settle()
        new = (await apps.pods(cluster.client))[0]
        assert new["metadata"]["name"] == old["metadata"]["name"]
        assert new["metadata"]["uid"] != old["metadata"]["uid"]
        await step(fleet, cluster)


async def test_claims_stay_unless_the_policy_says_otherwise(fleet: Fleet) -> None:
    cluster = await start(fleet)
    templates = [claim_template()]
    await make(fleet, cluster, 2, volumeClaimTemplates=templates)
    pod = (await apps.pods(cluster.client))[1]
    assert {
        "name": "data",
        "persistentVolumeClaim": {"claimName": "data-web-1"},
    } in pod["spec"]["volumes"]
    await cluster.client.patch(STATEFUL_SET, "web", {"spec": {"replicas": 1}}, "default")
    await fleet.settle()
    await step(fleet, cluster)
    held = (await cluster.client.list(CLAIM, "default")).items
    assert [each["metadata"]["name"] for each in held] == ["data-web-0", "data-web-1"]
    assert not any(each["metadata"].get("ownerReferences") for each in held)
    policy = {"whenDeleted": "Delete", "whenScaled": "Retain"}
    patch = {"spec": {"persistentVolumeClaimRetentionPolicy": policy}}
    await cluster.client.patch(STATEFUL_SET, "web", patch, "default")
    await fleet.settle()
    held = (await cluster.client.list(CLAIM, "default")).items
    owners = [
        [each["kind"] for each in claim["metadata"].get("ownerReferences") or ()] for claim in held
    ]
    assert owners == [["StatefulSet"], []]


async def test_parallel_pods_do_not_wait_for_each_other(fleet: Fleet) -> None:
    cluster = await start(fleet)
    made = apps.workload("StatefulSet", replicas=3, podManagementPolicy="Parallel")
    await cluster.client.create(made)
    await fleet.settle()
    assert await names(cluster) == ["web-0", "web-1", "web-2"]


async def test_ordinals_may_start_elsewhere(fleet: Fleet) -> None:
    cluster = await start(fleet)
    await make(fleet, cluster, 2, ordinals={"start": 7})
    assert await names(cluster) == ["web-7", "web-8"]


async def test_a_name_that_is_taken_is_a_collision(fleet: Fleet) -> None:
    cluster = await fleet.add_cluster("one")
    made = await cluster.client.create(apps.workload("StatefulSet", replicas=1))
    taken = revisions.name_of(made, revisions.hash_of(made, 0))
    await cluster.client.create(
        {
            "apiVersion": "apps/v1",
            "kind": "ControllerRevision",
            "metadata": {"name": taken, "namespace": "default"},
            "data": {"something": "else"},
            "revision": 1,
        }
    )
    fleet.run(controller_of(stateful_set.OPERATOR), on=cluster)
    await fleet.settle()
    status = (await read(cluster))["status"]
    assert status["collisionCount"] == 1
    assert status["updateRevision"] != taken
