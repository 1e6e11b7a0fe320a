"""What runs, stages, clusters and tasks say of themselves, in the words of KubeFleet."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fleetqueue.api.times import format_time
from fleetqueue.fleet.decide import conditions
from fleetqueue.fleet.decide.conditions import FALSE, TRUE, UNKNOWN

Json = dict[str, Any]
INITIALIZED, PROGRESSING, SUCCEEDED, STARTED = "Initialized", "Progressing", "Succeeded", "Started"
CREATED, APPROVED = "ApprovalRequestCreated", "ApprovalRequestApproved"
ELAPSED = "WaitTimeElapsed"
ACCEPTED = "ApprovalAccepted"
"""Of an approval request, by the hub; people set `Approved`."""
BEFORE, AFTER = "before-stage", "after-stage"
STUCK_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Pen:
    """Writes conditions into the parts of a run's status, which it changes in place."""

    generation: int
    now: datetime

    def mark(self, part: Json, type: str, status: str, reason: str, message: str) -> None:
        made = conditions.make(
            type, status, reason, message, generation=self.generation, now=self.now
        )
        part["conditions"] = conditions.put(part.get("conditions"), made)

    # The run

    def initialized(self, run: Json) -> None:
        text = "The UpdateRun initialized successfully"
        self.mark(run, INITIALIZED, TRUE, "UpdateRunInitializedSuccessfully", text)

    def not_initialized(self, run: Json, problem: str) -> None:
        self.mark(run, INITIALIZED, FALSE, "UpdateRunInitializedFailed", problem)

    def progresses(self, run: Json) -> None:
        text = "The update run is making progress"
        self.mark(run, PROGRESSING, TRUE, "UpdateRunProgressing", text)

    def waits(self, run: Json, when: str, stage: str) -> None:
        text = f"The updateRun is waiting for {when} tasks in stage {stage} to complete"
        self.mark(run, PROGRESSING, FALSE, "UpdateRunWaiting", text)

    def is_stuck(self, run: Json, clusters: Sequence[str], stage: str) -> None:
        shown = ", ".join(clusters[:STUCK_SHOWN])
        more = "..." if len(clusters) > STUCK_SHOWN else ""
        text = (
            f"The updateRun is stuck waiting for {shown}{more} cluster(s) in stage {stage} to"
            " finish updating, please check placement status for potential errors"
        )
        self.mark(run, PROGRESSING, FALSE, "UpdateRunStuck", text)

    def stops(self, run: Json) -> None:
        text = (
            "The update run is the process of stopping, waiting for all the updating/deleting"
            " clusters to finish updating before completing the stop process"
        )
        self.mark(run, PROGRESSING, UNKNOWN, "UpdateRunStopping", text)

    def is_stopped(self, run: Json) -> None:
        text = "The update run has been stopped"
        self.mark(run, PROGRESSING, FALSE, "UpdateRunStopped", text)

    def succeeds(self, run: Json) -> None:
        reason = "UpdateRunSucceeded"
        self.mark(run, PROGRESSING, FALSE, reason, "All stages are completed")
        self.mark(run, SUCCEEDED, TRUE, reason, "All stages are completed successfully")

    def fails(self, run: Json, problem: str) -> None:
        reason = "UpdateRunFailed"
        text = "The stages are aborted due to a non-recoverable error"
        self.mark(run, PROGRESSING, FALSE, reason, text)
        self.mark(run, SUCCEEDED, FALSE, reason, problem)

    # A stage

    def stage_starts(self, stage: Json) -> None:
        stage.setdefault("startTime", format_time(self.now))
        text = "Clusters in the stage started updating"
        self.mark(stage, PROGRESSING, TRUE, "StageUpdatingStarted", text)

    def stage_waits(self, stage: Json, when: str) -> None:
        text = {
            BEFORE: "Not all before-stage tasks are completed, waiting for approval",
            AFTER: "All clusters in the stage are updated, waiting for after-stage tasks to"
            " complete",
        }[when]
        self.mark(stage, PROGRESSING, FALSE, "StageUpdatingWaiting", text)

    def stage_stops(self, stage: Json) -> None:
        text = (
            "Waiting for all the updating clusters to finish updating before completing the stop"
            " process"
        )
        self.mark(stage, PROGRESSING, UNKNOWN, "StageUpdatingStopping", text)

    def stage_is_stopped(self, stage: Json) -> None:
        text = (
            "All the updating clusters have finished updating, the stage is now stopped, waiting"
            " to be resumed"
        )
        self.mark(stage, PROGRESSING, FALSE, "StageUpdatingStopped", text)

    def stage_succeeds(self, stage: Json) -> None:
        reason = "StageUpdatingSucceeded"
        stage.setdefault("startTime", format_time(self.now))
        stage.setdefault("endTime", format_time(self.now))
        text = "All clusters in the stage are updated and after-stage tasks are completed"
        self.mark(stage, PROGRESSING, FALSE, reason, text)
        self.mark(stage, SUCCEEDED, TRUE, reason, "Stage update completed successfully")

    def stage_is_skipped(self, stage: Json) -> None:
        reason, text = "StageUpdatingSkippedNoClusters", "Stage skipped because it has no clusters"
        self.mark(stage, PROGRESSING, FALSE, reason, text)
        self.mark(stage, SUCCEEDED, TRUE, reason, text)

    def stage_fails(self, stage: Json, problem: str) -> None:
        reason = "StageUpdatingFailed"
        stage.setdefault("endTime", format_time(self.now))
        text = "Stage update aborted due to a non-recoverable error"
        self.mark(stage, PROGRESSING, FALSE, reason, text)
        self.mark(stage, SUCCEEDED, FALSE, reason, problem)

    # A cluster

    def cluster_starts(self, cluster: Json) -> None:
        self.mark(cluster, STARTED, TRUE, "ClusterUpdatingStarted", "Cluster update started")

    def cluster_succeeds(self, cluster: Json) -> None:
        text = "Cluster update completed successfully"
        self.mark(cluster, SUCCEEDED, TRUE, "ClusterUpdatingSucceeded", text)

    def cluster_fails(self, cluster: Json, problem: str) -> None:
        self.mark(cluster, SUCCEEDED, FALSE, "ClusterUpdatingFailed", problem)

    # A task

    def is_requested(self, task: Json) -> None:
        text = "ApprovalRequest object is created"
        self.mark(task, CREATED, TRUE, "StageTaskApprovalRequestCreated", text)

    def is_approved(self, task: Json) -> None:
        text = "ApprovalRequest object is approved"
        self.mark(task, APPROVED, TRUE, "StageTaskApprovalRequestApproved", text)

    def is_over(self, task: Json) -> None:
        self.mark(task, ELAPSED, TRUE, "AfterStageTaskWaitTimeElapsed", "Wait time elapsed")


def accepted(request: Json, now: datetime) -> Json:
    """What the hub says on an approval request once it is approved."""
    return conditions.make(
        ACCEPTED,
        TRUE,
        "ApprovalRequestApprovalAccepted",
        "The approval request has been approved and cannot be reverted",
        generation=int(request["metadata"].get("generation") or 0),
        now=now,
    )


def is_true(part: Json, type: str) -> bool:
    return conditions.status_of(part.get("conditions"), type) == TRUE


def is_final(status: Json) -> bool:
    """Whether nothing more happens to a run, whatever becomes of its spec."""
    told = status.get("conditions")
    return (
        conditions.status_of(told, INITIALIZED) == FALSE
        or conditions.status_of(told, SUCCEEDED) in (TRUE, FALSE)
    )  # fmt: skip


def has_failed(status: Json) -> bool:
    told = status.get("conditions")
    return FALSE in (
        conditions.status_of(told, INITIALIZED),
        conditions.status_of(told, SUCCEEDED),
    )


def bump(status: Json, generation: int) -> None:
    """All that was said holds for the run as it is now."""
    for part in _parts(status):
        if part.get("conditions"):
            part["conditions"] = [
                {**each, "observedGeneration": generation} for each in part["conditions"]
            ]


def _parts(status: Json) -> Iterator[Json]:
    yield status
    stages = [*(status.get("stagesStatus") or ())]
    if status.get("deletionStageStatus"):
        stages.append(status["deletionStageStatus"])
    for stage in stages:
        yield stage
        yield from stage.get("clusters") or ()
        yield from stage.get("beforeStageTaskStatus") or ()
        yield from stage.get("afterStageTaskStatus") or ()
