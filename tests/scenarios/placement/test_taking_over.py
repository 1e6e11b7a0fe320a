"""Objects that were on the member before the Work: who takes them over, and who does not; and
reports of differences, which change nothing.
"""

from typing import Any

import pytest
from tests.support import delivering
from tests.support.delivering import (
    COMPATIBLE,
    HOME,
    Delivery,
    Seen,
    config_map,
    deployment,
    entry,
    message,
    of_manifest,
    said,
    strategy,
)

from fleetqueue.fleet import kinds
from fleetqueue.kube.resources import CONFIG_MAPS, NAMESPACES
from fleetqueue.testing import Fleet

REPORT = strategy(type="ReportDiff")


async def conf(delivery: Delivery) -> dict[str, Any]:
    return await delivery.member.get(CONFIG_MAPS, "conf", "app")


async def owner(delivery: Delivery) -> dict[str, Any]:
    """An owner that is nobody's AppliedWork."""
    found = await delivery.member.get(NAMESPACES, "app")
    uid = found["metadata"]["uid"]
    return {"apiVersion": "v1", "kind": "Namespace", "name": "app", "uid": uid}


def owned(obj: dict[str, Any], *owners: dict[str, Any]) -> dict[str, Any]:
    return {**obj, "metadata": {**obj["metadata"], "ownerReferences": list(owners)}}


@pytest.mark.rule("APPLY-12")
async def test_an_object_is_taken_over_and_what_nobody_manages_is_kept(fleet: Fleet) -> None:
    delivery = await delivering.start(fleet)
    before = config_map(a="other", kept="1")
    before["metadata"]["labels"] = {"mine": "1"}
    await delivery.member.create(before)
    work = await delivery.send(config_map(a="1"))
    assert of_manifest(work)[0] == ("Applied", "True", "Applied")
    after = await conf(delivery)
    assert after["data"] == {"a": "1", "kept": "1"}
    assert after["metadata"]["labels"] == {"mine": "1"}
    await delivery.delete()
    assert await delivery.member.find(CONFIG_MAPS, "conf", "app") is None


@pytest.mark.rule("APPLY-12")
@pytest.mark.rule("APPLY-19")
async def test_an_object_of_others_is_shared_only_where_that_is_allowed(fleet: Fleet) -> None:
    delivery = await delivering.start(fleet)
    foreign = await owner(delivery)
    await delivery.member.create(owned(config_map(a="other"), foreign))
    work = await delivery.send(config_map(a="1"))
    assert of_manifest(work) == [("Applied", "False", "FailedToTakeOver")]
    assert message(work) == (
        "Failed to apply the manifest (error: failed to take over a pre-existing object: the object"
        " is already owned by some other sources(s) and co-ownership is disallowed"
        " (existingOwnerRefs: [{APIVersion:v1 Kind:Namespace Name:app"
        f" UID:{foreign['uid']} Controller:<nil> BlockOwnerDeletion:<nil>}}]))"
    )
    work = await delivery.change(config_map(a="1"), **strategy(allowCoOwnership=True))
    assert of_manifest(work)[0] == ("Applied", "True", "Applied")
    assert len((await conf(delivery))["metadata"]["ownerReferences"]) == 2
    work = await delivery.change(config_map(a="2"), **strategy(allowCoOwnership=False))
    assert of_manifest(work) == [("Applied", "False", "ManifestApplyFailed")]
    assert message(work).endswith(
        "object is co-owned by multiple objects but co-ownership has been disallowed)"
    )
    await delivery.delete()
    left = await conf(delivery)
    assert left["metadata"]["ownerReferences"] == [foreign]


@pytest.mark.rule("APPLY-12")
@pytest.mark.rule("APPLY-19")
async def test_two_works_never_share_an_object(fleet: Fleet) -> None:
    delivery = await delivering.start(fleet)
    await delivery.send(config_map(a="1"), name="first")
    second = await delivery.send(
        config_map(a="2"), name="second", **strategy(allowCoOwnership=True)
    )
    assert of_manifest(second) == [("Applied", "False", "FailedToTakeOver")]
    assert message(second).endswith("is already owned by another Fleet AppliedWork object)")
    found = await conf(delivery)
    assert [each["name"] for each in found["metadata"]["ownerReferences"]] == ["first"]
    assert found["data"] == {"a": "1"}
    later = await delivery.passes(40.0, "second")
    assert later == second, "the same text was written again"
    await delivery.delete("first")
    later = await delivery.passes(60.0, "second")
    assert of_manifest(later)[0] == ("Applied", "True", "Applied")


@pytest.mark.rule("APPLY-12")
async def test_only_equal_objects_are_taken_over_where_that_is_asked(fleet: Fleet) -> None:
    delivery = await delivering.start(fleet)
    equal = config_map("same", a="1", more="x")
    await delivery.member.create(config_map(a="other"), equal)
    plan = strategy(whenToTakeOver="IfNoDiff")
    work = await delivery.send(config_map(a="1"), config_map("same", a="1"), **plan)
    assert of_manifest(work) == [("Applied", "False", "FailedToTakeOver")]
    assert message(work) == (
        "Failed to apply the manifest (error: cannot take over object: configuration differences"
        " are found between the manifest object and the corresponding object in the member cluster)"
    )
    details = entry(work)["diffDetails"]
    assert details["observedDiffs"] == [
        {"path": "/data/a", "valueInMember": "other", "valueInHub": "1"}
    ]
    assert of_manifest(work, 1)[0] == ("Applied", "True", "Applied")
    assert "ownerReferences" not in (await conf(delivery))["metadata"]
    patch = {"data": {"a": "1"}}
    await delivery.member.client.patch(CONFIG_MAPS, "conf", patch, "app")
    await delivery.world.passes(seconds=1)
    assert of_manifest(await delivery.work())[0] == ("Applied", "True", "Applied")


@pytest.mark.rule("APPLY-14")
async def test_an_object_is_left_alone_where_nothing_is_taken_over(fleet: Fleet) -> None:
    """As recorded: golden kubefleet 08a."""
    delivery = await delivering.start(fleet, COMPATIBLE)
    await delivery.member.create(config_map(a="other"))
    before = await conf(delivery)
    work = await delivery.send(config_map(a="1"), **strategy(whenToTakeOver="Never"))
    assert said(work) == [("Applied", "False", "SomeManifestsAreNotApplied")]
    assert work["status"]["conditions"][0]["message"] == (
        "Failed to apply all manifests (0 of 1 manifests are applied)"
    )
    assert of_manifest(work) == [("Applied", "False", "NotTakenOver")]
    assert message(work) == (
        "Failed to apply the manifest (error: no ownership of the object in the member cluster;"
        " takeover is needed)"
    )
    assert await conf(delivery) == before
    assert "status" not in await delivery.member.get(kinds.APPLIED_WORK, "w")
    await delivery.delete()
    assert await conf(delivery) == before


@pytest.mark.rule("APPLY-13")
async def test_differences_are_reported_and_nothing_is_written_but_the_owner(fleet: Fleet) -> None:
    """As recorded: golden kubefleet 07."""
    delivery = await delivering.start(fleet, COMPATIBLE)
    await delivery.member.create(config_map(a="other"))
    seen = Seen(delivery.hub, kinds.WORK, HOME)
    work = await delivery.send(config_map(a="1"), config_map("missing", a="1"), **REPORT)
    assert said(work) == [("DiffReported", "True", "AllManifestsDiffReported")]
    assert of_manifest(work) == [("DiffReported", "True", "FoundDiff")]
    details = entry(work)["diffDetails"]
    assert details["observedDiffs"] == [
        {"path": "/data/a", "valueInMember": "other", "valueInHub": "1"}
    ]
    assert details["observedInMemberClusterGeneration"] == 0
    missing = entry(work, 1)["diffDetails"]
    assert missing["observedDiffs"] == [{"path": "/", "valueInHub": "(the whole object)"}]
    assert "observedInMemberClusterGeneration" not in missing
    states = [work for _, work in await seen.stop()]
    assert len(states) == 3, "there is nothing to write ahead"
    found = await conf(delivery)
    assert found["data"] == {"a": "other"}
    assert [each["name"] for each in found["metadata"]["ownerReferences"]] == ["w"]
    assert await delivery.member.find(CONFIG_MAPS, "missing", "app") is None
    assert "status" not in await delivery.member.get(kinds.APPLIED_WORK, "w")
    await delivery.member.client.patch(CONFIG_MAPS, "conf", {"data": {"a": "1"}}, "app")
    work = await delivery.passes(6.0)
    assert of_manifest(work) == [("DiffReported", "True", "NoDiffFound")]
    assert "diffDetails" not in entry(work)
    await delivery.delete()
    assert await delivery.member.find(CONFIG_MAPS, "conf", "app") is None


@pytest.mark.rule("APPLY-13")
async def test_a_report_leaves_no_trace_where_nothing_is_taken_over(fleet: Fleet) -> None:
    delivery = await delivering.start(fleet)
    await delivery.member.create(config_map(a="other"))
    before = await conf(delivery)
    work = await delivery.send(
        config_map(a="1"), **strategy(type="ReportDiff", whenToTakeOver="Never")
    )
    assert of_manifest(work) == [("DiffReported", "True", "FoundDiff")]
    assert await conf(delivery) == before
    work = await delivery.change(
        config_map(a="1"), **strategy(type="ReportDiff", whenToTakeOver="IfNoDiff")
    )
    assert said(work) == [("DiffReported", "False", "SomeManifestsHaveNotReportedDiff")]
    assert of_manifest(work) == [("DiffReported", "False", "FailedToTakeOver")]
    assert message(work).startswith(
        "An error blocks the diff reporting process (FailedToTakeOver, error: cannot take over"
    )
    assert await conf(delivery) == before
    await delivery.delete()
    assert await conf(delivery) == before


@pytest.mark.rule("DRIFT-5")
@pytest.mark.rule("AVAIL-2")
async def test_a_manifest_that_the_member_finds_invalid_is_compared_as_a_whole(
    fleet: Fleet,
) -> None:
    delivery = await delivering.start(fleet)
    await delivery.member.create(deployment())
    changed = deployment()
    changed["spec"]["selector"] = {"matchLabels": {"app": "other"}}
    work = await delivery.send(changed, **REPORT)
    assert said(work) == [("DiffReported", "False", "SomeManifestsHaveNotReportedDiff")]
    assert work["status"]["conditions"][0]["message"] == (
        "Failed to report diff on all manifests (0 of 1 manifests have reported diff)"
    )
    assert of_manifest(work) == [("DiffReported", "True", "FoundDiffInDegradedMode")]
    paths = [each["path"] for each in entry(work)["diffDetails"]["observedDiffs"]]
    assert "/spec/selector/matchLabels/app" in paths
    assert "/spec/progressDeadlineSeconds" in paths, "fields that only the member has"
    await delivery.hub.client.delete(kinds.WORK, "w", HOME)
    await delivery.world.settle()
    await delivery.member.create(deployment())
    work = await delivery.send(changed, **strategy(whenToTakeOver="IfNoDiff"))
    assert of_manifest(work) == [("Applied", "False", "FailedToTakeOver")]
    assert message(work).endswith(
        "in the member cluster in degraded mode (full comparison is performed instead of partial"
        " comparison, as the manifest object is considered to be invalid by the member cluster API"
        " server))"
    )


@pytest.mark.rule("DRIFT-6")
async def test_a_comparison_that_fails_is_told(fleet: Fleet) -> None:
    delivery = await delivering.start(fleet)
    await delivery.member.create(config_map(a="other"))
    broken = config_map(a="1")
    broken["data"] = {"a": 1}
    work = await delivery.send(broken, **REPORT)
    assert of_manifest(work) == [("DiffReported", "False", "FailedToReportDiff")]
    assert message(work).startswith(
        "Failed to report the diff between the hub cluster and the member cluster (error = error"
        " returned by the API server: "
    )


@pytest.mark.rule("APPLY-18")
async def test_switching_between_reports_and_applying_changes_what_is_said(fleet: Fleet) -> None:
    delivery = await delivering.start(fleet)
    work = await delivery.send(config_map(a="1"), **REPORT)
    assert [each[0] for each in said(work)] == ["DiffReported"]
    work = await delivery.change(config_map(a="1"), **strategy(type="ClientSideApply"))
    assert [each[0] for each in said(work)] == ["Applied", "Available"]
    assert "diffDetails" not in entry(work)
    work = await delivery.change(config_map(a="1"), **REPORT)
    assert [each[0] for each in said(work)] == ["DiffReported"]
    assert of_manifest(work) == [("DiffReported", "True", "NoDiffFound")]


@pytest.mark.rule("APPLY-13")
async def test_while_differences_are_reported_nothing_is_taken_away(fleet: Fleet) -> None:
    delivery = await delivering.start(fleet)
    await delivery.member.create(config_map(a="other"))
    await delivery.send(config_map(a="1"), deployment(), **REPORT)
    await delivery.change(deployment(), **REPORT)
    await delivery.passes(60.0)
    assert (await conf(delivery))["data"] == {"a": "other"}
    await delivery.delete()
    assert await delivery.member.find(CONFIG_MAPS, "conf", "app") is None


@pytest.mark.rule("APPLY-13")
async def test_what_went_while_differences_were_reported_goes_with_the_next_apply(
    fleet: Fleet,
) -> None:
    delivery = await delivering.start(fleet)
    await delivery.send(config_map(a="1"), deployment())
    await delivery.change(config_map(a="1"), deployment(), **REPORT)
    await delivery.change(deployment(), **REPORT)
    await delivery.restart()
    await delivery.passes(60.0)
    assert (await conf(delivery))["data"] == {"a": "1"}
    await delivery.change(deployment(), **strategy(type="ClientSideApply"))
    assert await delivery.member.find(CONFIG_MAPS, "conf", "app") is None
