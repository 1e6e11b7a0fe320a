"""Jobs on a member: as KubeFleet treats them, recorded, in the compatible mode; and as jobs, with
their queue, their end and their time to live, otherwise.
"""

from typing import Any

import pytest
from tests.support import delivering
from tests.support.delivering import (
    COMPATIBLE,
    HOME,
    JOBS,
    Delivery,
    Seen,
    entry,
    job,
    message,
    of_manifest,
    said,
    strategy,
)

from fleetqueue.api.fleet import labels
from fleetqueue.fleet import kinds
from fleetqueue.testing import Fleet

Json = dict[str, Any]
SPARING = strategy(whenToApply="IfNotDrifted")
DEGRADED = (
    "Failed to apply the manifest (error: cannot apply manifest: drifts are found between the"
    " manifest and the object from the member cluster in degraded mode (full comparison is"
    " performed instead of partial comparison, as the manifest object is considered to be invalid"
    " by the member cluster API server))"
)
COMPLETE = {
    "startTime": "2026-01-01T00:00:00Z",
    "completionTime": "2026-01-01T00:01:00Z",
    "succeeded": 1,
    "uncountedTerminatedPods": {},
    "conditions": [
        {"type": "SuccessCriteriaMet", "status": "True"},
        {"type": "Complete", "status": "True"},
    ],
}
FAILED = {
    "startTime": "2026-01-01T00:00:00Z",
    "failed": 1,
    "uncountedTerminatedPods": {},
    "conditions": [
        {"type": "FailureTarget", "status": "True"},
        {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "message": "enough"},
    ],
}
UIDS = ("/spec/selector/matchLabels/batch.kubernetes.io~1controller-uid",
        "/spec/template/metadata/labels/batch.kubernetes.io~1controller-uid",
        "/spec/template/metadata/labels/controller-uid")  # fmt: skip


def stripped(**more: Any) -> Json:
    """A suspended Job as a hub's API server stored it, and as it was stripped there."""
    uids = {"batch.kubernetes.io/controller-uid": "hub", "controller-uid": "hub"}
    names = {"batch.kubernetes.io/job-name": "work", "job-name": "work"}
    container = {
        "name": "c",
        "image": "busybox",
        "imagePullPolicy": "Always",
        "resources": {"requests": {"cpu": "1"}},
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "work", "namespace": "app", "labels": {**uids, **names}},
        "spec": {
            "backoffLimit": 6,
            "completionMode": "NonIndexed",
            "completions": 1,
            "manualSelector": False,
            "parallelism": 1,
            "podReplacementPolicy": "TerminatingOrFailed",
            "selector": {"matchLabels": {}},
            "suspend": True,
            "template": {
                "metadata": {"labels": names},
                "spec": {
                    "containers": [container],
                    "dnsPolicy": "ClusterFirst",
                    "restartPolicy": "Never",
                    "schedulerName": "default-scheduler",
                    "securityContext": {},
                    "terminationGracePeriodSeconds": 30,
                },
            },
            **more,
        },
    }


def touched(manifest: Json) -> Json:
    metadata = manifest["metadata"]
    told = {**metadata["labels"], "touched": "yes"}
    return {**manifest, "metadata": {**metadata, "labels": told}}


async def patch_job(
    delivery: Delivery, patch: Json, *, name: str = "train", status: bool = False
) -> None:
    await delivery.member.client.patch(
        JOBS, name, patch, "app", field_manager="by-hand", subresource="status" if status else ""
    )


async def admit(delivery: Delivery, name: str = "train") -> None:
    """As a queue does it."""
    pods = {"nodeSelector": {"pool": "gpu"}, "tolerations": [{"key": "gpu", "operator": "Exists"}]}
    told = {"kueue.x-k8s.io/podset": "main"}
    template = {"metadata": {"labels": told}, "spec": pods}
    await patch_job(delivery, {"spec": {"template": template}}, name=name)
    await patch_job(delivery, {"spec": {"suspend": False}}, name=name)
    await delivery.world.passes(seconds=1)


async def finish(delivery: Delivery, status: Json = COMPLETE, name: str = "train") -> None:
    await patch_job(delivery, {"status": status}, name=name, status=True)
    await delivery.world.passes(seconds=1)


async def live(delivery: Delivery, name: str = "train") -> Json | None:
    return await delivery.member.find(JOBS, name, "app")


def paths(work: Json) -> list[str]:
    return [each["path"] for each in entry(work)["driftDetails"]["observedDrifts"]]


@pytest.mark.rule("APPLY-15")
@pytest.mark.rule("DRIFT-5")
async def test_recorded_an_unsuspended_job_is_spared_and_reported(fleet: Fleet) -> None:
    """Golden kubefleet 03a and 03c."""
    delivery = await delivering.start(fleet, COMPATIBLE)
    seen = Seen(delivery.hub, kinds.WORK, HOME)
    lists = Seen(delivery.member, kinds.APPLIED_WORK, "")
    await delivery.send(stripped(), **SPARING)
    assert said(await delivery.work()) == [
        ("Applied", "True", "AllManifestsApplied"),
        ("Available", "True", "WorkNotTrackable"),
    ]
    work = await delivery.passes(5.5)
    assert of_manifest(work) == [("Applied", "False", "FoundDriftsInDegradedMode")]
    assert message(work) == DEGRADED
    assert entry(work)["conditions"][0]["observedGeneration"] == 1
    assert tuple(paths(work)) == UIDS
    assert entry(work)["driftDetails"]["observedInMemberClusterGeneration"] == 1
    await patch_job(delivery, {"spec": {"suspend": False}}, name="work")
    work = await delivery.passes(5.5)
    assert paths(work) == [UIDS[0], "/spec/suspend", *UIDS[1:]]
    drift = entry(work)["driftDetails"]["observedDrifts"][1]
    assert (drift["valueInHub"], drift["valueInMember"]) == ("true", "false")
    assert entry(work)["conditions"][0]["observedGeneration"] == 2
    first = entry(work)["driftDetails"]["firstDriftedObservedTime"]
    assert first < entry(work)["driftDetails"]["observationTime"]
    work = await delivery.change(touched(stripped()), **SPARING)
    assert of_manifest(work)[0] == ("Applied", "True", "Applied")
    assert entry(work)["conditions"][0]["observedGeneration"] == 3
    found = await live(delivery, "work")
    assert found is not None
    assert found["spec"]["suspend"] is True
    work = await delivery.passes(5.5)
    assert tuple(paths(work)) == UIDS
    states = [each for kind, each in await seen.stop() if "status" in each]
    told = [(said(each), of_manifest(each)[0][2]) for each in states]
    distinct = [each for n, each in enumerate(told) if not n or told[n - 1] != each]
    drifted = ([("Applied", "False", "SomeManifestsAreNotApplied")], "FoundDriftsInDegradedMode")
    good = ([("Applied", "True", "AllManifestsApplied"), ("Available", "True", "WorkNotTrackable")],
            "Applied")  # fmt: skip
    assert distinct == [([], "PreparingToProcess"), good, drifted, good, drifted]
    listed = [len((each.get("status") or {}).get("appliedResources") or ())
              for _, each in await lists.stop()]  # fmt: skip
    assert listed == [0, 1, 0, 1, 0]


@pytest.mark.rule("APPLY-16")
async def test_recorded_an_unsuspended_job_is_suspended_again(fleet: Fleet) -> None:
    """Golden kubefleet 03b."""
    delivery = await delivering.start(fleet, COMPATIBLE)
    await delivery.send(stripped())
    await patch_job(delivery, {"spec": {"suspend": False}}, name="work")
    work = await delivery.passes(5.5)
    found = await live(delivery, "work")
    assert found is not None
    assert (found["spec"]["suspend"], found["metadata"]["generation"]) == (True, 3)
    assert of_manifest(work) == [
        ("Applied", "True", "Applied"),
        ("Available", "True", "NotTrackable"),
    ]
    assert [each["observedGeneration"] for each in entry(work)["conditions"]] == [3, 3]
    work = await delivery.change(touched(stripped()))
    assert [each["observedGeneration"] for each in entry(work)["conditions"]] == [3, 3]
    assert work["status"]["conditions"][0]["observedGeneration"] == 2


async def test_recorded_a_job_that_its_ttl_removed_is_made_again(fleet: Fleet) -> None:
    """Golden kubefleet 04."""
    delivery = await delivering.start(fleet, COMPATIBLE)
    await delivery.send(stripped(ttlSecondsAfterFinished=2), **SPARING)
    first = await live(delivery, "work")
    await patch_job(delivery, {"spec": {"suspend": False}}, name="work")
    await finish(delivery, name="work")
    await delivery.member.client.delete(JOBS, "work", "app", propagation="Background")
    await delivery.passes(10.0)
    second = await live(delivery, "work")
    assert first is not None
    assert second is not None
    assert first["metadata"]["uid"] != second["metadata"]["uid"]
    assert second["spec"]["suspend"] is True


@pytest.mark.rule("KJ-2")
@pytest.mark.rule("KJ-3")
@pytest.mark.parametrize("plan", [SPARING, strategy(), strategy(type="ServerSideApply")])
async def test_what_a_queue_does_to_a_job_is_no_drift_and_stays(fleet: Fleet, plan: Json) -> None:
    delivery = await delivering.start(fleet)
    manifest = stripped()
    manifest["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "q"
    await delivery.send(manifest, **plan)
    await admit(delivery, "work")
    admitted = await live(delivery, "work")
    work = await delivery.passes(60.0)
    assert of_manifest(work)[0] == ("Applied", "True", "Applied")
    assert "driftDetails" not in entry(work)
    assert await live(delivery, "work") == admitted
    work = await delivery.change(touched(manifest), **plan)
    assert of_manifest(work)[0] == ("Applied", "True", "Applied"), message(work)
    found = await live(delivery, "work")
    assert found is not None
    assert admitted is not None
    assert found["metadata"]["labels"]["touched"] == "yes"
    assert found["spec"] == admitted["spec"]


@pytest.mark.rule("KJ-3")
async def test_what_a_user_changes_in_a_queued_job_is_a_drift_as_before(fleet: Fleet) -> None:
    delivery = await delivering.start(fleet)
    manifest = stripped()
    manifest["metadata"]["annotations"] = {"kueue.x-k8s.io/queue-name": "q"}
    await delivery.send(manifest, **SPARING)
    await admit(delivery, "work")
    await patch_job(delivery, {"spec": {"backoffLimit": 1}}, name="work")
    await delivery.world.passes(seconds=1)
    work = await delivery.work()
    assert of_manifest(work)[0] == ("Applied", "False", "FoundDrifts")
    assert paths(work) == ["/spec/backoffLimit"]


@pytest.mark.rule("KJ-2")
async def test_a_job_without_a_queue_is_compared_too_but_for_what_is_generated(
    fleet: Fleet,
) -> None:
    delivery = await delivering.start(fleet)
    plan = strategy(whenToApply="IfNotDrifted", comparisonOption="FullComparison")
    work = await delivery.send(stripped(), **plan)
    work = await delivery.passes(10.0)
    assert of_manifest(work)[0] == ("Applied", "True", "Applied")
    await patch_job(delivery, {"spec": {"suspend": False}}, name="work")
    await delivery.world.passes(seconds=1)
    work = await delivery.work()
    assert of_manifest(work)[0] == ("Applied", "False", "FoundDrifts")
    assert paths(work) == ["/spec/suspend"]


@pytest.mark.rule("KJ-4")
@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (COMPLETE, ("Available", "True", "AllManifestsAvailable")),
        (FAILED, ("Available", "False", "SomeManifestsAreNotAvailable")),
    ],
)
async def test_a_job_is_available_when_it_is_complete(
    fleet: Fleet, status: Json, expected: tuple[str, str, str]
) -> None:
    delivery = await delivering.start(fleet)
    not_yet = ("Available", "False", "SomeManifestsAreNotAvailable")
    work = await delivery.send(job(queue="q"))
    assert said(work)[1] == not_yet
    assert of_manifest(work)[1] == ("Available", "False", "ManifestNotAvailableYet")
    await admit(delivery)
    assert said(await delivery.work())[1] == not_yet
    await finish(delivery, status)
    work = await delivery.work()
    assert said(work)[1] == expected
    if status is FAILED:
        assert entry(work)["conditions"][1]["message"] == (
            "Failed to track the availability of the applied manifest (error ="
            " BackoffLimitExceeded: enough)"
        )


@pytest.mark.rule("KJ-5")
@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("status", [COMPLETE, FAILED])
async def test_a_job_that_ended_and_went_is_not_made_again(
    fleet: Fleet, status: Json, restarts: bool
) -> None:
    delivery = await delivering.start(fleet)
    await delivery.send(job(queue="q", ttlSecondsAfterFinished=60), **SPARING)
    await admit(delivery)
    await finish(delivery, status)
    before = await delivery.work()
    await delivery.member.client.delete(JOBS, "train", "app", propagation="Background")
    if restarts:
        await delivery.restart()
    after = await delivery.passes(120.0)
    assert await live(delivery) is None
    assert said(after) == said(before)
    assert of_manifest(after) == of_manifest(before)
    if restarts:
        return
    changed = job(queue="q", ttlSecondsAfterFinished=60, backoffLimit=1)
    await delivery.change(changed, **SPARING)
    assert await live(delivery) is not None, "another manifest is another job"


@pytest.mark.rule("KJ-5")
async def test_a_job_that_ends_and_goes_at_once_is_not_made_again(fleet: Fleet) -> None:
    delivery = await delivering.start(fleet)
    await delivery.send(job(queue="q", ttlSecondsAfterFinished=0))
    await admit(delivery)
    await patch_job(delivery, {"status": COMPLETE}, status=True)
    await delivery.member.client.delete(JOBS, "train", "app", propagation="Background")
    work = await delivery.passes(60.0)
    assert await live(delivery) is None
    assert said(work)[1] == ("Available", "True", "AllManifestsAvailable")
    assert of_manifest(work)[2] == ("Finished", "True", "Complete")


@pytest.mark.rule("KJ-5")
async def test_a_job_that_ended_and_went_while_the_agent_was_away_is_not_made_again(
    fleet: Fleet,
) -> None:
    delivery = await delivering.start(fleet)
    work = await delivery.send(job(queue="q", ttlSecondsAfterFinished=0))
    assert of_manifest(work)[2] == ("Finished", "False", "Running")
    delivery.gate.close_after(0)
    await delivery.hub.client.patch(kinds.WORK, "w", {"metadata": {"finalizers": None}}, HOME)
    await fleet.passes(seconds=1)
    assert delivery.gate.is_closed
    await patch_job(delivery, {"spec": {"suspend": False}})
    await patch_job(delivery, {"status": COMPLETE}, status=True)
    await delivery.member.client.delete(JOBS, "train", "app", propagation="Background")
    await fleet.passes(seconds=1)
    await delivery.restart()
    work = await delivery.passes(60.0)
    assert await live(delivery) is None
    assert of_manifest(work)[2] == ("Finished", "True", "Gone")


@pytest.mark.rule("KJ-5")
async def test_a_job_that_somebody_deletes_while_it_runs_is_made_again(fleet: Fleet) -> None:
    delivery = await delivering.start(fleet)
    await delivery.send(job(queue="q", ttlSecondsAfterFinished=60), job("plain"))
    await admit(delivery)
    for name in ("train", "plain"):
        await delivery.member.client.delete(JOBS, name, "app", propagation="Background")
    await delivery.world.passes(seconds=1)
    assert await live(delivery) is not None
    assert await live(delivery, "plain") is not None


async def test_a_placement_may_ask_for_the_compatible_mode(fleet: Fleet) -> None:
    delivery = await delivering.start(fleet)
    work = await delivery.send(job(), annotations={labels.KUEUE_AWARE: "false"})
    assert of_manifest(work)[1] == ("Available", "True", "NotTrackable")


@pytest.mark.rule("KJ-4", "KJ-5")
async def test_a_placement_may_ask_for_jobs_as_jobs(fleet: Fleet) -> None:
    """Also for what goes as soon as it has failed."""
    delivery = await delivering.start(fleet, COMPATIBLE)
    annotations = {labels.KUEUE_AWARE: "true"}
    await delivery.send(job(ttlSecondsAfterFinished=0), annotations=annotations)
    await admit(delivery)
    await patch_job(delivery, {"status": FAILED}, status=True)
    await delivery.member.client.delete(JOBS, "train", "app", propagation="Background")
    work = await delivery.passes(60.0)
    assert await live(delivery) is None
    assert of_manifest(work)[1:] == [
        ("Available", "False", "Failed"),
        ("Finished", "True", "Failed"),
    ]


@pytest.mark.parametrize("mode", ["true", "false"])
async def test_a_placement_may_ask_otherwise_later(fleet: Fleet, mode: str) -> None:
    delivery = await delivering.start(fleet)
    work = await delivery.send(job(queue="q"), **SPARING)
    await admit(delivery)
    assert said(work)[0] == ("Applied", "True", "AllManifestsApplied")
    told = {"metadata": {"annotations": {labels.KUEUE_AWARE: mode}}}
    await delivery.hub.client.patch(kinds.WORK, "w", told, HOME)
    applied = of_manifest(await delivery.passes(1000.0))[0]
    drifts = {"true": ("Applied", "True", "Applied"), "false": ("Applied", "False", "FoundDrifts")}
    assert applied[:2] == drifts[mode][:2]
    assert applied[2].startswith(drifts[mode][2])


@pytest.mark.rule("BACK-1")
async def test_the_status_of_a_job_comes_back_and_outlives_it(fleet: Fleet) -> None:
    delivery = await delivering.start(fleet)
    mirror = {"reportBackStrategy": {"type": "Mirror", "destination": "OriginalResource"}}
    await delivery.send(job(), **mirror)
    await finish(delivery)
    back = entry(await delivery.work())["backReportedStatus"]
    assert back["observedStatus"]["kind"] == "Job"
    assert back["observedStatus"]["status"]["succeeded"] == 1
    await delivery.member.client.delete(JOBS, "train", "app", propagation="Background")
    await delivery.world.passes(seconds=1)
    assert entry(await delivery.work())["backReportedStatus"] == back
