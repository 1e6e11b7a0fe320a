"""Works: written once, taken away with their binding, and what their members say of them."""

from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from tests.support import placing
from tests.support.placing import IMMEDIATE, World

from fleetqueue.fleet import kinds
from fleetqueue.fleet.hub import work_generator
from fleetqueue.fleet.hub.pacing import Turns
from fleetqueue.fleet.kinds import CLUSTER_SCOPE, NAMESPACED
from fleetqueue.kube.client import Client
from fleetqueue.kube.cluster import Cluster
from fleetqueue.kube.controller import DONE, Controller, Result
from fleetqueue.kube.resources import CONFIG_MAPS, Object, Resource
from fleetqueue.testing import Fleet, config_map, named, namespace

GROUP = "placement.kubernetes-fleet.io/v1beta1"
JOBS = Resource("batch", "v1", "jobs", "Job")
ROLES = Resource("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", namespaced=False)
TEMPLATES = Resource("", "v1", "podtemplates", "PodTemplate")
PAIR = ("cluster-1", "cluster-2")


def placement(*selectors: Object, **strategy: Any) -> Object:
    kind = CLUSTER_SCOPE.placement
    chosen = selectors or ({"group": "", "version": "v1", "kind": "Namespace", "name": "web"},)
    spec = {
        "resourceSelectors": list(chosen),
        "policy": {"placementType": "PickAll"},
        "strategy": {"type": "RollingUpdate", **strategy},
    }
    return named(kind.kind, kind.api_version, "p", spec=spec)


def job_placement(**spec: Any) -> Object:
    kind = NAMESPACED.placement
    selector = {"group": "batch", "version": "v1", "kind": "Job", "name": "j"}
    told = {"resourceSelectors": [selector], **spec}
    return named(kind.kind, kind.api_version, "p", "web", spec=told)


def job() -> Object:
    container = {"name": "c", "image": "i"}
    template = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    return named("Job", "batch/v1", "j", "web", spec={"suspend": True, "template": template})


async def with_namespace(world: World) -> None:
    await world.hub.create(namespace("web"), config_map("conf", {"a": "1"}, namespace="web"))


async def conditions(world: World, kind: Resource = CLUSTER_SCOPE.binding) -> dict[str, Object]:
    """Of the first binding."""
    [binding, *_] = await world.hub.all(kind)
    return {each["type"]: each for each in binding["status"]["conditions"]}


class Recorder(Controller[Any]):
    """Keeps what every state of the placements said of `Applied`."""

    kind = CLUSTER_SCOPE.placement

    def __init__(self, cluster: Cluster, seen: list[str]) -> None:
        self._seen = seen
        for kind in (CLUSTER_SCOPE.placement, CLUSTER_SCOPE.binding):
            cluster.informer(kind).listen(self._record)

    def _record(self, old: Object | None, new: Object | None) -> None:
        for each in ((new or {}).get("status") or {}).get("conditions") or ():
            if each["type"].endswith("Applied"):
                self._seen.append(f"{each['type']}={each['status']}/{each['reason']}")

    async def reconcile(self, obj: Object, /) -> Result:
        return DONE


@pytest.mark.rule("GEN-5")
@pytest.mark.parametrize(
    ("is_hub_aware", "annotations", "is_job_aware"),
    [
        (True, {}, True),
        (False, {}, False),
        (True, {"fleetqueue.io/kueue-aware": "false"}, False),
        (False, {"fleetqueue.io/kueue-aware": "true"}, True),
    ],
    ids=["default", "compatible", "compatible by itself", "better by itself"],
)
async def test_a_first_roll_out_looks_like_a_failure_in_the_compatible_mode_alone(
    fleet: Fleet, is_hub_aware: bool, annotations: dict[str, str], is_job_aware: bool
) -> None:
    settings = replace(IMMEDIATE, is_job_aware=is_hub_aware)
    world = await placing.start(fleet, members=PAIR, settings=settings)
    seen: list[str] = []
    fleet.run(lambda cluster: Recorder(cluster, seen), world.hub.cluster)
    await with_namespace(world)
    made = placement()
    made["metadata"]["annotations"] = annotations
    await world.hub.create(made)
    await world.settle()
    told = set(seen)
    assert "ClusterResourcePlacementApplied=True/ApplySucceeded" in told
    assert "Applied=True/AllWorkHaveBeenApplied" in told
    flashes = {each for each in told if "=False/" in each}
    if is_job_aware:
        assert flashes == set()
    else:
        assert "Applied=False/ApplyInProgress" in flashes
        assert "ClusterResourcePlacementApplied=False/ApplyFailed" in flashes


@pytest.mark.rule("GEN-1")
@pytest.mark.rule("GEN-2")
@pytest.mark.rule("GEN-3")
@pytest.mark.rule("GEN-4")
@pytest.mark.rule("BIND-3")
async def test_works_are_written_once_and_go_with_their_binding(fleet: Fleet) -> None:
    world = await placing.start(fleet, members=PAIR)
    await with_namespace(world)
    await world.hub.create(placement())
    await world.settle()
    found = await world.hub.all(kinds.WORK)
    assert {each["metadata"]["namespace"] for each in found} == {
        "fleet-member-cluster-1",
        "fleet-member-cluster-2",
    }
    for binding in await world.hub.all(CLUSTER_SCOPE.binding):
        assert "kubernetes-fleet.io/work-cleanup" in binding["metadata"]["finalizers"]

    versions = {each["metadata"]["uid"]: each["metadata"]["resourceVersion"] for each in found}
    assert world.hub.restart is not None
    await world.hub.restart()
    await world.settle()
    again = await world.hub.all(kinds.WORK)
    assert versions == {
        each["metadata"]["uid"]: each["metadata"]["resourceVersion"] for each in again
    }

    await world.hub.client.delete(kinds.WORK, "p-work", "fleet-member-cluster-1")
    await world.settle()
    await world.passes(seconds=30)
    assert len(await world.hub.all(kinds.WORK)) == 2
    member = world.members["cluster-1"]
    assert (await member.get(CONFIG_MAPS, "conf", "web"))["data"] == {"a": "1"}

    await world.hub.client.delete(CLUSTER_SCOPE.resource_snapshot, "p-0-snapshot")
    await world.hub.restart()
    await world.settle()
    assert (await conditions(world))["WorkSynchronized"]["status"] == "True"

    await world.hub.client.delete(CLUSTER_SCOPE.placement, "p")
    await world.settle()
    await world.passes(seconds=60)
    assert await world.hub.all(kinds.WORK) == []
    assert await world.hub.all(CLUSTER_SCOPE.binding) == []
    assert await member.find(CONFIG_MAPS, "conf", "web") is None


def template(value: str) -> Object:
    """Of a kind that nobody can tell to be available: a wait stands for that."""
    pods = {"metadata": {"labels": {"v": value}}, "spec": job()["spec"]["template"]["spec"]}
    return named("PodTemplate", "v1", "t", "web", template=pods)


async def templates(world: World) -> list[str]:
    """The value that each member has."""
    found = [await each.get(TEMPLATES, "t", "web") for each in world.members.values()]
    return [each["template"]["metadata"]["labels"]["v"] for each in found]


@pytest.mark.rule("ROLL-4", "ROLL-7")
async def test_a_hub_too_busy_to_tell_what_is_under_way_waits_between_clusters_all_the_same(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy = partial(Turns, at_once=0, per_second=0.01)
    monkeypatch.setattr(work_generator, "Turns", busy)
    world = await placing.start(fleet)
    await world.hub.create(namespace("web"), template("1"))
    rolling = {"maxUnavailable": 1, "maxSurge": 1, "unavailablePeriodSeconds": 60}
    await world.hub.create(placement(rollingUpdate=rolling))
    await world.passes(seconds=200)
    await world.hub.client.patch(TEMPLATES, "t", {"template": template("2")["template"]}, "web")
    for updated in (1, 2, 3):
        await world.passes(seconds=10)
        assert (await templates(world)).count("2") == updated
        await world.passes(seconds=52)


@pytest.mark.rule("ROLL-4", "ROLL-7")
async def test_a_new_policy_does_not_make_clusters_wait_that_get_nothing_new(fleet: Fleet) -> None:
    world = await placing.start(fleet)
    await world.hub.create(namespace("web"), template("1"))
    made = placement(rollingUpdate={"maxUnavailable": 1, "unavailablePeriodSeconds": 60})
    made["spec"]["policy"] = {"placementType": "PickFixed", "clusterNames": [*world.members]}
    await world.hub.create(made)
    await world.passes(seconds=200)
    fewer = {"spec": {"policy": {"clusterNames": list(PAIR)}}}
    await world.hub.client.patch(CLUSTER_SCOPE.placement, "p", fewer)
    await world.passes(seconds=10)
    assert len(await world.hub.all(kinds.WORK)) == 2


@pytest.mark.rule("ENV-1")
@pytest.mark.rule("ENV-2")
@pytest.mark.rule("ENV-4")
@pytest.mark.rule("ENV-5")
@pytest.mark.rule("ENV-6")
async def test_what_envelopes_hold_is_delivered_and_what_they_may_not_hold_is_told(
    fleet: Fleet,
) -> None:
    world = await placing.start(fleet, members=("cluster-1",))
    await with_namespace(world)
    role = named("ClusterRole", "rbac.authorization.k8s.io/v1", "wrapped", rules=[])
    nameless = config_map("x", {"a": "1"}, namespace="web")
    nameless["metadata"] = {"generateName": "x-", "namespace": "web"}
    inner = {"one.yaml": config_map("wrapped", {"a": "1"}, namespace="web"), "two.yaml": nameless}
    wide = named("ClusterResourceEnvelope", GROUP, "wide", data={"role.yaml": role})
    await world.hub.create(wide, named("ResourceEnvelope", GROUP, "narrow", "web", data=inner))
    await world.hub.create(
        placement(
            {"group": "", "version": "v1", "kind": "Namespace", "name": "web"},
            {
                "group": "placement.kubernetes-fleet.io",
                "version": "v1beta1",
                "kind": "ClusterResourceEnvelope",
                "name": "wide",
            },
        )
    )
    await world.settle()
    member = world.members["cluster-1"]
    assert (await member.get(CONFIG_MAPS, "wrapped", "web"))["data"] == {"a": "1"}
    assert await member.find(ROLES, "wrapped") is not None
    assert len(await world.hub.all(kinds.WORK)) == 3
    found = await world.hub.get(CLUSTER_SCOPE.placement, "p")
    [failed] = found["status"]["placementStatuses"][0]["failedPlacements"]
    assert failed["condition"]["reason"] == "FoundGenerateName"
    assert failed["envelope"] == {
        "name": "narrow",
        "namespace": "web",
        "type": "ResourceEnvelope",
    }

    [first] = [
        each
        for each in await world.hub.all(kinds.WORK)
        if each["metadata"]["labels"].get("kubernetes-fleet.io/envelope-name") == "wide"
    ]
    metadata = {**first["metadata"], "name": "twin"}
    for name in ("uid", "resourceVersion", "finalizers", "creationTimestamp", "generation"):
        metadata.pop(name, None)
    await world.hub.create({**first, "metadata": metadata, "status": {"conditions": []}})
    await world.settle()
    await world.passes(seconds=30)
    [binding] = await world.hub.all(CLUSTER_SCOPE.binding)
    told = await world.hub.events(binding["metadata"]["name"])
    assert ("Warning", "DuplicateEnvelopeWorks") in {each[:2] for each in told}
    assert await world.hub.find(kinds.WORK, "twin", "fleet-member-cluster-1") is None

    stray = {"data": {"one.yaml": None, "two.yaml": None, "role.yaml": role}}
    await world.hub.client.patch(kinds.ENVELOPE, "narrow", stray, "web")
    await world.settle()
    told_now = (await conditions(world))["WorkSynchronized"]
    assert (told_now["status"], told_now["reason"], told_now["message"]) == (
        "False",
        "SyncWorkFailed",
        "Failed to synchronize the work to the latest: a cluster scope object wrapped"
        " (rbac.authorization.k8s.io/v1, Kind=ClusterRole) has been wrapped in a resource envelope"
        " web/narrow",
    )


def envelope(value: str) -> Object:
    inner = config_map("wrapped", {"a": value}, namespace="web")
    return named("ResourceEnvelope", GROUP, "narrow", "web", data={"one.yaml": inner})


@pytest.mark.rule("GEN-5", "GEN-7")
async def test_a_work_that_waits_for_the_end_of_its_namesake_is_not_delivered(
    fleet: Fleet,
) -> None:
    world = await placing.start(fleet, members=("cluster-1",))
    await with_namespace(world)
    await world.hub.create(envelope("1"), placement())
    await world.settle()
    member = world.members["cluster-1"]
    held = {"metadata": {"finalizers": ["example.com/hold"]}}
    await member.client.patch(CONFIG_MAPS, "wrapped", held, "web")
    await world.hub.client.delete(kinds.ENVELOPE, "narrow", "web")
    await world.settle()
    assert (await conditions(world))["Available"]["status"] == "True"

    await world.hub.create(envelope("2"))
    await world.passes(seconds=60)
    found = await conditions(world)
    [waiting] = [
        each["metadata"]["name"]
        for each in await world.hub.all(kinds.WORK)
        if each["metadata"].get("deletionTimestamp")
    ]
    told = found["Applied"]["status"], found["Applied"]["message"]
    assert told == ("Unknown", f"Work object {waiting} has not yet completed the apply op")
    assert "Available" not in found

    free = {"metadata": {"finalizers": None}}
    await member.client.patch(CONFIG_MAPS, "wrapped", free, "web")
    await world.passes(seconds=60)
    assert (await member.get(CONFIG_MAPS, "wrapped", "web"))["data"] == {"a": "2"}
    assert (await conditions(world))["Available"]["status"] == "True"


async def test_an_edited_snapshot_of_a_namespace_delivers_nothing_beyond_it(fleet: Fleet) -> None:
    world = await placing.start(fleet, members=("cluster-1",))
    await world.hub.create(namespace("web"), job())
    await world.members["cluster-1"].create(namespace("web"))
    policy = {"placementType": "PickAll"}
    await world.hub.create(job_placement(policy=policy))
    await world.settle()
    [snapshot] = await world.hub.all(NAMESPACED.resource_snapshot)
    role = named("ClusterRole", "rbac.authorization.k8s.io/v1", "evil", "web", rules=[])
    edited = {"spec": {"selectedResources": [role]}}
    name = snapshot["metadata"]["name"]
    await world.hub.client.patch(NAMESPACED.resource_snapshot, name, edited, "web")
    [binding] = await world.hub.all(NAMESPACED.binding)
    again = {"spec": {"applyStrategy": {"type": "ServerSideApply"}}}
    name = binding["metadata"]["name"]
    await world.hub.client.patch(NAMESPACED.binding, name, again, "web")
    await world.settle()
    [work] = await world.hub.all(kinds.WORK)
    assert [each["kind"] for each in work["spec"]["workload"]["manifests"]] == ["Job"]
    assert await world.members["cluster-1"].find(ROLES, "evil") is None
    told = (await conditions(world, NAMESPACED.binding))["WorkSynchronized"]
    assert (told["status"], told["reason"], told["message"]) == (
        "False",
        "SyncWorkFailed",
        "Failed to synchronize the work to the latest: the object web/evil"
        " (rbac.authorization.k8s.io/v1, Kind=ClusterRole) is cluster-scoped, and a"
        " ResourcePlacement of namespace web delivers only what is in it: select the object with a"
        " ClusterResourcePlacement",
    )


MIRROR = {"reportBackStrategy": {"type": "Mirror", "destination": "OriginalResource"}}


@pytest.mark.rule("KJ-6")
@pytest.mark.rule("KJ-7")
@pytest.mark.rule("BACK-1")
async def test_what_a_member_says_of_a_job_is_told_by_the_original(fleet: Fleet) -> None:
    world = await placing.start(fleet, members=PAIR)
    await world.hub.create(namespace("web"), job())
    for member in world.members.values():
        await member.create(namespace("web"))
    strategy = {
        "type": "RollingUpdate",
        **MIRROR,
        "deleteStrategy": {"propagationPolicy": "Abandon"},
    }
    policy = {"placementType": "PickN", "numberOfClusters": 1}
    await world.hub.create(job_placement(strategy=strategy, policy=policy))
    await world.settle()
    member = world.members["cluster-2"]
    status = {"active": 2, "ready": 1, "startTime": "2026-01-01T00:00:00Z"}
    await member.client.patch(JOBS, "j", {"status": status}, "web", subresource="status")
    await world.passes(seconds=60)
    assert (await world.hub.get(JOBS, "j", "web"))["status"]["active"] == 2
    told = (await conditions(world, NAMESPACED.binding))["StatusBackReported"]
    assert (told["status"], told["reason"]) == ("True", "StatusBackReported")

    await world.hub.client.delete(NAMESPACED.placement, "p", "web")
    await world.settle()
    await world.passes(seconds=60)
    assert await world.hub.all(kinds.WORK) == []
    left = await member.get(JOBS, "j", "web")
    assert "ownerReferences" not in left["metadata"]

    await world.hub.create(
        job_placement(
            strategy={"type": "RollingUpdate", **MIRROR}, policy={"placementType": "PickAll"}
        )
    )
    await world.settle()
    told = (await conditions(world, NAMESPACED.binding))["StatusBackReported"]
    assert (told["status"], told["reason"]) == ("False", "BackReportingRefused")
    assert "single cluster" in told["message"]
    found = await world.hub.get(NAMESPACED.placement, "p", "web")
    last = found["status"]["conditions"][-1]
    assert (last["type"], last["status"]) == ("ResourcePlacementStatusBackReported", "False")


@pytest.mark.rule("KJ-6")
@pytest.mark.parametrize("times", [1, 5])
async def test_what_a_member_says_of_a_job_is_told_although_others_write_there_too(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    world = await placing.start(fleet, members=("cluster-1",))
    await world.hub.create(namespace("web"), job())
    member = world.members["cluster-1"]
    await member.create(namespace("web"))
    policy = {"placementType": "PickN", "numberOfClusters": 1}
    strategy = {"type": "RollingUpdate", **MIRROR}
    await world.hub.create(job_placement(strategy=strategy, policy=policy))
    await world.settle()
    plain_update, meddled = Client.update, list(range(times))

    async def update(self: Client, obj: Any, **options: Any) -> Any:
        if obj.get("kind") == "Job" and options.get("subresource") == "status" and meddled:
            told = {"metadata": {"annotations": {"meddled": str(meddled.pop())}}}
            await world.hub.client.patch(JOBS, "j", told, "web")
        return await plain_update(self, obj, **options)

    monkeypatch.setattr(Client, "update", update)
    status = {"active": 2, "ready": 1, "startTime": "2026-01-01T00:00:00Z"}
    await member.client.patch(JOBS, "j", {"status": status}, "web", subresource="status")
    await world.passes(seconds=90)
    assert not meddled
    assert (await world.hub.get(JOBS, "j", "web"))["status"]["active"] == 2
    told = (await conditions(world, NAMESPACED.binding))["StatusBackReported"]
    assert (told["status"], told["reason"]) == ("True", "StatusBackReported")


@pytest.mark.rule("KJ-7", "GEN-2")
async def test_what_a_placement_abandons_goes_all_the_same_where_it_is_not_wanted(
    fleet: Fleet,
) -> None:
    """Abandoned is what is there when the placement itself ends."""
    world = await placing.start(fleet, members=PAIR)
    await with_namespace(world)
    made = placement(deleteStrategy={"propagationPolicy": "Abandon"})
    made["spec"]["policy"] = {"placementType": "PickFixed", "clusterNames": list(PAIR)}
    await world.hub.create(made)
    await world.passes(seconds=60)
    first, second = (world.members[name] for name in PAIR)
    for member in (first, second):
        assert (await member.get(CONFIG_MAPS, "conf", "web"))["data"] == {"a": "1"}

    policy = {"policy": {"clusterNames": [PAIR[1]]}}
    await world.hub.client.patch(CLUSTER_SCOPE.placement, "p", {"spec": policy})
    await world.passes(seconds=120)
    assert "conf" not in [each["metadata"]["name"] for each in await first.all(CONFIG_MAPS)]

    await world.hub.client.delete(CLUSTER_SCOPE.placement, "p")
    await world.passes(seconds=60)
    assert await world.hub.all(kinds.WORK) == []
    assert (await second.get(CONFIG_MAPS, "conf", "web"))["data"] == {"a": "1"}
