"""How a run goes on: the next clusters that change, the approvals that it asks for, and what its
status becomes. Everything that the pass orders is done before the status is written.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from fleetqueue.api.fleet import labels
from fleetqueue.api.fleet.binding import BindingState
from fleetqueue.api.fleet.conditions import PlacementAspect
from fleetqueue.api.fleet.text import client_error
from fleetqueue.api.fleet.update_strategy import StageTaskType
from fleetqueue.api.times import parse_time
from fleetqueue.base import codec
from fleetqueue.fleet.decide import bindings, conditions
from fleetqueue.fleet.decide.update_runs import marks, stages
from fleetqueue.fleet.decide.update_runs.beginning import snapshot_name
from fleetqueue.fleet.decide.update_runs.marks import AFTER, BEFORE, Pen
from fleetqueue.fleet.decide.update_runs.scene import Ground

Json = dict[str, Any]
STUCK_SECONDS = 300.0
LEAD = "cannot continue the updateRun: "


@dataclass(frozen=True, slots=True)
class Bind:
    """A binding that gets the objects of the run."""

    binding: Json
    spec: Json
    """As it should be; equal to the present one where only the roll-out has to be announced."""
    message: str


@dataclass(slots=True)
class Move:
    """What one pass orders, and the status that follows from it."""

    status: Json
    bind: list[Bind] = field(default_factory=list)
    request: list[Json] = field(default_factory=list)
    """Name, labels and spec of approval requests to make."""
    accept: list[Json] = field(default_factory=list)
    """Approval requests that are taken as approved."""
    delete: list[Json] = field(default_factory=list)
    """Bindings."""
    after: float | None = None
    """Look again then, whether anything changes or not."""
    updated_seconds: list[float] = field(default_factory=list)
    """Of each cluster that is done with this pass, how long it took."""

    def look_again(self, seconds: float) -> None:
        self.after = seconds if self.after is None else min(self.after, seconds)


class _Abort(Exception):
    def __init__(self, stage: Json, cluster: Json | None, text: str) -> None:
        super().__init__(text)
        self.stage, self.cluster = stage, cluster


@dataclass(slots=True)
class Pass:
    """One look at a run that has begun."""

    run: Json
    ground: Ground
    requests: Mapping[str, Json]
    """Approval requests that there are, by name."""
    now: datetime
    pen: Pen = field(init=False)
    move: Move = field(init=False)

    def __post_init__(self) -> None:
        generation = int(self.run["metadata"].get("generation") or 0)
        self.pen = Pen(generation, self.now)
        self.move = Move(codec.copy(self.run["status"]))
        marks.bump(self.move.status, generation)

    def goes_on(self) -> Move:
        """For a run that shall run."""
        return self._guarded(self._run)

    def stops(self) -> Move:
        """For a run that shall stop: what has begun is finished, nothing new is begun."""
        return self._guarded(self._stop)

    def fails(self, cause: str) -> Move:
        """For a run that must not go on."""
        self.pen.fails(self.move.status, f"{LEAD}failed to validate the updateRun: {cause}")
        return self.move

    def _guarded(self, act: Any) -> Move:
        try:
            act()
        except _Abort as abort:
            text = str(abort)
            whole = f"{LEAD}{text}"
            if abort.cluster is not None:
                self.pen.cluster_fails(abort.cluster, text)
            self.pen.stage_fails(abort.stage, whole)
            self.pen.fails(self.move.status, whole)
        return self.move

    # Running

    def _run(self) -> None:
        status = self.move.status
        configs = status["stagedUpdateStrategySnapshot"].get("stages") or ()
        for stage, config in zip(status.get("stagesStatus") or (), configs, strict=True):
            if marks.is_true(stage, marks.SUCCEEDED):
                continue
            if stage["clusters"]:
                self._stage(stage, config)
                return
            self.pen.stage_is_skipped(stage)
        if self._deletion(status["deletionStageStatus"]):
            self.pen.succeeds(status)
        else:
            self.pen.progresses(status)

    def _stage(self, stage: Json, config: Json) -> None:
        status, name = self.move.status, str(stage["stageName"])
        before = _tasks(stage, BEFORE)
        was_open = any(not marks.is_true(each, marks.APPROVED) for each in before)
        asked = [self._is_done(stage, each, BEFORE) for each in before]
        if not all(asked):
            self.pen.stage_waits(stage, BEFORE)
            self.pen.waits(status, BEFORE, name)
            return
        if was_open:
            # It is written down who approved before anything rests on it.
            self.pen.progresses(status)
            return
        stuck = self._clusters(stage, stages.concurrency(config, len(stage["clusters"])))
        if not all(marks.is_true(each, marks.SUCCEEDED) for each in stage["clusters"]):
            self.pen.stage_starts(stage)
            if stuck:
                self.pen.is_stuck(status, stuck, name)
            else:
                self.pen.progresses(status)
            return
        if self._is_after(stage, config):
            self.pen.stage_succeeds(stage)
            self.pen.progresses(status)
        else:
            self.pen.waits(status, AFTER, name)

    def _clusters(self, stage: Json, limit: int) -> list[str]:
        """Changes as many as may change, and names those that take too long."""
        busy, stuck = 0, []
        for cluster in stage["clusters"]:
            if marks.is_true(cluster, marks.SUCCEEDED):
                continue
            if busy >= limit:
                break
            busy += 1
            if not marks.is_true(cluster, marks.STARTED):
                self._start(cluster)
            elif self._is_updated(stage, cluster):
                busy -= 1
            elif self._is_late(cluster):
                stuck.append(str(cluster["clusterName"]))
        return stuck

    def _start(self, cluster: Json) -> None:
        binding = self.ground.updating[cluster["clusterName"]]
        wanted = self._spec(binding, cluster)
        started = bindings.is_true(binding, PlacementAspect.ROLLOUT_STARTED)
        if _known(wanted) != _known(binding["spec"]) or not started:
            index = self.run["spec"].get("resourceSnapshotIndex") or ""
            text = (
                "Detected the new changes on the resources and started the rollout process,"
                f" resourceSnapshotIndex: {index}, updateRun: {self.run['metadata']['name']}"
            )
            self.move.bind.append(Bind(binding, wanted, text))
        self.pen.cluster_starts(cluster)
        self.move.look_again(STUCK_SECONDS)

    def _spec(self, binding: Json, cluster: Json) -> Json:
        spec = {
            **binding["spec"],
            "state": BindingState.BOUND.value,
            "resourceSnapshotName": snapshot_name(self.run),
            "applyStrategy": self.move.status.get("appliedStrategy"),
        }
        for name in ("resourceOverrideSnapshots", "clusterResourceOverrideSnapshots"):
            if cluster.get(name):
                spec[name] = cluster[name]
            else:
                spec.pop(name, None)
        return spec

    def _is_updated(self, stage: Json, cluster: Json) -> bool:
        if marks.is_true(cluster, marks.SUCCEEDED):
            return True
        binding = self.ground.updating[cluster["clusterName"]]
        started = bindings.is_true(binding, PlacementAspect.ROLLOUT_STARTED)
        if not started or _known(self._spec(binding, cluster)) != _known(binding["spec"]):
            raise _Abort(stage, cluster, _taken_away(stage, cluster, binding))
        if not (
            bindings.is_available(binding)
            or bindings.is_true(binding, PlacementAspect.DIFF_REPORTED)
        ):
            return False
        self.move.updated_seconds.append(self._seconds_since(cluster, marks.STARTED))
        self.pen.cluster_succeeds(cluster)
        return True

    def _is_late(self, cluster: Json) -> bool:
        left = STUCK_SECONDS - self._seconds_since(cluster, marks.STARTED)
        if left > 0:
            self.move.look_again(left)
        return left <= 0

    def _seconds_since(self, part: Json, type: str) -> float:
        found = conditions.find(part.get("conditions"), type)
        if found is None:
            return 0.0
        return (self.now - parse_time(str(found["lastTransitionTime"]))).total_seconds()

    # What is waited for

    def _is_after(self, stage: Json, config: Json) -> bool:
        self.pen.stage_waits(stage, AFTER)
        tasks = zip(_tasks(stage, AFTER), config.get("afterStageTasks") or (), strict=True)
        done = [
            self._has_elapsed(stage, task, stages.wait(told))
            if task["type"] == StageTaskType.TIMED_WAIT
            else self._is_done(stage, task, AFTER)
            for task, told in tasks
        ]
        return all(done)

    def _has_elapsed(self, stage: Json, task: Json, span: timedelta) -> bool:
        """Since the stage came to wait."""
        if marks.is_true(task, marks.ELAPSED):
            return True
        left = span.total_seconds() - self._seconds_since(stage, marks.PROGRESSING)
        if left > 0:
            self.move.look_again(left)
            return False
        self.pen.is_over(task)
        return True

    def _is_done(self, stage: Json, task: Json, when: str) -> bool:
        """Whether an approval is there; asks for it where nobody did."""
        if marks.is_true(task, marks.APPROVED):
            return True
        request = self.requests.get(str(task["approvalRequestName"]))
        if request is None:
            self.move.request.append(self._request(stage, task, when))
            self.pen.is_requested(task)
            return False
        self._check_request(stage, request)
        self.pen.is_requested(task)
        if not is_approved(request):
            return False
        if not marks.is_true(request.get("status") or {}, marks.ACCEPTED):
            self.move.accept.append(request)
        self.pen.is_approved(task)
        return True

    def _check_request(self, stage: Json, request: Json) -> None:
        """Somebody else may have made one of that name."""
        run = request["spec"].get("parentStageRollout")
        target = request["spec"].get("targetStage")
        if (run, target) != (self.run["metadata"]["name"], stage["stageName"]):
            text = (
                f"the approval request task `{request['metadata']['name']}` is targeting update"
                f" run `{run}` and stage `{target}`"
            )
            raise _Abort(stage, None, text)

    def _request(self, stage: Json, task: Json, when: str) -> Json:
        run, name = str(self.run["metadata"]["name"]), str(stage["stageName"])
        kind = labels.TASK_BEFORE_STAGE if when == BEFORE else labels.TASK_AFTER_STAGE
        return {
            "metadata": {
                "name": str(task["approvalRequestName"]),
                "labels": {
                    labels.TARGET_UPDATE_RUN: run,
                    labels.TARGET_UPDATING_STAGE: name,
                    labels.TASK_TYPE: kind,
                    labels.IS_LATEST_UPDATE_RUN_APPROVAL: "true",
                },
            },
            "spec": {"parentStageRollout": run, "targetStage": name},
        }

    # Taking clusters away

    def _deletion(self, stage: Json, *, begins: bool = True) -> bool:
        """Whether all that shall go is gone."""
        is_over = True
        for cluster in stage["clusters"]:
            binding = self.ground.leaving.get(cluster["clusterName"])
            is_started = marks.is_true(cluster, marks.STARTED)
            if binding is None:
                if not is_started:
                    self.pen.cluster_starts(cluster)
                self.pen.cluster_succeeds(cluster)
                continue
            is_over = False
            if begins and not bindings.is_deleting(binding):
                self.move.delete.append(binding)
            if begins and not is_started:
                self.pen.cluster_starts(cluster)
        if not is_over:
            if begins:
                self.pen.stage_starts(stage)
            return False
        self.pen.stage_succeeds(stage)
        return True

    # Stopping

    def _stop(self) -> None:
        status = self.move.status
        for stage in status.get("stagesStatus") or ():
            if not marks.is_true(stage, marks.SUCCEEDED) and stage["clusters"]:
                self._stop_stage(stage)
                return
        stage = status["deletionStageStatus"]
        if any(marks.is_true(each, marks.STARTED) for each in stage["clusters"]):
            if self._deletion(stage, begins=False):
                self.pen.succeeds(status)
                return
            self.pen.stage_stops(stage)
            self.pen.stops(status)
            return
        self.pen.stage_is_stopped(stage)
        self.pen.is_stopped(status)

    def _stop_stage(self, stage: Json) -> None:
        begun = [each for each in stage["clusters"] if marks.is_true(each, marks.STARTED)]
        done = [self._is_updated(stage, each) for each in begun]
        if all(done):
            self.pen.stage_is_stopped(stage)
            self.pen.is_stopped(self.move.status)
        else:
            self.pen.stage_stops(stage)
            self.pen.stops(self.move.status)


def is_approved(request: Json) -> bool:
    """Accepted once and for all, or approved by somebody who saw the request as it is."""
    status = request.get("status") or {}
    if marks.is_true(status, marks.ACCEPTED):
        return True
    found = conditions.find(status.get("conditions"), "Approved")
    generation = request["metadata"].get("generation") or 0
    if found is None or found["status"] != conditions.TRUE:
        return False
    return bool((found.get("observedGeneration") or 0) == generation)


def _tasks(stage: Json, when: str) -> list[Json]:
    name = "beforeStageTaskStatus" if when == BEFORE else "afterStageTaskStatus"
    return list(stage.get(name) or ())


def _known(spec: Json) -> Json:
    """The fields of a binding that a run sets."""
    names = (
        "state",
        "resourceSnapshotName",
        "applyStrategy",
        "resourceOverrideSnapshots",
        "clusterResourceOverrideSnapshots",
    )
    return {name: spec.get(name) or None for name in names}


def _taken_away(stage: Json, cluster: Json, binding: Json) -> str:
    return client_error(
        f"the binding of the updating cluster `{cluster['clusterName']}` in the stage"
        f" `{stage['stageName']}` is not up-to-date with the desired status, please check the"
        f" status of binding `{binding['metadata']['name']}` and see if there is a concurrent"
        " updateRun referencing the same placement and updating the same cluster"
    )
