"""LeaderWorkerSets on a whole server with the StatefulSet controller, pods moved by hand."""

from typing import Any

import pytest
from tests.support import apps, leader_workers, operated

from fleetqueue.kube.errors import Forbidden
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.controllers import stateful_set
from fleetqueue.runtime.kinds import (
    CONTROLLER_REVISION,
    LEADER_WORKER_SET,
    POD,
    SERVICE,
    STATEFUL_SET,
)
from fleetqueue.runtime.operators import leader_worker_set
from fleetqueue.testing import Fleet, FleetCluster

pytestmark = [
    pytest.mark.rule("jobs B.8"),
    pytest.mark.rule("jobs B.10"),
    pytest.mark.rule("jobs D.7"),
]

PREFIX = "leaderworkerset.sigs.k8s.io/"


async def start(fleet: Fleet) -> FleetCluster:
    return await operated.start(
        fleet,
        stateful_set.OPERATOR,
        leader_worker_set.OPERATOR,
        groups=(leader_workers.GROUP,),
        webhooks=leader_worker_set.WEBHOOKS,
    )


async def create(fleet: Fleet, cluster: FleetCluster, *about: int, **spec: Any) -> Object:
    return await operated.create(fleet, cluster, leader_workers.lws(*about, **spec))


async def read(cluster: FleetCluster) -> Object:
    return await operated.get(cluster, LEADER_WORKER_SET, "serve")


async def step(fleet: Fleet, cluster: FleetCluster) -> None:
    """Pods that were asked to go are gone, new ones become ready."""
    await operated.remove_ended_pods(fleet, cluster)
    await apps.run_all(cluster.client, fleet.clock.now())
    await fleet.settle()


async def uids(cluster: FleetCluster) -> dict[str, str]:
    pods = await apps.pods(cluster.client)
    return {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in pods}


async def images(cluster: FleetCluster) -> dict[str, str]:
    return {
        pod["metadata"]["name"]: pod["spec"]["containers"][0]["image"]
        for pod in await apps.pods(cluster.client)
    }


async def test_groups_are_made_and_get_ready(fleet: Fleet) -> None:
    cluster = await start(fleet)
    await create(fleet, cluster, 2, 3)
    assert await operated.names(cluster, POD) == [
        "serve-0",
        "serve-0-1",
        "serve-0-2",
        "serve-1",
        "serve-1-1",
        "serve-1-2",
    ]
    assert operated.conditions(await read(cluster)) == {
        "Progressing": ("True", "GroupsProgressing", "Replicas are progressing")
    }
    worker = await operated.get(cluster, POD, "serve-1-2")
    labels = worker["metadata"]["labels"]
    assert labels[f"{PREFIX}group-index"] == "1"
    assert labels[f"{PREFIX}worker-index"] == "2"
    told = {each["name"]: each["value"] for each in worker["spec"]["containers"][0]["env"]}
    assert told["LWS_LEADER_ADDRESS"] == "serve-1.serve.default"
    await step(fleet, cluster)
    found = await read(cluster)
    assert operated.conditions(found)["Available"] == (
        "True",
        "AllGroupsReady",
        "All replicas are ready",
    )
    assert operated.conditions(found)["Progressing"][0] == "False"
    assert (found["status"]["readyReplicas"], found["status"]["updatedReplicas"]) == (2, 2)
    revision = cluster.instance.core.store.revision
    await fleet.passes(minutes=30)
    assert cluster.instance.core.store.revision == revision
    await cluster.client.delete(LEADER_WORKER_SET, "serve", "default")
    for _ in range(3):
        await fleet.passes(seconds=60)
        await operated.remove_ended_pods(fleet, cluster)
    for kind in (POD, STATEFUL_SET, SERVICE, CONTROLLER_REVISION):
        assert not [
            name for name in await operated.names(cluster, kind) if name.startswith("serve")
        ]


async def test_a_group_whose_worker_restarts_is_made_anew(fleet: Fleet) -> None:
    cluster = await start(fleet)
    await create(fleet, cluster, 2, 2)
    await step(fleet, cluster)
    before = await uids(cluster)
    restarted = {"name": "main", "restartCount": 1, "image": "one", "imageID": "", "ready": True}
    change = {"status": {"containerStatuses": [restarted]}}
    await cluster.client.patch(POD, "serve-1-1", change, "default", subresource="status")
    await fleet.settle()
    for _ in range(4):
        await fleet.passes(seconds=10)
        await step(fleet, cluster)
    after = await uids(cluster)
    assert set(after) == set(before)
    assert {name for name in before if before[name] == after[name]} == {"serve-0", "serve-0-1"}
    text = "Worker pod serve-1-1 failed, deleted leader pod serve-1 to recreate group 1"
    assert ("RecreateGroup", text) in await apps.events(cluster.client, "LeaderWorkerSet")
    assert operated.conditions(await read(cluster))["Available"][0] == "True"


async def test_an_update_goes_group_by_group_from_the_end(fleet: Fleet) -> None:
    cluster = await start(fleet)
    await create(fleet, cluster, 3, 2)
    await step(fleet, cluster)
    container = {"name": "main", "image": "two"}
    change = {
        "spec": {"leaderWorkerTemplate": {"workerTemplate": {"spec": {"containers": [container]}}}}
    }
    await operated.change(fleet, cluster, LEADER_WORKER_SET, "serve", change)
    assert operated.conditions(await read(cluster))["UpdateInProgress"] == (
        "True",
        "GroupsUpdating",
        "Rolling Upgrade is in progress",
    )
    assert set((await images(cluster)).values()) == {"one", "two"}
    for _ in range(10):
        await fleet.passes(seconds=10)
        await step(fleet, cluster)
        assert (await read(cluster))["status"].get("readyReplicas", 0) >= 2
    assert set((await images(cluster)).values()) == {"two"}
    told = await apps.events(cluster.client, "LeaderWorkerSet")
    assert [text for reason, text in told if text.startswith("Updating")] == [
        "Updating replica 2",
        "Updating replica 1",
        "Updating replica 0",
    ]
    found = await read(cluster)
    assert operated.conditions(found)["Available"][0] == "True"
    assert operated.conditions(found)["UpdateInProgress"][0] == "False"
    assert found["status"]["updatedReplicas"] == 3
    ours = [
        each
        for each in (await cluster.client.list(CONTROLLER_REVISION, "default")).items
        if each["metadata"]["ownerReferences"][0]["kind"] == "LeaderWorkerSet"
    ]
    assert len(ours) == 1


async def test_scaling_and_the_scale_subresource(fleet: Fleet) -> None:
    cluster = await start(fleet)
    await create(fleet, cluster, 1, 2)
    await step(fleet, cluster)
    await cluster.client.patch(
        LEADER_WORKER_SET, "serve", {"spec": {"replicas": 3}}, "default", subresource="scale"
    )
    await fleet.settle()
    await step(fleet, cluster)
    assert (await read(cluster))["status"]["readyReplicas"] == 3
    await operated.change(fleet, cluster, LEADER_WORKER_SET, "serve", {"spec": {"replicas": 1}})
    for _ in range(3):
        await fleet.passes(seconds=10)
        await step(fleet, cluster)
    assert await operated.names(cluster, POD) == ["serve-0", "serve-0-1"]
    assert (await read(cluster))["status"]["replicas"] == 1


async def test_bad_sets_are_refused(fleet: Fleet) -> None:
    cluster = await start(fleet)
    with pytest.raises(Forbidden) as error:
        await create(fleet, cluster, 1, 0)
    assert str(error.value) == (
        'admission webhook "vleaderworkerset.kb.io" denied the request: '
        "spec.leaderWorkerTemplate.size: Invalid value: 0: size must be equal or greater than 1"
    )
