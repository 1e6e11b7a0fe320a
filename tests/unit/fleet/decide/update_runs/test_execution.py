"""How a run goes on, pass by pass."""

from datetime import timedelta
from typing import Any

import pytest
from tests.support import running
from tests.support.running import (
    APPROVAL,
    NOW,
    after,
    begun,
    binding,
    bound,
    go_on,
    message,
    placement,
    policy,
    request,
    said,
    stage,
    strategy,
    waiting,
)

from fleetqueue.fleet.decide.update_runs import validity
from fleetqueue.fleet.decide.update_runs.execution import Pass
from fleetqueue.fleet.decide.update_runs.scene import Ground, Scene
from fleetqueue.fleet.decide.update_runs.stages import Invalid

Json = dict[str, Any]
ONE = strategy(stage("one"))
TRIO = {"a": "one", "b": "one", "c": "one"}
LATER = NOW + timedelta(seconds=301)


def clusters(move_status: Json, at: int = 0) -> dict[str, list[str]]:
    found = move_status["stagesStatus"][at]["clusters"]
    return {each["clusterName"]: said(each) for each in found}


@pytest.mark.rule("RUN-11")
@pytest.mark.rule("RUN-13")
def test_clusters_change_in_order_and_so_many_at_a_time() -> None:
    start = begun(strategy(stage("one", maxConcurrency=2)), TRIO)
    move = go_on(start, *(binding(name) for name in TRIO))
    assert [each.binding["spec"]["targetCluster"] for each in move.bind] == ["a", "b"]
    assert move.bind[0].spec == {
        **binding("a")["spec"],
        "state": "Bound",
        "resourceSnapshotName": "p-0-snapshot",
        "applyStrategy": running.APPLY,
    }
    assert move.bind[0].message == (
        "Detected the new changes on the resources and started the rollout process,"
        " resourceSnapshotIndex: , updateRun: r"
    )
    assert clusters(move.status) == {
        "a": ["Started=True/ClusterUpdatingStarted"],
        "b": ["Started=True/ClusterUpdatingStarted"],
        "c": [],
    }
    assert said(move.status["stagesStatus"][0]) == ["Progressing=True/StageUpdatingStarted"]
    assert said(move.status)[-1] == "Progressing=True/UpdateRunProgressing"
    assert move.status["stagesStatus"][0]["startTime"] == "2026-01-01T12:00:00Z"

    second = go_on(after(start, move), bound("a"), bound("b", "Available"), binding("c"))
    assert [each.binding["spec"]["targetCluster"] for each in second.bind] == ["c"]
    assert "Succeeded=True/ClusterUpdatingSucceeded" in clusters(second.status)["b"]
    assert second.updated_seconds == [0.0]


@pytest.mark.rule("RUN-13")
def test_a_cluster_that_has_it_all_is_just_marked() -> None:
    start = begun(ONE, {"a": "one"})
    first = go_on(start, bound("a", "Available"))
    assert first.bind == []
    second = go_on(after(start, first), bound("a", "Available"))
    assert said(second.status["stagesStatus"][0]) == [
        "Progressing=False/StageUpdatingSucceeded",
        "Succeeded=True/StageUpdatingSucceeded",
    ]
    third = go_on(after(start, second), bound("a", "Available"))
    assert said(third.status)[1:] == [
        "Progressing=False/UpdateRunSucceeded",
        "Succeeded=True/UpdateRunSucceeded",
    ]


@pytest.mark.rule("RUN-13")
@pytest.mark.parametrize("told", ["Available", "DiffReported"])
def test_a_cluster_is_done_when_its_binding_says_so_of_itself_as_it_is(told: str) -> None:
    start = begun(ONE, {"a": "one"})
    first = after(start, go_on(start, binding("a")))
    stale = bound("a", told)
    stale["status"]["conditions"][-1]["observedGeneration"] = 0
    waiting_on = go_on(first, stale)
    assert clusters(waiting_on.status)["a"] == ["Started=True/ClusterUpdatingStarted"]
    done = go_on(first, bound("a", told))
    assert clusters(done.status)["a"][-1] == "Succeeded=True/ClusterUpdatingSucceeded"


@pytest.mark.rule("RUN-13")
def test_a_failed_apply_is_waited_on() -> None:
    start = begun(ONE, {"a": "one"})
    first = after(start, go_on(start, binding("a")))
    failed = bound("a")
    failed["status"]["conditions"].append(
        {"type": "Applied", "status": "False", "observedGeneration": 1}
    )
    assert said(go_on(first, failed).status)[-1] == "Progressing=True/UpdateRunProgressing"


@pytest.mark.rule("RUN-14")
def test_a_run_is_stuck_after_five_minutes_and_recovers() -> None:
    members = dict.fromkeys("abcd", "one")
    start = begun(strategy(stage("one", maxConcurrency="100%")), members)
    first = go_on(start, *map(binding, members))
    assert first.after == 300.0
    started = after(start, first)
    soon = go_on(started, *map(bound, members), now=NOW + timedelta(seconds=100))
    assert soon.after == 200.0
    stuck = go_on(started, *map(bound, members), now=LATER)
    assert said(stuck.status)[-1] == "Progressing=False/UpdateRunStuck"
    assert message(stuck.status, "Progressing") == (
        "The updateRun is stuck waiting for a, b, c... cluster(s) in stage one to finish updating,"
        " please check placement status for potential errors"
    )
    well = [bound(name, "Available") for name in members]
    healed = go_on(after(start, stuck), *well, now=LATER)
    assert said(healed.status)[-1] == "Progressing=True/UpdateRunProgressing"


GATED = strategy(stage("one", before=[APPROVAL]), stage("two"))


@pytest.mark.rule("RUN-12")
@pytest.mark.rule("RUN-30")
def test_a_stage_asks_before_it_begins() -> None:
    start = begun(GATED, {"a": "one", "b": "two"})
    found = [binding("a"), binding("b")]
    asking = go_on(start, *found)
    assert asking.bind == []
    assert asking.request == [
        {
            "metadata": {
                "name": "r-before-one",
                "labels": {
                    "kubernetes-fleet.io/targetUpdateRun": "r",
                    "kubernetes-fleet.io/targetUpdatingStage": "one",
                    "kubernetes-fleet.io/taskType": "beforeStage",
                    "kubernetes-fleet.io/isLatestUpdateRunApproval": "true",
                },
            },
            "spec": {"parentStageRollout": "r", "targetStage": "one"},
        }
    ]
    first = asking.status["stagesStatus"][0]
    assert message(first, "Progressing") == (
        "Not all before-stage tasks are completed, waiting for approval"
    )
    assert message(asking.status, "Progressing") == (
        "The updateRun is waiting for before-stage tasks in stage one to complete"
    )
    asked = after(start, asking)
    unseen = go_on(asked, *found, r_before_one=request("r-before-one", "one", "Approved", seen=0))
    assert (unseen.bind, unseen.request, unseen.accept) == ([], [], [])
    approved = request("r-before-one", "one", "Approved")
    noted = go_on(asked, *found, r_before_one=approved)
    assert (noted.accept, noted.bind) == ([approved], [])
    assert said(noted.status)[-1:] == ["Progressing=True/UpdateRunProgressing"]
    task = noted.status["stagesStatus"][0]["beforeStageTaskStatus"][0]
    assert said(task) == [
        "ApprovalRequestCreated=True/StageTaskApprovalRequestCreated",
        "ApprovalRequestApproved=True/StageTaskApprovalRequestApproved",
    ]
    going = go_on(after(asked, noted), *found, r_before_one=approved)
    assert [each.binding["spec"]["targetCluster"] for each in going.bind] == ["a"]


@pytest.mark.rule("RUN-30")
def test_an_accepted_approval_stays_whatever_becomes_of_the_request() -> None:
    start = begun(GATED, {"a": "one", "b": "two"})
    found = [binding("a"), binding("b")]
    accepted = request("r-before-one", "one", "ApprovalAccepted")
    noted = go_on(start, *found, r_before_one=accepted)
    assert noted.accept == []
    going = go_on(after(start, noted), *found, r_before_one=accepted)
    assert len(going.bind) == 1
    without = go_on(after(start, going), bound("a"), binding("b"))
    assert without.request == []
    lost = go_on(after(start, go_on(start, *found)), *found)
    assert [each["metadata"]["name"] for each in lost.request] == ["r-before-one"]


@pytest.mark.rule("RUN-20")
def test_a_request_for_something_else_ends_the_run() -> None:
    start = begun(GATED, {"a": "one", "b": "two"})
    foreign = request("r-before-one", "two", "Approved")
    move = go_on(start, binding("a"), binding("b"), r_before_one=foreign)
    assert message(move.status, "Succeeded") == (
        "cannot continue the updateRun: the approval request task `r-before-one` is targeting"
        " update run `r` and stage `two`"
    )


@pytest.mark.rule("RUN-15")
def test_after_a_stage_all_tasks_are_waited_for_together() -> None:
    told = strategy(stage("one", after=[waiting("90s"), APPROVAL]))
    start = begun(told, {"a": "one"})
    started = after(start, go_on(start, binding("a")))
    done = bound("a", "Available")
    entered = go_on(started, done, now=NOW + timedelta(seconds=10))
    first = entered.status["stagesStatus"][0]
    assert message(first, "Progressing") == (
        "All clusters in the stage are updated, waiting for after-stage tasks to complete"
    )
    assert message(entered.status, "Progressing") == (
        "The updateRun is waiting for after-stage tasks in stage one to complete"
    )
    assert entered.after == 90.0
    assert [each["metadata"]["name"] for each in entered.request] == ["r-after-one"]
    assert entered.request[0]["metadata"]["labels"]["kubernetes-fleet.io/taskType"] == "afterStage"

    waited = after(start, entered)
    approved = {"r_after_one": request("r-after-one", "one", "Approved")}
    early = go_on(waited, done, now=NOW + timedelta(seconds=60), **approved)
    assert early.after == 40.0
    assert said(early.status["stagesStatus"][0]) == ["Progressing=False/StageUpdatingWaiting"]
    late = go_on(after(start, early), done, now=NOW + timedelta(seconds=100))
    assert said(late.status["stagesStatus"][0]) == [
        "Progressing=False/StageUpdatingSucceeded",
        "Succeeded=True/StageUpdatingSucceeded",
    ]
    tasks = late.status["stagesStatus"][0]["afterStageTaskStatus"]
    assert said(tasks[0]) == ["WaitTimeElapsed=True/AfterStageTaskWaitTimeElapsed"]
    assert late.status["stagesStatus"][0]["endTime"] == "2026-01-01T12:01:40Z"


@pytest.mark.rule("RUN-16")
def test_an_empty_stage_is_skipped_with_its_tasks() -> None:
    told = strategy(stage("none", before=[APPROVAL], after=[waiting("1h")]), stage("one"))
    start = begun(told, {"a": "one"})
    move = go_on(start, binding("a"))
    assert move.request == []
    assert said(move.status["stagesStatus"][0]) == [
        "Progressing=False/StageUpdatingSkippedNoClusters",
        "Succeeded=True/StageUpdatingSkippedNoClusters",
    ]
    text = "Stage skipped because it has no clusters"
    assert message(move.status["stagesStatus"][0], "Succeeded") == text
    assert len(move.bind) == 1


@pytest.mark.rule("RUN-17")
def test_clusters_go_last_and_the_run_ends_when_they_are_gone() -> None:
    start = begun(strategy(), {}, "x", "y")
    leaving = [binding("x", "Unscheduled"), binding("y", "Unscheduled")]
    first = go_on(start, *leaving)
    assert first.delete == leaving
    assert said(first.status["deletionStageStatus"]) == ["Progressing=True/StageUpdatingStarted"]
    going = binding("y", "Unscheduled")
    going["metadata"]["deletionTimestamp"] = "t"
    second = go_on(after(start, first), going)
    assert second.delete == []
    assert said(second.status)[-1] == "Progressing=True/UpdateRunProgressing"
    third = go_on(after(start, second))
    assert said(third.status)[-1] == "Succeeded=True/UpdateRunSucceeded"
    assert said(third.status["deletionStageStatus"])[-1] == "Succeeded=True/StageUpdatingSucceeded"


def stopped(before: Json) -> Json:
    return {**before, "spec": {**before["spec"], "state": "Stop"}}


@pytest.mark.rule("RUN-18")
def test_a_run_that_stops_finishes_what_it_began() -> None:
    start = begun(ONE, TRIO)
    started = after(start, go_on(start, *map(binding, TRIO)))
    stopping = go_on(stopped(started), bound("a"), binding("b"), binding("c"))
    assert said(stopping.status)[-1] == "Progressing=Unknown/UpdateRunStopping"
    assert said(stopping.status["stagesStatus"][0]) == ["Progressing=Unknown/StageUpdatingStopping"]
    assert message(stopping.status, "Progressing") == (
        "The update run is the process of stopping, waiting for all the updating/deleting clusters"
        " to finish updating before completing the stop process"
    )
    found = [bound("a", "Available"), binding("b"), binding("c")]
    over = go_on(stopped(after(start, stopping)), *found)
    assert over.bind == []
    assert said(over.status)[-1] == "Progressing=False/UpdateRunStopped"
    assert said(over.status["stagesStatus"][0]) == ["Progressing=False/StageUpdatingStopped"]
    again = go_on(stopped(after(start, over)), *found)
    assert again.status == over.status
    resumed = go_on(after(start, over), *found)
    assert [each.binding["spec"]["targetCluster"] for each in resumed.bind] == ["b"]
    assert said(resumed.status["stagesStatus"][0]) == ["Progressing=True/StageUpdatingStarted"]


@pytest.mark.rule("RUN-18")
def test_deletions_that_began_are_finished_too() -> None:
    start = begun(strategy(), {}, "x")
    leaving = binding("x", "Unscheduled")
    untouched = go_on(stopped(start), leaving)
    assert untouched.delete == []
    assert said(untouched.status)[-1] == "Progressing=False/UpdateRunStopped"
    begins = after(start, go_on(start, leaving))
    stopping = go_on(stopped(begins), leaving)
    assert said(stopping.status)[-1] == "Progressing=Unknown/UpdateRunStopping"
    over = go_on(stopped(after(start, stopping)))
    assert said(over.status)[-1] == "Succeeded=True/UpdateRunSucceeded"


@pytest.mark.rule("RUN-19")
def test_all_that_was_said_holds_for_the_run_as_it_is() -> None:
    start = begun(GATED, {"a": "one", "b": "two"})
    asking = after(start, go_on(start, binding("a"), binding("b")))
    changed = {**asking, "metadata": {"name": "r", "generation": 7}}
    waiting_on = request("r-before-one", "one")
    move = go_on(changed, binding("a"), binding("b"), r_before_one=waiting_on)
    first = move.status["stagesStatus"][0]
    parts = [move.status, first, *first["beforeStageTaskStatus"]]
    seen = {each["observedGeneration"] for part in parts for each in part["conditions"]}
    assert seen == {7}


@pytest.mark.rule("RUN-20")
@pytest.mark.parametrize(
    "other",
    [
        bound("a", resourceSnapshotName="p-1-snapshot"),
        bound("a", clusterResourceOverrideSnapshots=["x-0"]),
        binding("a", "Bound", resourceSnapshotName="p-0-snapshot", applyStrategy=running.APPLY),
    ],
    ids=["another snapshot", "other overrides", "not begun"],
)
def test_a_binding_that_somebody_else_changed_ends_the_run(other: Json) -> None:
    start = begun(ONE, {"a": "one"})
    started = after(start, go_on(start, binding("a")))
    move = go_on(started, other)
    cause = (
        "failed to process the request due to a client error: the binding of the updating cluster"
        " `a` in the stage `one` is not up-to-date with the desired status, please check the"
        " status of binding `p-a` and see if there is a concurrent updateRun referencing the same"
        " placement and updating the same cluster"
    )
    assert said(move.status)[1:] == [
        "Progressing=False/UpdateRunFailed",
        "Succeeded=False/UpdateRunFailed",
    ]
    assert message(move.status, "Succeeded") == f"cannot continue the updateRun: {cause}"
    first = move.status["stagesStatus"][0]
    assert said(first) == [
        "Progressing=False/StageUpdatingFailed",
        "Succeeded=False/StageUpdatingFailed",
    ]
    text = "Stage update aborted due to a non-recoverable error"
    assert message(first, "Progressing") == text
    assert said(first["clusters"][0])[-1] == "Succeeded=False/ClusterUpdatingFailed"
    assert message(first["clusters"][0], "Succeeded") == cause


NEW_POLICY = [{**each, "spec": {**each["spec"], "schedulingPolicySnapshotName": "p-1"}}
              for each in (binding("a"), binding("b"))]  # fmt: skip
PAIR = [binding("a"), binding("b")]
GOING = placement()
GOING["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
# fmt: off
OUTDATED: dict[str, tuple[Json, Json, list[Json], str]] = {
    "another apply strategy": (placement(applyStrategy={"type": "ReportDiff"}), policy(), PAIR,
        "the applyStrategy in the updateRun is outdated, latest: "),
    "another policy": (placement(), policy(1), NEW_POLICY,
        "the policy snapshot index used in the updateRun is outdated, latest: 1, recorded: 0"),
    "another policy that is not scheduled": (placement(), policy(1, status="Unknown"), PAIR,
        "the policy snapshot index used in the updateRun is outdated, latest: 1, recorded: 0"),
    "more clusters": (placement(), policy(), [*PAIR, binding("c")],
        "the cluster count initialized in the updateRun is outdated, latest: 3, recorded: 2"),
    "another number": (placement(), policy(placementType="PickN", number=5), PAIR,
        "the cluster count initialized in the updateRun is outdated, latest: 5, recorded: 2"),
    "other clusters": (placement(), policy(), [binding("a"), binding("c")],
        "the cluster `b` of a stage is no longer scheduled"),
    "others to go": (placement(), policy(), [*PAIR, binding("z", "Unscheduled")],
        "the cluster `z` is to be deleted now, and not in the deleteStage"),
    "a placement that goes": (GOING, policy(), PAIR,
        "failed to process the request due to a client error: parent placement not found"),
    "other strategy type": (placement("RollingUpdate"), policy(), PAIR,
        "failed to process the request due to a client error: parent placement does not have an"
        " external rollout strategy, current strategy: RollingUpdate"),
}
# fmt: on


@pytest.mark.rule("RUN-20")
@pytest.mark.parametrize(("of", "under", "found", "cause"), OUTDATED.values(), ids=OUTDATED)
def test_a_run_ends_when_what_it_rests_on_changes(
    of: Json, under: Json, found: list[Json], cause: str
) -> None:
    start = begun(ONE, {"a": "one", "b": "one"})
    with pytest.raises(Invalid) as invalid:
        validity.checked(Scene(start, of, under, found), start["status"])
    assert str(invalid.value).startswith(cause)
    failed = Pass(start, Ground(), {}, NOW).fails("why")
    assert message(failed.status, "Succeeded") == (
        "cannot continue the updateRun: failed to validate the updateRun: why"
    )
    assert said(failed.status)[-1] == "Succeeded=False/UpdateRunFailed"
