"""The guide that places jobs and their queues on members, in virtual time: with the statuses that
it prints in the compatible mode, and with jobs as jobs otherwise.
"""

from typing import Any

import pytest
from tests.support import guided
from tests.support import placement_guide as guide
from tests.support.guided import CRP, RP, SPACE, WORKLOADS, Guided
from tests.support.placing import MEMBERS, Side

from fleetqueue.api.fleet import labels
from fleetqueue.kube.resources import Object, Resource
from fleetqueue.runtime.kinds import JOB, POD
from fleetqueue.testing import Fleet

Json = dict[str, Any]
MIRROR = {"reportBackStrategy": {"type": "Mirror", "destination": "OriginalResource"}}
QUEUE = Resource("kueue.x-k8s.io", "v1beta2", "clusterqueues", "ClusterQueue", namespaced=False)


async def taken_up_elsewhere(world: Guided, *names: str) -> None:
    """Others run on these members, so that less is left of them."""
    for name in names:
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": "other",
                "namespace": "default",
                "annotations": {guided.RUNS: "never"},
            },
            "spec": {
                "containers": [
                    {
                        "name": "c",
                        "image": "busybox",
                        "resources": {"requests": {"cpu": "2", "memory": "4Gi"}},
                    }
                ]
            },
        }
        await world.world.members[name].create(pod)
    await world.world.passes(seconds=30)


@pytest.mark.rule("G-3", "G-4", "G-5", "G-6")
@pytest.mark.parametrize("is_job_aware", [True, False])
async def test_queues_are_placed_with_the_status_that_is_printed(
    fleet: Fleet, is_job_aware: bool
) -> None:
    world = await guided.start(fleet, is_job_aware=is_job_aware)
    await world.type(*guide.STEPS, guide.CLUSTER_PLACEMENT)

    found = await world.hub.get(CRP, "sample-kueue")
    metadata, status = found["metadata"], found["status"]
    assert (metadata.get("labels"), metadata.get("annotations")) == (None, None)
    assert metadata["generation"] == 1
    assert metadata["finalizers"] == [labels.PLACEMENT_FINALIZER, labels.SCHEDULER_FINALIZER]
    assert guide.said(status) == guide.of_placement("ClusterResourcePlacement", 3)
    assert not guide.untrue(status)
    assert status["observedResourceIndex"] == "0"
    assert [each["clusterName"] for each in status["placementStatuses"]] == list(MEMBERS)
    for each in status["placementStatuses"]:
        rows = guide.of_cluster(each["clusterName"], guide.untracked("sample-kueue-work"))
        assert guide.said(each) == rows
        assert not guide.untrue(each)
    assert [(each["kind"], each["version"]) for each in status["selectedResources"]] == [
        ("Namespace", "v1"),
        ("ClusterQueue", "v1beta1"),
        ("ResourceFlavor", "v1beta1"),
    ]
    told = [(reason, text) for _, reason, text in await world.hub.events("sample-kueue")]
    assert told == guide.EVENTS
    for side in world.world.members.values():
        assert await side.find(QUEUE, "cluster-queue") is not None


@pytest.mark.rule("G-7", "G-8", "G-9")
async def test_jobs_are_placed_with_the_status_that_is_printed_in_the_compatible_mode(
    fleet: Fleet,
) -> None:
    world = await guided.start(fleet, is_job_aware=False)
    await taken_up_elsewhere(world, "cluster-1", "cluster-2")
    await world.up_to_jobs()
    await world.place()
    told = [(reason, text) for _, reason, text in await world.hub.events("job1-placement")]
    assert told == guide.EVENTS, "first the placement completes"

    await world.world.passes(seconds=10)
    status = (await world.placement())["status"]
    rows = guide.of_placement("ResourcePlacement", 1)[:5]
    rows[4] = ("ResourcePlacementApplied", "ApplyFailed", guide.FAILED)
    assert guide.said(status) == rows
    assert guide.untrue(status) == ["ResourcePlacementApplied"]
    entry = await world.entry()
    assert entry["clusterName"] == "cluster-3"
    rows = guide.of_cluster("cluster-3", ("", ""), score=70)[:5]
    text = "Work object compute-jobs.job1-placement-work has failed to apply"
    rows[4] = ("Applied", "NotAllWorkHaveBeenApplied", text)
    assert guide.said(entry) == rows
    assert entry["observedResourceIndex"] == "0"
    live = await world.job(world.world.members["cluster-3"])
    assert live is not None
    check_drift(entry, live)
    assert [each["name"] for each in status["selectedResources"]] == ["mock-workload"]
    assert not await world.pods(world.hub)


def check_drift(entry: Json, live: Object) -> None:
    names = {"group": "batch", "kind": "Job", "namespace": SPACE, "name": "mock-workload"}
    (drifted,) = entry["driftedPlacements"]
    assert names.items() <= drifted.items()
    assert drifted["targetClusterObservedGeneration"] == 2
    assert drifted["firstDriftedObservedTime"] <= drifted["observationTime"]
    found = guide.as_printed(drifted["observedDrifts"])
    assert found == guide.drifts(live["metadata"]["uid"])
    paths = [each["path"] for each in drifted["observedDrifts"]]
    assert paths == sorted(paths)
    (failed,) = entry["failedPlacements"]
    assert names.items() <= failed.items()
    condition = failed["condition"]
    assert (condition["type"], condition["status"]) == ("Applied", "False")
    assert condition["reason"] == "FoundDriftsInDegradedMode"
    assert condition["observedGeneration"] == 2
    assert condition["message"] == guide.DEGRADED


@pytest.mark.rule("G-9")
async def test_a_queue_is_placed_on_all_members(fleet: Fleet) -> None:
    world = await guided.start(fleet)
    await world.up_to_jobs()
    await world.place()
    status = (await world.placement("queue-placement"))["status"]
    assert guide.said(status) == guide.of_placement("ResourcePlacement", 3)
    work = guide.untracked("compute-jobs.queue-placement-work")
    for each in status["placementStatuses"]:
        assert guide.said(each) == guide.of_cluster(each["clusterName"], work)


@pytest.mark.rule("G-9", "KJ-1", "KJ-2", "KJ-3", "KJ-4", "KJ-5", "KJ-6")
async def test_jobs_are_followed_to_their_end_and_run_once(fleet: Fleet) -> None:
    world = await guided.start(fleet)
    await taken_up_elsewhere(world, "cluster-1", "cluster-2")
    await world.up_to_jobs()
    await world.place(**MIRROR)
    await world.world.passes(seconds=5)
    side, entry = await world.chosen(), await world.entry()

    status = (await world.placement())["status"]
    assert guide.said(status)[:5] == guide.of_placement("ResourcePlacement", 1)[:5]
    assert guide.untrue(status) == ["ResourcePlacementAvailable"]
    score = guide.of_cluster("cluster-3", ("", ""), score=70)[0]
    assert guide.said(entry)[0] == score
    assert not {"driftedPlacements", "failedPlacements"} & entry.keys()
    made = await world.pods(side)
    assert len(made) == 6
    hub_job, live = await world.job(world.hub), await world.job(side)
    assert hub_job is not None
    assert live is not None
    assert hub_job["status"] == live["status"]
    assert hub_job["status"]["active"] == 3
    assert hub_job["spec"]["suspend"] is True

    await world.world.passes(seconds=30)
    status, entry = (await world.placement())["status"], await world.entry()
    assert guide.said(status) == guide.of_placement("ResourcePlacement", 1)
    assert not guide.untrue(status)
    assert guide.said(entry) == guide.of_cluster("cluster-3", guide.TRACKED, score=70)
    hub_job = await world.job(world.hub)
    assert hub_job is not None
    assert hub_job["status"]["succeeded"] == 3
    told = [(reason, text) for _, reason, text in await world.hub.events("job1-placement")]
    assert told == guide.EVENTS

    await world.world.passes(minutes=10)
    assert await world.job(side) is None
    assert not await world.pods(side)
    assert await ran(world, side) == {each["metadata"]["name"] for each in made}
    for each in (world.hub, *(world.world.members[name] for name in MEMBERS[:2])):
        assert not await ran(world, each)


async def ran(world: Guided, side: Side) -> set[str]:
    """The pods that there ever were of the guide's jobs."""
    events = await side.all(Resource("", "v1", "events", "Event"), SPACE)
    text = "Created pod: "
    return {
        str(each["message"]).removeprefix(text)
        for each in events
        if each["message"].startswith(text)
    }


@pytest.mark.rule("KJ-5")
async def test_without_a_mirror_the_hub_job_stays_as_it_was_and_the_member_forgets_its_own(
    fleet: Fleet,
) -> None:
    world = await guided.start(fleet)
    await world.up_to_jobs()
    await world.place()
    side = await world.chosen()
    await world.world.passes(minutes=10)
    assert await world.job(side) is None
    hub_job = await world.job(world.hub)
    assert hub_job is not None
    (condition,) = hub_job["status"]["conditions"]
    assert (condition["type"], condition["status"]) == ("Suspended", "True")
    status = (await world.placement())["status"]
    assert not guide.untrue(status)


@pytest.mark.rule("KJ-3")
async def test_an_image_that_somebody_changes_on_the_member_is_a_drift_of_just_that(
    fleet: Fleet,
) -> None:
    """A Job's image cannot be edited: `kubectl replace --force` makes the Job anew."""
    world = await guided.start(fleet)
    await world.up_to_jobs()
    await world.place()
    side = await world.chosen()
    await world.world.passes(seconds=5)
    live = await world.job(side)
    assert live is not None
    await side.client.delete(JOB, "mock-workload", SPACE, propagation="Background")
    await side.client.create(with_image(live, "ubuntu:24.04"))
    await world.world.passes(seconds=5)

    entry = await world.entry()
    assert guide.said(entry)[4][:2] == ("Applied", "NotAllWorkHaveBeenApplied")
    (failed,) = entry["failedPlacements"]
    assert failed["condition"]["reason"] == "FoundDrifts"
    (drifted,) = entry["driftedPlacements"]
    assert drifted["observedDrifts"] == [
        {
            "path": "/spec/template/spec/containers/0/image",
            "valueInHub": "ubuntu:22.04",
            "valueInMember": "ubuntu:24.04",
        }
    ]


def with_image(live: Object, image: str) -> Object:
    """The Job as somebody has it in an editor, without what its first life had."""
    own = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields")
    metadata = {key: value for key, value in live["metadata"].items() if key not in own}
    spec = {key: value for key, value in live["spec"].items() if key != "selector"}
    notes = {guided.RUNS: live["spec"]["template"]["metadata"]["annotations"][guided.RUNS]}
    template = {**spec["template"], "metadata": {"annotations": notes}}
    (container,) = template["spec"]["containers"]
    template["spec"] = {**template["spec"], "containers": [{**container, "image": image}]}
    made = {**live, "metadata": metadata, "spec": {**spec, "suspend": True, "template": template}}
    del made["status"]
    return made


@pytest.mark.rule("KJ-3")
@pytest.mark.parametrize("place_first", [True, False])
async def test_a_job_that_is_placed_never_runs_on_the_hub(fleet: Fleet, place_first: bool) -> None:
    """A plain Job: nobody suspends it, and no queue holds it."""
    world = await guided.start(fleet)
    await world.type(*guide.STEPS, guide.CLUSTER_PLACEMENT)
    job, placement = next(guide.submissions(1))
    del job["metadata"]["annotations"]
    order = [placement, job] if place_first else [job, placement]
    for obj in order:
        await world.submit(obj, **({"suspend": False} if obj["kind"] == "Job" else {}))
        if place_first:
            await world.world.settle()
    await world.world.passes(seconds=5)
    assert not [each for each in await world.pods(world.hub) if is_alive(each)]
    side = await world.chosen("job-000-placement")
    assert len(await world.pods(side)) == 3
    if place_first:
        assert not await ran(world, world.hub)
    await world.world.passes(minutes=2)
    assert guide.untrue((await world.placement("job-000-placement"))["status"]) == []


def is_alive(pod: Object) -> bool:
    return pod["status"].get("phase") in ("Pending", "Running")


@pytest.mark.rule("KJ-3", "G-9")
async def test_a_job_that_the_hub_had_started_is_stopped_when_it_is_placed(fleet: Fleet) -> None:
    """The queue of the hub is not placed yet when the job comes."""
    world = await guided.start(fleet)
    await world.type(*guide.STEPS, guide.LOCAL_QUEUE, guide.JOBS)
    await world.world.passes(seconds=5)
    assert len(await world.pods(world.hub)) == 6
    await world.type(guide.CLUSTER_PLACEMENT)
    await world.place()
    await world.world.passes(seconds=5)
    assert not await world.pods(world.hub)
    assert not await world.hub.all(WORKLOADS, SPACE)
    hub_job = await world.job(world.hub)
    assert hub_job is not None
    assert hub_job["spec"]["suspend"] is True
    await world.world.passes(minutes=2)
    for name in ("job1-placement", "job2-placement"):
        status = (await world.placement(name))["status"]
        assert guide.untrue(status) == []


@pytest.mark.rule("G-9")
async def test_the_hub_does_not_run_jobs_whose_placements_went(fleet: Fleet) -> None:
    world = await guided.start(fleet)
    await world.up_to_jobs()
    await world.place()
    await world.world.passes(seconds=5)
    for name in ("job1-placement", "job2-placement", "queue-placement"):
        await world.hub.client.delete(RP, name, SPACE)
    await world.hub.client.delete(CRP, "sample-kueue")
    await world.world.passes(minutes=2)
    assert not await ran(world, world.hub)
    assert not await world.hub.all(WORKLOADS, SPACE)
    for side in world.world.members.values():
        assert not await side.all(POD, SPACE)


@pytest.mark.rule("KJ-9")
async def test_a_queue_that_sends_its_jobs_to_workers_itself_goes_on_when_it_is_placed(
    fleet: Fleet,
) -> None:
    world = await guided.start(fleet)
    await world.type(*guide.STEPS, guide.CLUSTER_PLACEMENT, guide.LOCAL_QUEUE)
    check = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "AdmissionCheck",
        "metadata": {"name": "dispatch"},
        "spec": {"controllerName": "kueue.x-k8s.io/multikueue"},
    }
    await world.hub.create(check)
    checks = {"admissionChecksStrategy": {"admissionChecks": [{"name": "dispatch"}]}}
    await world.hub.client.patch(QUEUE, "cluster-queue", {"spec": checks})
    await world.world.settle()
    await world.type(guide.JOBS)
    found = await world.job(world.hub)
    assert found is not None
    assert found["spec"]["managedBy"] == "kueue.x-k8s.io/multikueue"
    assert labels.PLACED not in found["metadata"]["annotations"]
    await world.place()
    status = (await world.placement())["status"]
    assert not status.get("selectedResources")
    told = await world.hub.events("job1-placement")
    assert [each[1] for each in told if each[0] == "Warning"] == ["JobDispatchedByMultiKueue"]


@pytest.mark.rule("G-10")
async def test_jobs_that_come_one_after_the_other_are_spread_and_one_that_fails_hinders_nobody(
    fleet: Fleet,
) -> None:
    world = await guided.start(fleet)
    await world.type(*guide.STEPS, guide.CLUSTER_PLACEMENT, guide.LOCAL_QUEUE)
    await world.type("---\n".join(guide.PLACEMENTS.split("---\n")[:1]))
    chosen: dict[str, str] = {}
    for number, (job, placement) in enumerate(guide.submissions(12)):
        if number == 5:
            placement["spec"]["policy"] = {
                "placementType": "PickFixed",
                "clusterNames": ["nowhere"],
            }
        await world.submit(job)
        await world.submit(placement)
        await world.world.passes(seconds=3)
        entries = (await world.placement(placement["metadata"]["name"]))["status"][
            "placementStatuses"
        ]
        chosen[job["metadata"]["name"]] = entries[0].get("clusterName", "")
    assert chosen.pop("job-005") == ""
    assert set(chosen.values()) == set(MEMBERS)
    await world.world.passes(minutes=3)
    for name in chosen:
        assert guide.untrue((await world.placement(f"{name}-placement"))["status"]) == []
    counts = [list(chosen.values()).count(name) for name in MEMBERS]
    assert max(counts) - min(counts) <= 2, chosen
    assert not await ran(world, world.hub)
