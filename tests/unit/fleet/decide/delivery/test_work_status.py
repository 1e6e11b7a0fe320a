"""What a Work says of its manifests, before and after they are applied."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fleetqueue.fleet.decide.delivery import manifests, outcomes, work_status
from fleetqueue.fleet.decide.delivery.availability import AVAILABLE, NOT_TRACKABLE, NOT_YET
from fleetqueue.fleet.decide.delivery.manifests import Manifest
from fleetqueue.fleet.decide.delivery.outcomes import Outcome

Json = dict[str, Any]
NOW = datetime(2026, 1, 1, tzinfo=UTC)
LATER = NOW + timedelta(seconds=30)
WORK: Json = {"metadata": {"name": "w", "generation": 4}, "spec": {}}


def read(*names: str) -> list[Manifest]:
    raws = [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "s"}}
        for name in names
    ]
    found = manifests.read(raws)
    return manifests.checked([each.found_as("configmaps", is_namespaced=True) for each in found])


def live(generation: int = 0, **more: Any) -> Json:
    metadata: Json = {"uid": "u", "generation": generation}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **more}


def status(
    *found: Outcome, work: Json = WORK, now: datetime = NOW, is_report: bool = False,
    reports_back: bool = False,
) -> Json:  # fmt: skip
    return work_status.status(work, found, now, is_report=is_report, reports_back=reports_back)


def told(found: Json) -> list[tuple[str, str, str]]:
    return [(each["type"], each["status"], each["reason"]) for each in found["conditions"]]


def work_with(found: Json) -> Json:
    return {**WORK, "status": found}


@pytest.mark.rule("AVAIL-1")
@pytest.mark.parametrize(
    ("judged", "expected"),
    [
        ([AVAILABLE, AVAILABLE], ("Available", "True", "AllManifestsAvailable")),
        ([AVAILABLE, NOT_TRACKABLE], ("Available", "True", "WorkNotTrackable")),
        ([NOT_YET, NOT_TRACKABLE], ("Available", "False", "SomeManifestsAreNotAvailable")),
    ],
)
def test_what_is_not_available_outranks_what_nobody_can_track(
    judged: list[Any], expected: tuple[str, str, str]
) -> None:
    one, two = read("a", "b")
    found = status(
        Outcome(one, "Applied", live=live(), availability=judged[0]),
        Outcome(two, "Applied", live=live(), availability=judged[1]),
    )
    assert told(found) == [("Applied", "True", "AllManifestsApplied"), expected]


@pytest.mark.rule("AVAIL-1")
@pytest.mark.rule("APPLY-18")
def test_nothing_is_said_of_availability_unless_all_is_applied() -> None:
    one, two = read("a", "b")
    found = status(
        Outcome(one, "Applied", live=live(3), availability=AVAILABLE),
        Outcome(two, "ManifestApplyFailed", "failed to apply the manifest: no"),
    )
    assert told(found) == [("Applied", "False", "SomeManifestsAreNotApplied")]
    assert found["conditions"][0]["message"] == (
        "Failed to apply all manifests (1 of 2 manifests are applied)"
    )
    assert found["conditions"][0]["observedGeneration"] == 4
    first, second = found["manifestConditions"]
    assert told(first) == [("Applied", "True", "Applied"), ("Available", "True", "Available")]
    assert first["conditions"][0]["observedGeneration"] == 3
    assert told(second) == [("Applied", "False", "ManifestApplyFailed")]
    assert "observedGeneration" not in second["conditions"][0]
    assert second["conditions"][0]["message"] == (
        "Failed to apply the manifest (error: failed to apply the manifest: no)"
    )


@pytest.mark.rule("AVAIL-2")
@pytest.mark.rule("APPLY-18")
@pytest.mark.parametrize(
    ("result", "error", "own", "whole", "message"),
    [
        (
            "NoDiffFound", "", "True", "True",
            "No diff has been found between the hub cluster and the member cluster",
        ),
        (
            "FoundDiff", "", "True", "True",
            "Diff has been found between the hub cluster and the member cluster",
        ),
        (
            "FoundDiffInDegradedMode", "", "True", "False",
            "Diff has been found in degraded mode: cannot perform partial comparison as the member"
            " cluster API server rejected the manifest object (object is invalid)",
        ),
        (
            "FailedToReportDiff", "x", "False", "False",
            "Failed to report the diff between the hub cluster and the member cluster (error = x)",
        ),
        (
            "FailedToTakeOver", "x", "False", "False",
            "An error blocks the diff reporting process (FailedToTakeOver, error: x)",
        ),
    ],
)  # fmt: skip
def test_reports_of_differences_are_told(
    result: str, error: str, own: str, whole: str, message: str
) -> None:
    found = status(Outcome(read("a")[0], result, error, live()), is_report=True)
    assert [(each["type"], each["status"]) for each in found["conditions"]] == [
        ("DiffReported", whole)
    ]
    entry = found["manifestConditions"][0]
    assert told(entry) == [("DiffReported", own, result)]
    assert entry["conditions"][0]["message"] == message


@pytest.mark.rule("DRIFT-4")
def test_when_a_drift_was_first_seen_is_kept_while_it_lasts() -> None:
    drifted = Outcome(read("a")[0], "FoundDrifts", "e", live(7), drifts=({"path": "/data/a"},))
    first = status(drifted)
    details = first["manifestConditions"][0]["driftDetails"]
    assert details == {
        "firstDriftedObservedTime": "2026-01-01T00:00:00Z",
        "observationTime": "2026-01-01T00:00:00Z",
        "observedInMemberClusterGeneration": 7,
        "observedDrifts": [{"path": "/data/a"}],
    }
    second = status(drifted, work=work_with(first), now=LATER)
    later = second["manifestConditions"][0]["driftDetails"]
    assert later["firstDriftedObservedTime"] == "2026-01-01T00:00:00Z"
    assert later["observationTime"] == "2026-01-01T00:00:30Z"
    equal = status(Outcome(read("a")[0], "Applied", live=live(7), availability=AVAILABLE),
                   work=work_with(second), now=LATER)  # fmt: skip
    assert "driftDetails" not in equal["manifestConditions"][0]
    again = status(drifted, work=work_with(equal), now=LATER)
    assert again["manifestConditions"][0]["driftDetails"]["firstDriftedObservedTime"] == (
        "2026-01-01T00:00:30Z"
    )


def test_the_same_seen_again_at_once_is_not_told_again() -> None:
    drifted = Outcome(read("a")[0], "FoundDrifts", "e", live(7), drifts=({"path": "/data/a"},))
    first = status(drifted)
    assert status(drifted, work=work_with(first), now=NOW + timedelta(seconds=1)) == first


@pytest.mark.rule("DRIFT-4")
def test_a_difference_of_an_object_that_is_not_there_has_no_generation() -> None:
    missing = Outcome(read("a")[0], "FoundDiff", diffs=({"path": "/"},))
    details = status(missing, is_report=True)["manifestConditions"][0]["diffDetails"]
    assert "observedInMemberClusterGeneration" not in details
    there = Outcome(read("a")[0], "FoundDiff", live=live(), diffs=({"path": "/data"},))
    details = status(there, is_report=True)["manifestConditions"][0]["diffDetails"]
    assert details["observedInMemberClusterGeneration"] == 0


@pytest.mark.rule("APPLY-4")
def test_new_manifests_are_written_down_before_they_are_touched() -> None:
    found = work_status.ahead(WORK, read("a"), NOW)
    assert found == {
        "conditions": [],
        "manifestConditions": [
            {
                "identifier": {
                    "ordinal": 0,
                    "version": "v1",
                    "kind": "ConfigMap",
                    "resource": "configmaps",
                    "namespace": "s",
                    "name": "a",
                },
                "conditions": [
                    {
                        "type": "Applied",
                        "status": "False",
                        "reason": "PreparingToProcess",
                        "message": "The manifest is being prepared for processing.",
                        "observedGeneration": 4,
                        "lastTransitionTime": "2026-01-01T00:00:00Z",
                    }
                ],
            }
        ],
    }
    known = work_with(found)
    assert work_status.ahead(known, read("a"), LATER) is None
    both = work_status.ahead(known, read("b", "a"), LATER)
    assert both is not None
    entries = both["manifestConditions"]
    assert [each["identifier"]["ordinal"] for each in entries] == [0, 1]
    assert entries[1]["conditions"] == found["manifestConditions"][0]["conditions"]


@pytest.mark.rule("APPLY-5")
def test_what_a_work_no_longer_has_is_left_over() -> None:
    found = status(
        *(Outcome(each, each.problem or "Applied", live=live(), availability=AVAILABLE)
          for each in read("a", "b", "b", ""))
    )  # fmt: skip
    left = work_status.left_over(work_with(found), read("a"))
    assert [each.name for each in left] == ["b"]


@pytest.mark.rule("AVAIL-3")
def test_a_status_that_is_too_long_is_cut() -> None:
    drifts = tuple({"path": f"/data/{n}", "valueInHub": "x" * 20_000} for n in range(80))
    found = status(
        Outcome(read("a")[0], "FoundDrifts", "e", live(status={"a": 1}), drifts=drifts),
        reports_back=True,
    )
    entry = found["manifestConditions"][0]
    assert entry["driftDetails"]["observedDrifts"] == [
        {
            "path": "/data/0 and 79 more path(s)",
            "valueInMember": "(omitted)",
            "valueInHub": "(omitted)",
        }
    ]
    assert "backReportedStatus" not in entry
    assert told(found)[-1] == ("StatusTrimmed", "True", "Oversized")
    assert found["conditions"][-1]["message"].endswith("bytes over limit 1415578)")


@pytest.mark.rule("BACK-1")
def test_the_status_of_an_object_comes_back() -> None:
    shown = Outcome(read("a")[0], "Applied", live=live(status={"n": 1}), availability=AVAILABLE)
    found = status(shown, reports_back=True)
    back = found["manifestConditions"][0]["backReportedStatus"]
    assert back == {
        "observedStatus": {"apiVersion": "v1", "kind": "ConfigMap", "status": {"n": 1}},
        "observationTime": "2026-01-01T00:00:00Z",
    }
    again = status(shown, work=work_with(found), now=LATER, reports_back=True)
    assert again["manifestConditions"][0]["backReportedStatus"] == back
    gone = Outcome(read("a")[0], "Applied", availability=AVAILABLE)
    last = status(gone, work=work_with(found), now=LATER, reports_back=True)
    assert last["manifestConditions"][0]["backReportedStatus"] == back
    assert "backReportedStatus" not in status(shown)["manifestConditions"][0]


def test_an_applied_work_lists_what_is_applied_and_there() -> None:
    a, b, c = read("a", "b", "c")
    found = work_status.applied_resources(
        [
            Outcome(a, "Applied", live=live()),
            Outcome(b, "FoundDrifts", live=live()),
            Outcome(c, "Applied"),
        ]
    )
    assert [(each["name"], each["uid"]) for each in found] == [("a", "u")]


def test_a_generation_of_zero_is_not_said() -> None:
    condition = outcomes.made("Applied", True, "r", "m", 0, NOW)
    assert "observedGeneration" not in condition
