"""How a run begins: what it will do is worked out once and written down."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fleetqueue.api.fleet import naming
from fleetqueue.api.fleet.text import client_error, object_name
from fleetqueue.fleet.decide.overrides import Applicable
from fleetqueue.fleet.decide.update_runs import stages
from fleetqueue.fleet.decide.update_runs.marks import Pen
from fleetqueue.fleet.decide.update_runs.scene import Ground, Scene, survey
from fleetqueue.fleet.decide.update_runs.stages import Invalid, Labels

Json = dict[str, Any]
LEAD = "cannot continue the updateRun: failed to validate the updateRun: "


@dataclass(frozen=True, slots=True)
class Failed(Exception):
    """A run that cannot begin, and its status as far as it came."""

    status: Json
    cause: str


def drafted(scene: Scene, clusters: Mapping[str, Labels]) -> Json:
    """The status of the run without its objects; `clusters`: all members, with their labels.
    Raises Failed.
    """
    ground = Ground()
    status: Json = {}
    try:
        survey(scene, ground)
        strategy = scene.strategy
        if strategy is None:
            where = object_name(scene.namespace, scene.run["spec"]["stagedRolloutStrategyName"])
            raise Invalid(client_error(f"referenced updateStrategy not found: `{where}`"))
        status["stagedUpdateStrategySnapshot"] = strategy["spec"]
        known = {name: clusters.get(name, {}) for name in ground.updating}
        status["stagesStatus"] = stages.staged(scene.name, strategy, known)
        status["deletionStageStatus"] = stages.deletion(ground.leaving)
    except Invalid as invalid:
        raise Failed({**status, **ground.status}, str(invalid)) from None
    return {**status, **ground.status}


def asked_index(run: Json) -> int | None:
    """The resource snapshot that the run names; None where it takes a fresh one. Raises Invalid."""
    text = str(run["spec"].get("resourceSnapshotIndex") or "")
    if not text:
        return None
    if not (text.isascii() and text.isdecimal()):
        raise Invalid(
            client_error(
                f"invalid resource snapshot index `{text}` provided, expected an integer >= 0"
            )
        )
    return int(text)


def no_snapshot(scene: Scene, index: int) -> Invalid:
    where = object_name(scene.namespace, scene.placement_name)
    text = f"no resourceSnapshots with index `{index}` found for placement `{where}`"
    return Invalid(client_error(text))


def completed(status: Json, index: int, overrides: Mapping[str, Applicable], pen: Pen) -> Json:
    """The draft with the objects that it delivers, and what changes them per cluster."""
    done = {
        **status,
        "resourceSnapshotIndexUsed": str(index),
        "stagesStatus": [
            {
                **stage,
                "clusters": [
                    {**each, **_listed(overrides[each["clusterName"]])}
                    for each in stage["clusters"]
                ],
            }
            for stage in status["stagesStatus"]
        ],
    }
    pen.initialized(done)
    return done


def failed(failure: Failed, pen: Pen) -> Json:
    status = dict(failure.status)
    pen.not_initialized(status, f"{LEAD}{failure.cause}")
    return status


def snapshot_name(run: Json) -> str:
    """The master snapshot that a run which has begun delivers."""
    index = int(run["status"]["resourceSnapshotIndexUsed"])
    return naming.master_resource_snapshot(str(run["spec"]["placementName"]), index)


def _listed(found: Applicable) -> Json:
    return {name: value for name, value in found.binding_fields.items() if value}
