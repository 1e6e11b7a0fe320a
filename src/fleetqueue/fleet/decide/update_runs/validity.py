"""Whether a run that has begun may go on: nothing that it rests on has changed meanwhile."""

from collections.abc import Iterable
from typing import Any

from fleetqueue.api.fleet import labels
from fleetqueue.base import codec
from fleetqueue.fleet.decide import snapshots
from fleetqueue.fleet.decide.update_runs.scene import Ground, Scene, survey
from fleetqueue.fleet.decide.update_runs.stages import Invalid

Json = dict[str, Any]


def checked(scene: Scene, status: Json) -> Ground:
    """What the run rests on now. Raises Invalid where that is not what it began with."""
    ground = Ground()
    survey_error: Invalid | None = None
    try:
        survey(scene, ground, is_begun=True)
    except Invalid as invalid:
        survey_error = invalid
    _compare(scene, ground, status)
    if survey_error is not None:
        raise survey_error
    _compare_clusters(ground, status)
    return ground


def _compare(scene: Scene, ground: Ground, status: Json) -> None:
    """As far as anything was found. A policy that is new is told as such, whether clusters were
    chosen by it or not.
    """
    if ground.strategy is None:
        return
    _compare_strategy(ground, status)
    if scene.policy is not None:
        _compare_index(snapshots.label(scene.policy, labels.POLICY_INDEX), status)
    if ground.count is not None:
        _compare_count(ground.count, status)


def _compare_strategy(ground: Ground, status: Json) -> None:
    recorded = status.get("appliedStrategy")
    if ground.strategy != recorded:
        raise Invalid(
            "the applyStrategy in the updateRun is outdated,"
            f" latest: {_text(ground.strategy)}, recorded: {_text(recorded)}"
        )


def _compare_index(latest: str, status: Json) -> None:
    index = str(status.get("policySnapshotIndexUsed") or "")
    if latest != index:
        raise Invalid(
            "the policy snapshot index used in the updateRun is outdated,"
            f" latest: {latest}, recorded: {index}"
        )


def _compare_count(latest: int, status: Json) -> None:
    count = int(status.get("policyObservedClusterCount") or 0)
    if latest != count:
        raise Invalid(
            "the cluster count initialized in the updateRun is outdated,"
            f" latest: {latest}, recorded: {count}"
        )


def _compare_clusters(ground: Ground, status: Json) -> None:
    staged = _names(
        cluster for stage in status.get("stagesStatus") or () for cluster in stage["clusters"]
    )
    if gone := sorted(staged - set(ground.updating)):
        raise Invalid(f"the cluster `{gone[0]}` of a stage is no longer scheduled")
    if fresh := sorted(set(ground.updating) - staged):
        raise Invalid(f"the cluster `{fresh[0]}` is scheduled now, and in none of the stages")
    leaving = _names((status.get("deletionStageStatus") or {}).get("clusters") or ())
    if fresh := sorted(set(ground.leaving) - leaving):
        raise Invalid(f"the cluster `{fresh[0]}` is to be deleted now, and not in the deleteStage")


def _names(clusters: Iterable[Json]) -> set[str]:
    return {str(each["clusterName"]) for each in clusters}


def _text(value: Any) -> str:
    return codec.encode(value).decode()
