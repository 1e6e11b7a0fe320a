"""What a binding says of its delivery."""

from datetime import UTC, datetime
from typing import Any

import pytest

from fleetqueue.fleet.decide import binding_status
from fleetqueue.fleet.decide.binding_status import COMPATIBLE, PLAIN, Sync, Told, Wording

Json = dict[str, Any]
NOW = datetime(2026, 1, 1, tzinfo=UTC)
OLD = "2025-12-31T00:00:00Z"
APPLIED = ("Applied", "True", "AllManifestsApplied")
AVAILABLE = ("Available", "True", "AllManifestsAvailable")
NOT_APPLIED = ("Applied", "False", "SomeManifestsAreNotApplied")
NOT_AVAILABLE = ("Available", "False", "SomeManifestsAreNotAvailable")
UNTRACKED = ("Available", "True", "WorkNotTrackable")
REPORTED = ("DiffReported", "True", "AllManifestsDiffReported")
NOT_REPORTED = ("DiffReported", "False", "SomeManifestsHaveNotReportedDiff")
SYNCED = "WorkSynchronized=True/AllWorkSynced"
FINE = ["Overridden=True/NoOverrideSpecified", SYNCED]


def binding(*conditions: Json, **spec: Any) -> Json:
    rollout = {"type": "RolloutStarted", "status": "True", "observedGeneration": 3}
    return {
        "metadata": {"name": "b", "generation": 3},
        "spec": {"applyStrategy": {"type": "ClientSideApply"}, **spec},
        "status": {"conditions": [rollout, *conditions]},
    }


def work(
    name: str, *told: tuple[str, str, str], seen: int = 2, manifests: list[Json] | None = None
) -> Json:
    conditions = [
        {"type": type, "status": status, "reason": reason, "observedGeneration": seen}
        for type, status, reason in told
    ]
    status = {"conditions": conditions, "manifestConditions": manifests or []}
    return {"metadata": {"name": name, "generation": 2}, "status": status}


def manifest(name: str, **more: Any) -> Json:
    identifier = {"version": "v1", "kind": "ConfigMap", "name": name, "namespace": "web"}
    told = more.pop("applied", "True"), more.pop("available", "")
    conditions = [
        {"type": type, "status": status, "reason": "r"}
        for type, status in zip(("Applied", "Available"), told, strict=True)
        if status
    ]
    return {"identifier": {**identifier, "ordinal": 0}, "conditions": conditions, **more}


def said(status: Json) -> list[str]:
    return [
        f"{each['type']}={each['status']}/{each['reason']}"
        for each in status["conditions"]
        if each["type"] != "RolloutStarted"
    ]


def message(status: Json) -> str:
    return str(status["conditions"][-1]["message"])


# fmt: off
STATES = {
    "all is well": (
        [work("a", APPLIED, AVAILABLE), work("b", APPLIED, AVAILABLE)],
        ["Applied=True/AllWorkHaveBeenApplied", "Available=True/AllWorkAreAvailable"],
        "All corresponding work objects are available"),
    "one is not seen yet": (
        [work("b"), work("a"), work("c", NOT_APPLIED)],
        ["Applied={}/NotAllWorkHaveBeenApplied"],
        "Work object a has not yet completed the apply op"),
    "one was seen before it changed": (
        [work("a", APPLIED, AVAILABLE, seen=1)],
        ["Applied={}/NotAllWorkHaveBeenApplied"],
        "Work object a has not yet completed the apply op"),
    "one failed": (
        [work("a", APPLIED, AVAILABLE), work("c", NOT_APPLIED), work("b", NOT_APPLIED)],
        ["Applied=False/NotAllWorkHaveBeenApplied"],
        "Work object b has failed to apply"),
    "one is not available": (
        [work("a", APPLIED, UNTRACKED), work("b", APPLIED, NOT_AVAILABLE)],
        ["Applied=True/AllWorkHaveBeenApplied", "Available=False/NotAllWorkAreAvailable"],
        "Work object b is not yet available"),
    "one was not checked": (
        [work("a", APPLIED), work("b", APPLIED, NOT_AVAILABLE)],
        ["Applied=True/AllWorkHaveBeenApplied", "Available=False/NotAllWorkAreAvailable"],
        "Work object a has not yet completed availability check"),
    "one cannot be tracked": (
        [work("a", APPLIED, AVAILABLE), work("b", APPLIED, UNTRACKED)],
        ["Applied=True/AllWorkHaveBeenApplied",
         "Available=True/NotAllWorkAreAvailabilityTrackable"],
        "The availability of work object b is not trackable"),
}
REPORTS = {
    "all reported": ([work("a", REPORTED)], "DiffReported=True/AllWorkHaveDiffReported",
        "All corresponding work objects have reported diff"),
    "one has not": ([work("a"), work("b", NOT_REPORTED)],
        "DiffReported=False/NotAllWorkHaveDiffReported",
        "Work object a has not yet completed diff reporting"),
    "one failed": ([work("a", REPORTED), work("b", NOT_REPORTED)],
        "DiffReported=False/NotAllWorkHaveDiffReported",
        "Work object b has failed to report diff"),
}
# fmt: on


@pytest.mark.rule("GEN-5")
@pytest.mark.rule("GEN-8")
@pytest.mark.parametrize(("works", "told", "text"), STATES.values(), ids=STATES)
@pytest.mark.parametrize(("wording", "waiting"), [(PLAIN, "Unknown"), (COMPATIBLE, "False")])
def test_how_a_binding_stands_is_told_from_its_works(
    works: list[Json],
    told: list[str],
    text: str,
    wording: binding_status.Wording,
    waiting: str,
) -> None:
    status = binding_status.status(binding(), Sync(), works, NOW, wording)
    assert said(status) == [*FINE, *(each.format(waiting) for each in told)]
    assert message(status) == text
    assert {each["observedGeneration"] for each in status["conditions"]} == {3}


@pytest.mark.rule("GEN-5")
@pytest.mark.rule("GEN-6")
@pytest.mark.parametrize(("works", "told", "text"), REPORTS.values(), ids=REPORTS)
def test_a_report_of_differences_is_told_instead(works: list[Json], told: str, text: str) -> None:
    old = [{"type": type, "status": "True"} for type in ("Applied", "Available")]
    before = binding(*old, applyStrategy={"type": "ReportDiff"})
    status = binding_status.status(before, Sync(), works, NOW)
    assert said(status) == [*FINE, told]
    assert message(status) == text


@pytest.mark.rule("GEN-6")
def test_the_report_goes_when_objects_are_applied_again() -> None:
    before = binding({"type": "DiffReported", "status": "True"})
    status = binding_status.status(before, Sync(), [work("a", APPLIED, AVAILABLE)], NOW)
    assert "DiffReported" not in {each["type"] for each in status["conditions"]}


@pytest.mark.rule("GEN-5")
def test_later_steps_are_not_told_while_an_earlier_one_failed() -> None:
    old = [
        {"type": type, "status": "True", "observedGeneration": 2}
        for type in ("Overridden", "WorkSynchronized", "Applied", "Available")
    ]
    works = [work("a", APPLIED, AVAILABLE)]
    status = binding_status.status(binding(*old), Sync(override_problem="x"), works, NOW)
    assert said(status) == ["Overridden=False/OverriddenFailed"]
    assert message(status) == "Failed to apply the override rules on the resources: x"
    status = binding_status.status(binding(*old), Sync(problem="y"), works, NOW)
    assert said(status) == [FINE[0], "WorkSynchronized=False/SyncWorkFailed"]
    assert message(status) == "Failed to synchronize the work to the latest: y"


@pytest.mark.rule("GEN-5")
def test_overrides_that_were_used_are_told() -> None:
    for name in ("resourceOverrideSnapshots", "clusterResourceOverrideSnapshots"):
        status = binding_status.status(binding(**{name: ["o"]}), Sync(), [], NOW)
        assert said(status)[0] == "Overridden=True/OverriddenSucceeded"


@pytest.mark.rule("GEN-5")
def test_kubefleet_announces_that_works_changed() -> None:
    sync, works = Sync(has_changed=True), [work("a")]
    status = binding_status.status(binding(), sync, works, NOW, COMPATIBLE)
    assert said(status)[-1] == "Applied=False/ApplyInProgress"
    assert message(status) == "Resources are being applied"
    report = binding(applyStrategy={"type": "ReportDiff"})
    status = binding_status.status(report, sync, works, NOW, COMPATIBLE)
    assert said(status)[-1] == "DiffReported=False/DiffReportInProgress"
    assert message(status) == "Diff reporting on resources is in progress"
    status = binding_status.status(binding(), sync, works, NOW, PLAIN)
    assert said(status)[-1] == "Applied=Unknown/NotAllWorkHaveBeenApplied"


def test_a_status_that_says_the_same_is_equal() -> None:
    works = [work("a", APPLIED, AVAILABLE)]
    first = binding_status.status(binding(), Sync(), works, NOW)
    later = NOW.replace(year=2027)
    assert binding_status.status({**binding(), "status": first}, Sync(), works, later) == first


@pytest.mark.rule("ROLL-4")
@pytest.mark.parametrize(
    ("generation", "is_same", "is_old"),
    [(3, False, True), (2, False, False), (2, True, True)],
    ids=["of this generation", "of another one", "of another one, on the same Works"],
)
def test_word_on_other_works_lends_no_time(generation: int, is_same: bool, is_old: bool) -> None:
    first = binding_status.status(binding(), Sync(), [work("a", APPLIED, UNTRACKED)], NOW)
    for each in first["conditions"]:
        each["observedGeneration"] = generation
    later, before = NOW.replace(year=2027), {**binding(), "status": first}
    sync, works = Sync(is_same=is_same), [work("a", APPLIED, UNTRACKED)]
    status = binding_status.status(before, sync, works, later)
    assert said(status) == said(first)
    times = {each["type"]: each.get("lastTransitionTime") for each in status["conditions"]}
    year = "2026" if is_old else "2027"
    assert times["Applied"] == times["Available"] == f"{year}-01-01T00:00:00Z"
    assert times["WorkSynchronized"] == "2026-01-01T00:00:00Z", "the hub's own word"


def test_what_went_wrong_before_is_remembered() -> None:
    for sync in (Sync(override_problem="x"), Sync(problem="y"), Sync()):
        status = binding_status.status(binding(), sync, [work("a")], NOW)
        assert binding_status.remembered({**binding(), "status": status}) == sync


DRIFT = {
    "observationTime": "t2",
    "observedInMemberClusterGeneration": 5,
    "firstDriftedObservedTime": "t1",
    "observedDrifts": [{"path": "/data/a"}],
}
DIFF = {
    "observationTime": "t2",
    "firstDiffedObservedTime": "t1",
    "observedDiffs": [{"path": "/"}],
}
MANIFESTS = [
    manifest("bad", applied="False"),
    manifest("late", available="False"),
    manifest("fine", available="True"),
    manifest("moved", driftDetails=DRIFT),
    manifest("other", diffDetails=DIFF),
]
# fmt: off
LISTS = {  #                       told of the Work               failed           drifted  diffed
    "nothing is finished":       ((),                             [],              False,   False),
    "an older one is told of":   ("stale",                        [],              False,   False),
    "not applied":               ((NOT_APPLIED,),                 ["bad", "late"], True,    True),
    "applied, not checked":      ((APPLIED,),                     [],              True,    False),
    "not available":             ((APPLIED, NOT_AVAILABLE),       ["bad", "late"], True,    False),
    "applied and available":     ((APPLIED, AVAILABLE),           [],              True,    False),
}
# fmt: on


@pytest.mark.rule("GEN-7")
@pytest.mark.parametrize(("told", "failed", "drifted", "diffed"), LISTS.values(), ids=LISTS)
def test_which_objects_are_listed(
    told: Any, failed: list[str], drifted: bool, diffed: bool
) -> None:
    found = (
        work("a", NOT_APPLIED, seen=1, manifests=MANIFESTS)
        if told == "stale"
        else work("a", *told, manifests=MANIFESTS)
    )
    for wording in (PLAIN, COMPATIBLE):
        status = binding_status.status(binding(), Sync(), [found], NOW, wording)
        assert [each["name"] for each in status.get("failedPlacements", [])] == failed
        assert ("driftedPlacements" in status) is drifted
        assert ("diffedPlacements" in status) is diffed


@pytest.mark.rule("GEN-7")
def test_a_report_lists_differences_only_when_all_reported() -> None:
    report = binding(applyStrategy={"type": "ReportDiff"})
    done = work("a", REPORTED, manifests=MANIFESTS)
    status = binding_status.status(report, Sync(), [done], NOW)
    assert [name for name in status if name != "conditions"] == ["diffedPlacements"]
    status = binding_status.status(report, Sync(), [done, work("b", NOT_REPORTED)], NOW)
    assert list(status) == ["conditions"]


@pytest.mark.rule("GEN-7")
@pytest.mark.rule("ENV-5")
def test_entries_name_the_object_its_envelope_and_what_is_wrong() -> None:
    found = work("a", NOT_APPLIED, manifests=MANIFESTS)
    found["metadata"]["labels"] = {
        "kubernetes-fleet.io/envelope-work": "ResourceEnvelope",
        "kubernetes-fleet.io/envelope-name": "e",
        "kubernetes-fleet.io/envelope-namespace": "web",
    }
    status = binding_status.status(binding(), Sync(), [found], NOW)
    identity = {
        "version": "v1",
        "kind": "ConfigMap",
        "namespace": "web",
        "envelope": {"name": "e", "namespace": "web", "type": "ResourceEnvelope"},
    }
    assert status["failedPlacements"][0] == {
        **identity,
        "name": "bad",
        "condition": {"type": "Applied", "status": "False", "reason": "r"},
    }
    assert status["driftedPlacements"] == [
        {
            **identity,
            "name": "moved",
            "observationTime": "t2",
            "targetClusterObservedGeneration": 5,
            "firstDriftedObservedTime": "t1",
            "observedDrifts": [{"path": "/data/a"}],
        }
    ]
    assert status["diffedPlacements"] == [
        {
            **identity,
            "name": "other",
            "observationTime": "t2",
            "firstDiffedObservedTime": "t1",
            "observedDiffs": [{"path": "/"}],
        }
    ]


@pytest.mark.rule("GEN-7")
def test_no_more_than_a_hundred_are_listed_and_drifts_are_sorted_before() -> None:
    names = [f"c{number:03}" for number in range(150, 0, -1)]
    found = [manifest(name, applied="False", driftDetails=DRIFT) for name in names]
    works = [work("a", NOT_APPLIED, manifests=found)]
    status = binding_status.status(binding(), Sync(), works, NOW)
    assert [each["name"] for each in status["failedPlacements"]] == names[:100]
    assert [each["name"] for each in status["driftedPlacements"]] == sorted(names)[:100]


def test_works_on_their_way_out_do_not_count() -> None:
    leaving = work("a", NOT_APPLIED, manifests=MANIFESTS)
    leaving["metadata"]["deletionTimestamp"] = OLD
    works = [leaving, work("b", APPLIED, AVAILABLE)]
    status = binding_status.status(binding(), Sync(), works, NOW)
    assert said(status)[-1] == "Available=True/AllWorkAreAvailable"


@pytest.mark.rule("GEN-5", "GEN-7", "GEN-8")
@pytest.mark.parametrize(("wording", "waiting"), [(PLAIN, "Unknown"), (COMPATIBLE, "False")])
def test_works_that_are_awaited_are_not_applied(wording: Wording, waiting: str) -> None:
    failed = work("b", NOT_APPLIED, manifests=MANIFESTS)
    for works, names, late in (
        ([work("b", APPLIED, AVAILABLE)], "c", "c"),
        ([failed], "dc", "c"),
        ([work("b")], "c", "b"),
        ([], "c", "c"),
    ):
        sync = Sync(awaited=frozenset(names))
        status = binding_status.status(binding(), sync, works, NOW, wording)
        assert said(status) == [*FINE, f"Applied={waiting}/NotAllWorkHaveBeenApplied"]
        assert message(status) == f"Work object {late} has not yet completed the apply op"
        assert list(status) == ["conditions"]


@pytest.mark.rule("GEN-5", "GEN-7")
def test_works_that_are_awaited_have_reported_nothing() -> None:
    report = binding(applyStrategy={"type": "ReportDiff"})
    done = work("b", REPORTED, manifests=MANIFESTS)
    status = binding_status.status(report, Sync(awaited=frozenset("dc")), [done], NOW)
    assert said(status) == [*FINE, "DiffReported=False/NotAllWorkHaveDiffReported"]
    assert message(status) == "Work object c has not yet completed diff reporting"
    assert list(status) == ["conditions"]


@pytest.mark.rule("GEN-5")
def test_where_all_works_are_on_their_way_out_nothing_is_applied() -> None:
    leaving = [work(name, APPLIED, AVAILABLE) for name in "ba"]
    for each in leaving:
        each["metadata"]["deletionTimestamp"] = OLD
    status = binding_status.status(binding(), Sync(), leaving, NOW)
    assert message(status) == "Work object a has not yet completed the apply op"


@pytest.mark.rule("KJ-6")
def test_whether_statuses_go_back_is_told_beside_the_rest() -> None:
    back = Told("StatusBackReported", "False", "BackReportingRefused", "why")
    works = [work("a", APPLIED, AVAILABLE)]
    status = binding_status.status(binding(), Sync(back_report=back), works, NOW)
    assert said(status)[-1] == "StatusBackReported=False/BackReportingRefused"
    after = binding_status.status({**binding(), "status": status}, Sync(), works, NOW)
    assert said(after)[-1] == "Available=True/AllWorkAreAvailable"


def test_only_an_apply_that_nobody_has_ended_is_under_way() -> None:
    def is_under_way(*told: tuple[str, str, str], wording: Wording = PLAIN) -> bool:
        made = binding_status.status(binding(), Sync(), [work("w", *told)], NOW, wording)
        return binding_status.is_under_way(made)

    assert is_under_way()
    assert not is_under_way(NOT_APPLIED)
    assert not is_under_way(APPLIED)
    assert not is_under_way(APPLIED, AVAILABLE)
    assert not is_under_way(wording=COMPATIBLE), "KubeFleet calls it a failure"
