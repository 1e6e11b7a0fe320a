"""What is around a run: its placement, the policy that holds, and the bindings that it shall change
or take away; and what may be wrong with that.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fleetqueue.api.fleet import defaults, labels
from fleetqueue.api.fleet.binding import BindingState
from fleetqueue.api.fleet.conditions import PlacementAspect
from fleetqueue.api.fleet.policy import PlacementType
from fleetqueue.api.fleet.strategy import RolloutStrategyType
from fleetqueue.api.fleet.text import client_error, object_name
from fleetqueue.fleet.decide import bindings, conditions, snapshots
from fleetqueue.fleet.decide.update_runs.stages import Invalid

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Scene:
    """Read from the caches, before anything is decided."""

    run: Json
    placement: Json | None = None
    policy: Json | None = None
    """The latest policy snapshot."""
    bindings: Sequence[Json] = ()
    """All of the placement."""
    strategy: Json | None = None
    """In which order clusters change."""

    @property
    def name(self) -> str:
        return str(self.run["metadata"]["name"])

    @property
    def namespace(self) -> str:
        return str(self.run["metadata"].get("namespace") or "")

    @property
    def placement_name(self) -> str:
        return str(self.run["spec"]["placementName"])


@dataclass(slots=True)
class Ground:
    """What a run rests on; filled in as far as it could be found out."""

    strategy: Json | None = None
    """The apply strategy."""
    index: str = ""
    """Of the policy snapshot."""
    count: int | None = None
    """Of clusters."""
    updating: Mapping[str, Json] = field(default_factory=dict)
    """By cluster, the bindings that get the new objects."""
    leaving: Mapping[str, Json] = field(default_factory=dict)
    """By cluster, those that go at the end."""

    @property
    def status(self) -> Json:
        """The part of the run's status that tells of it."""
        told: Json = {}
        if self.strategy is not None:
            told["appliedStrategy"] = self.strategy
        if self.index:
            told["policySnapshotIndexUsed"] = self.index
        if self.count is not None:
            told["policyObservedClusterCount"] = self.count
        return told


def survey(scene: Scene, ground: Ground, *, is_begun: bool = False) -> None:
    """Fills in what the run rests on. Raises Invalid where it cannot be; `is_begun`: clusters that
    a run has taken away already are missed by nobody.
    """
    placement = _placement(scene, is_begun=is_begun)
    ground.strategy = placement["spec"]["strategy"]["applyStrategy"]
    policy = _policy(scene)
    ground.index = snapshots.label(policy, labels.POLICY_INDEX)
    ground.count = _count(policy)
    updating, leaving = _bindings(scene.bindings, policy)
    if not updating and not leaving and not is_begun:
        where = object_name(scene.namespace, str(policy["metadata"]["name"]))
        raise Invalid(
            f"no scheduled or to-be-deleted bindings found for the latest policy snapshot {where}"
        )
    if ground.count is None:
        ground.count = len(updating)
    elif ground.count != len(updating):
        raise Invalid(
            f"the number of selected bindings {len(updating)} is not equal to the observed"
            f" cluster count {ground.count}"
        )
    ground.updating, ground.leaving = updating, leaving


def _placement(scene: Scene, *, is_begun: bool) -> Json:
    found = scene.placement
    # Of one that goes, the snapshots and bindings are going too, in no order.
    if found is None or (is_begun and found["metadata"].get("deletionTimestamp")):
        raise Invalid(client_error("parent placement not found"))
    placement = defaults.defaulted(found)
    kind = placement["spec"]["strategy"]["type"]
    if kind != RolloutStrategyType.EXTERNAL:
        raise Invalid(
            client_error(
                "parent placement does not have an external rollout strategy, current strategy:"
                f" {kind}"
            )
        )
    return placement


def _policy(scene: Scene) -> Json:
    policy = scene.policy
    if policy is None:
        where = object_name(scene.namespace, scene.placement_name)
        text = f"no latest policy snapshot found for placement: `{where}`"
        raise Invalid(client_error(text))
    told = conditions.find(
        (policy.get("status") or {}).get("conditions"), PlacementAspect.SCHEDULED
    )
    generation = policy["metadata"].get("generation") or 0
    is_current = told is not None and (told.get("observedGeneration") or 0) == generation
    if told is None or not is_current or told["status"] != conditions.TRUE:
        name = policy["metadata"]["name"]
        raise Invalid(client_error(f"policy snapshot `{name}` not fully scheduled yet"))
    return policy


def _count(policy: Json) -> int | None:
    """How many clusters the policy asks for; None where it takes all that fit."""
    told = policy["spec"].get("policy") or {}
    match told.get("placementType"):
        case PlacementType.PICK_N:
            text = snapshots.annotation(policy, labels.NUMBER_OF_CLUSTERS)
            return int(text) if text.isdecimal() else 0
        case PlacementType.PICK_FIXED:
            return len(told.get("clusterNames") or ())
    return None


def _bindings(found: Iterable[Json], policy: Json) -> tuple[dict[str, Json], dict[str, Json]]:
    updating: dict[str, Json] = {}
    leaving: dict[str, Json] = {}
    latest = str(policy["metadata"]["name"])
    for each in found:
        cluster = bindings.target_cluster(each)
        if bindings.state(each) == BindingState.UNSCHEDULED:
            leaving[cluster] = each
        elif bindings.is_deleting(each):
            continue
        elif bindings.policy_snapshot(each) == latest:
            updating[cluster] = each
        else:
            raise Invalid(
                f"binding `{each['metadata']['name']}` with old policy snapshot"
                f" {bindings.policy_snapshot(each)} has state {bindings.state(each)}, not"
                " unscheduled"
            )
    return updating, leaving
