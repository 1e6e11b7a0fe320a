"""Placements, bindings and update runs as plain objects, for tests of staged update runs."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from fleetqueue.api.fleet import labels
from fleetqueue.fleet.decide.overrides import Applicable
from fleetqueue.fleet.decide.update_runs import beginning, validity
from fleetqueue.fleet.decide.update_runs.execution import Move, Pass
from fleetqueue.fleet.decide.update_runs.marks import Pen
from fleetqueue.fleet.decide.update_runs.scene import Scene

Json = dict[str, Any]
NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
APPLY = {
    "type": "ClientSideApply",
    "comparisonOption": "PartialComparison",
    "whenToApply": "Always",
    "whenToTakeOver": "Always",
}


def placement(kind: str = "External", **strategy: Any) -> Json:
    return {"metadata": {"name": "p"}, "spec": {"strategy": {"type": kind, **strategy}}}


def policy(index: int = 0, *, status: str = "True", seen: int = 1, **told: Any) -> Json:
    count = told.pop("number", None)
    notes = {} if count is None else {labels.NUMBER_OF_CLUSTERS: str(count)}
    condition = {"type": "Scheduled", "status": status, "observedGeneration": seen}
    return {
        "metadata": {
            "name": f"p-{index}",
            "generation": 1,
            "labels": {labels.POLICY_INDEX: str(index)},
            "annotations": notes,
        },
        "spec": {"policy": {"placementType": "PickAll", **told}},
        "status": {"conditions": [condition]},
    }


def binding(cluster: str, state: str = "Scheduled", *told: str, **spec: Any) -> Json:
    """`told`: types of conditions that are true."""
    conditions = [{"type": each, "status": "True", "observedGeneration": 1} for each in told]
    return {
        "metadata": {"name": f"p-{cluster}", "generation": 1, "resourceVersion": "1"},
        "spec": {
            "state": state,
            "targetCluster": cluster,
            "schedulingPolicySnapshotName": "p-0",
            "resourceSnapshotName": "",
            **spec,
        },
        "status": {"conditions": conditions},
    }


def bound(cluster: str, *told: str, **spec: Any) -> Json:
    """As a run with the first snapshot leaves it."""
    given = {"resourceSnapshotName": "p-0-snapshot", "applyStrategy": APPLY, **spec}
    return binding(cluster, "Bound", "RolloutStarted", *told, **given)


def strategy(*stages: Json) -> Json:
    return {"metadata": {"name": "s"}, "spec": {"stages": list(stages)}}


def stage(name: str, *, before: Any = (), after: Any = (), **more: Any) -> Json:
    """Of the clusters with the label `stage` of that value."""
    told: Json = {"name": name, "labelSelector": {"matchLabels": {"stage": name}}, **more}
    if before:
        told["beforeStageTasks"] = list(before)
    if after:
        told["afterStageTasks"] = list(after)
    return told


APPROVAL: Json = {"type": "Approval"}


def waiting(span: str) -> Json:
    return {"type": "TimedWait", "waitTime": span}


def run(state: str = "Run", **spec: Any) -> Json:
    told = {"placementName": "p", "stagedRolloutStrategyName": "s", "state": state, **spec}
    return {"metadata": {"name": "r", "generation": 2}, "spec": told}


def request(name: str, target: str, *told: str, seen: int = 1) -> Json:
    conditions = [{"type": each, "status": "True", "observedGeneration": seen} for each in told]
    return {
        "metadata": {"name": name, "generation": 1},
        "spec": {"parentStageRollout": "r", "targetStage": target},
        "status": {"conditions": conditions},
    }


def begun(told: Json, members: Mapping[str, str], *leaving: str, of: Json | None = None) -> Json:
    """A run that is initialized; `members`: the stage of each cluster."""
    found = [binding(name) for name in members]
    found += [binding(name, "Unscheduled") for name in leaving]
    scene = Scene(of or run(), placement(), policy(), found, told)
    marked = {name: {"stage": value} for name, value in members.items()}
    draft = beginning.drafted(scene, marked)
    overrides = dict.fromkeys(members, Applicable())
    status = beginning.completed(draft, 0, overrides, Pen(2, NOW))
    return {**(of or run()), "status": status}


def go_on(before: Json, *found: Json, now: datetime = NOW, **requests: Json) -> Move:
    """One pass over a run; `requests`: by name, with `_` for `-`."""
    scene = Scene(before, placement(), policy(), found)
    ground = validity.checked(scene, before["status"])
    named = {name.replace("_", "-"): each for name, each in requests.items()}
    look = Pass(before, ground, named, now)
    return look.stops() if before["spec"]["state"] == "Stop" else look.goes_on()


def after(before: Json, move: Move) -> Json:
    """The run as it is once the pass is done."""
    return {**before, "status": move.status}


def said(part: Json) -> list[str]:
    return [
        f"{each['type']}={each['status']}/{each['reason']}" for each in part.get("conditions") or ()
    ]


def message(part: Json, type: str) -> str:
    return next(str(each["message"]) for each in part["conditions"] if each["type"] == type)
