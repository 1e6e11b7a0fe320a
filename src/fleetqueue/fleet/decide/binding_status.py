"""What a binding says of its delivery: whether overrides fit, Works are written, and what the
member made of them; and the objects that failed, drifted or differ.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from fleetqueue.api.fleet.conditions import OverrideReason, PlacementAspect, WorkReason
from fleetqueue.api.fleet.strategy import ApplyStrategyType
from fleetqueue.fleet.decide import back_reporting, conditions, envelopes
from fleetqueue.fleet.decide.delivery import job_ends

Json = dict[str, Any]
LISTED_MAX = 100
ASPECTS = (
    PlacementAspect.OVERRIDDEN,
    PlacementAspect.WORK_SYNCHRONIZED,
    PlacementAspect.APPLIED,
    PlacementAspect.AVAILABLE,
    PlacementAspect.DIFF_REPORTED,
)
"""What is said here, in order; a condition of another type is not touched."""
_MEMBERS_WORD = (
    PlacementAspect.APPLIED,
    PlacementAspect.AVAILABLE,
    PlacementAspect.DIFF_REPORTED,
)
NOT_TRACKABLE = "WorkNotTrackable"
NOT_YET = "ManifestNotAvailableYet"
NOT_OVERRIDDEN = "Failed to apply the override rules on the resources: "
NOT_SYNCHRONIZED = "Failed to synchronize the work to the latest: "
_LISTS = ("failedPlacements", "driftedPlacements", "diffedPlacements")


@dataclass(frozen=True, slots=True)
class Told:
    """One condition, before it knows time and generation."""

    type: str
    status: str
    reason: str
    message: str

    @property
    def is_true(self) -> bool:
        return self.status == conditions.TRUE


@dataclass(frozen=True, slots=True)
class Sync:
    """How the writing of the Works went."""

    override_problem: str = ""
    problem: str = ""
    has_changed: bool = False
    """Works were made or changed just now."""
    is_same: bool = False
    """The Works are known to be those that the binding last spoke of."""
    awaited: frozenset[str] = frozenset()
    """The names of Works that are needed, and not there: others that go still have them."""
    back_report: Told | None = None
    """Whether statuses went back to the original objects, where the placement asks for that."""


@dataclass(frozen=True, slots=True)
class Wording:
    """How it is said that a member is at work: KubeFleet calls that a failure for the moment."""

    in_progress: str = conditions.UNKNOWN
    announces: bool = False
    """Whether Works that have just changed are told of as such."""


PLAIN = Wording()
COMPATIBLE = Wording(conditions.FALSE, announces=True)


def status(
    binding: Json, sync: Sync, works: Iterable[Json], now: datetime, wording: Wording = PLAIN
) -> Json:
    """The whole status as it should be; equal to the present one where nothing is new."""
    present: Json = binding.get("status") or {}
    ordered = sorted(works, key=_name)
    staying = [each for each in ordered if not each["metadata"].get("deletionTimestamp")]
    if not staying:
        sync = replace(sync, awaited=sync.awaited.union(map(_name, ordered)))
    told = list(_told(binding, sync, staying, wording))
    generation = int(binding["metadata"].get("generation") or 0)
    found = present.get("conditions") or []
    if not sync.is_same:
        found = [each for each in found if not _is_outdated(each, generation)]
    extra = [] if sync.back_report is None else [sync.back_report]
    said = {each.type for each in (*told, *extra)}
    mine = (*ASPECTS, back_reporting.CONDITION)
    found = conditions.without(found, *(each for each in mine if each not in said))
    for each in (*told, *extra):
        made = conditions.make(
            each.type, each.status, each.reason, each.message, generation=generation, now=now
        )
        found = conditions.put(found, made)
    rest = {name: value for name, value in present.items() if name not in (*_LISTS, "conditions")}
    return {**rest, "conditions": found, **_lists(told, sync, staying)}


def is_under_way(status: Json) -> bool:
    """Whether all that it says is that a member is at work."""
    applied = conditions.status_of(status.get("conditions"), PlacementAspect.APPLIED)
    return applied == conditions.UNKNOWN


def remembered(binding: Json) -> Sync:
    """How the writing of the Works went when the binding last said so."""
    present = (binding.get("status") or {}).get("conditions")
    texts = []
    for aspect, lead in (
        (PlacementAspect.OVERRIDDEN, NOT_OVERRIDDEN),
        (PlacementAspect.WORK_SYNCHRONIZED, NOT_SYNCHRONIZED),
    ):
        found = conditions.find(present, aspect) or {}
        is_false = found.get("status") == conditions.FALSE
        texts.append(str(found.get("message") or "").removeprefix(lead) if is_false else "")
    return Sync(override_problem=texts[0], problem=texts[1])


def _told(binding: Json, sync: Sync, works: Sequence[Json], wording: Wording) -> Iterable[Told]:
    yield (overridden := _overridden(binding, sync))
    if not overridden.is_true:
        return
    yield (synchronized := _synchronized(sync))
    if not synchronized.is_true:
        return
    announces = wording.announces and sync.has_changed
    if _is_report(binding):
        yield _diff_announced() if announces else _diff_reported(works, sync)
        return
    if announces:
        yield _apply_announced()
        return
    yield (applied := _applied(works, sync, wording))
    if applied.is_true:
        yield _available(works)


def _overridden(binding: Json, sync: Sync) -> Told:
    aspect = PlacementAspect.OVERRIDDEN
    if sync.override_problem:
        text = f"{NOT_OVERRIDDEN}{sync.override_problem}"
        return Told(aspect, conditions.FALSE, OverrideReason.FAILED, text)
    spec = binding["spec"]
    if spec.get("clusterResourceOverrideSnapshots") or spec.get("resourceOverrideSnapshots"):
        text = "Successfully applied the override rules on the resources"
        return Told(aspect, conditions.TRUE, OverrideReason.SUCCEEDED, text)
    text = "No override rules are configured for the selected resources"
    return Told(aspect, conditions.TRUE, "NoOverrideSpecified", text)


def _synchronized(sync: Sync) -> Told:
    aspect = PlacementAspect.WORK_SYNCHRONIZED
    if sync.problem:
        text = f"{NOT_SYNCHRONIZED}{sync.problem}"
        return Told(aspect, conditions.FALSE, WorkReason.SYNC_FAILED, text)
    text = "All of the works are synchronized to the latest"
    return Told(aspect, conditions.TRUE, "AllWorkSynced", text)


def _apply_announced() -> Told:
    text = "Resources are being applied"
    return Told(PlacementAspect.APPLIED, conditions.FALSE, "ApplyInProgress", text)


def _diff_announced() -> Told:
    text = "Diff reporting on resources is in progress"
    return Told(PlacementAspect.DIFF_REPORTED, conditions.FALSE, "DiffReportInProgress", text)


def _applied(works: Sequence[Json], sync: Sync, wording: Wording) -> Told:
    aspect, reason = PlacementAspect.APPLIED, "NotAllWorkHaveBeenApplied"
    if late := _late(works, aspect, sync):
        text = f"Work object {late} has not yet completed the apply op"
        return Told(aspect, wording.in_progress, reason, text)
    if failed := _first(works, aspect, _is_false):
        text = f"Work object {failed} has failed to apply"
        return Told(aspect, conditions.FALSE, reason, text)
    text = "All corresponding work objects are applied"
    return Told(aspect, conditions.TRUE, "AllWorkHaveBeenApplied", text)


def _available(works: Sequence[Json]) -> Told:
    aspect, reason = PlacementAspect.AVAILABLE, "NotAllWorkAreAvailable"
    if late := _first(works, aspect, _is_unknown):
        text = f"Work object {late} has not yet completed availability check"
        return Told(aspect, conditions.FALSE, reason, text)
    if missing := _first(works, aspect, _is_false):
        text = f"Work object {missing} is not yet available"
        return Told(aspect, conditions.FALSE, reason, text)
    if untracked := _first(works, aspect, _is_untrackable):
        text = f"The availability of work object {untracked} is not trackable"
        return Told(aspect, conditions.TRUE, "NotAllWorkAreAvailabilityTrackable", text)
    text = "All corresponding work objects are available"
    return Told(aspect, conditions.TRUE, "AllWorkAreAvailable", text)


def _diff_reported(works: Sequence[Json], sync: Sync) -> Told:
    aspect, reason = PlacementAspect.DIFF_REPORTED, "NotAllWorkHaveDiffReported"
    if late := _late(works, aspect, sync):
        text = f"Work object {late} has not yet completed diff reporting"
        return Told(aspect, conditions.FALSE, reason, text)
    if failed := _first(works, aspect, _is_false):
        text = f"Work object {failed} has failed to report diff"
        return Told(aspect, conditions.FALSE, reason, text)
    text = "All corresponding work objects have reported diff"
    return Told(aspect, conditions.TRUE, "AllWorkHaveDiffReported", text)


def _late(works: Sequence[Json], aspect: str, sync: Sync) -> str:
    """The lowest name of a Work that is not there, or of which the member has said nothing yet."""
    found = _first(works, aspect, _is_unknown)
    return min(sync.awaited | {found} if found else sync.awaited, default="")


def _first(works: Sequence[Json], aspect: str, is_so: Callable[[Json | None], bool]) -> str:
    """The lowest name of a Work of which that is so; "" where there is none."""
    found = (work for work in works if is_so(_current(work, aspect)))
    return next(map(_name, found), "")


def _name(work: Json) -> str:
    return str(work["metadata"]["name"])


def _current(work: Json, aspect: str) -> Json | None:
    """A condition of a Work, if it speaks of the Work as it is now."""
    found = conditions.find((work.get("status") or {}).get("conditions"), aspect)
    if found is None:
        return None
    generation = work["metadata"].get("generation") or 0
    return found if (found.get("observedGeneration") or 0) == generation else None


def _is_outdated(condition: Json, generation: int) -> bool:
    """Word of a member on other Works: what is said of these begins now, even if it is the same."""
    is_current = (condition.get("observedGeneration") or 0) == generation
    return condition["type"] in _MEMBERS_WORD and not is_current


def _is_unknown(found: Json | None) -> bool:
    return found is None or found["status"] not in (conditions.TRUE, conditions.FALSE)


def _is_false(found: Json | None) -> bool:
    return found is not None and bool(found["status"] == conditions.FALSE)


def _is_untrackable(found: Json | None) -> bool:
    return found is not None and found.get("reason") == NOT_TRACKABLE


def _is_report(binding: Json) -> bool:
    strategy = binding["spec"].get("applyStrategy") or {}
    return bool(strategy.get("type") == ApplyStrategyType.REPORT_DIFF)


# The objects in trouble


def _lists(told: Sequence[Told], sync: Sync, works: Sequence[Json]) -> Json:
    last = told[-1]
    shown: dict[str, list[Json]] = {}
    match last.type:
        case PlacementAspect.APPLIED if last.status == conditions.FALSE:
            if not _late(works, last.type, sync):
                shown["failedPlacements"] = _failed(works)
                shown["driftedPlacements"] = _drifted(works)
                shown["diffedPlacements"] = _diffed(works)
        case PlacementAspect.AVAILABLE:
            shown["driftedPlacements"] = _drifted(works)
            is_late = _first(works, last.type, _is_unknown)
            if last.status == conditions.FALSE and not is_late:
                shown["failedPlacements"] = _failed(works)
        case PlacementAspect.DIFF_REPORTED if last.is_true:
            shown["diffedPlacements"] = _diffed(works)
    return {name: shown[name] for name in _LISTS if shown.get(name)}


def _failed(works: Iterable[Json]) -> list[Json]:
    found = [
        {**_identity(work, manifest), "condition": condition}
        for work, manifest in _manifests(works)
        if (condition := _failure(manifest)) is not None
    ]
    return found[:LISTED_MAX]


def _failure(manifest: Json) -> Json | None:
    told = manifest.get("conditions")
    for aspect in (PlacementAspect.APPLIED, PlacementAspect.AVAILABLE):
        found = conditions.find(told, aspect)
        if found is not None and found["status"] == conditions.FALSE:
            return None if _is_under_way(manifest, found) else found
    return None


def _is_under_way(manifest: Json, condition: Json) -> bool:
    """A job that waits or runs has not failed; in the compatible mode none is ever looked at."""
    named = manifest.get("identifier") or {}
    is_job = job_ends.is_job(str(named.get("group") or ""), str(named.get("kind") or ""))
    return is_job and condition["reason"] == NOT_YET


def _drifted(works: Iterable[Json]) -> list[Json]:
    found = [
        {
            **_identity(work, manifest),
            "observationTime": details["observationTime"],
            "targetClusterObservedGeneration": details["observedInMemberClusterGeneration"],
            "firstDriftedObservedTime": details["firstDriftedObservedTime"],
            "observedDrifts": details.get("observedDrifts") or [],
        }
        for work, manifest in _manifests(works)
        if (details := manifest.get("driftDetails"))
    ]
    return sorted(found, key=_order)[:LISTED_MAX]


def _diffed(works: Iterable[Json]) -> list[Json]:
    found = []
    for work, manifest in _manifests(works):
        details = manifest.get("diffDetails")
        if not details:
            continue
        entry = {**_identity(work, manifest), "observationTime": details["observationTime"]}
        generation = details.get("observedInMemberClusterGeneration")
        if generation is not None:
            entry["targetClusterObservedGeneration"] = generation
        entry["firstDiffedObservedTime"] = details["firstDiffedObservedTime"]
        entry["observedDiffs"] = details.get("observedDiffs") or []
        found.append(entry)
    return sorted(found, key=_order)[:LISTED_MAX]


def _manifests(works: Iterable[Json]) -> Iterable[tuple[Json, Json]]:
    for work in works:
        for manifest in (work.get("status") or {}).get("manifestConditions") or ():
            yield work, manifest


def _identity(work: Json, manifest: Json) -> Json:
    named = manifest.get("identifier") or {}
    entry: Json = {name: str(named.get(name) or "") for name in ("version", "kind", "name")}
    for name in ("group", "namespace"):
        if named.get(name):
            entry[name] = named[name]
    envelope = envelopes.envelope_of_work(work)
    return entry if envelope is None else {**entry, "envelope": envelope.identifier}


def _order(entry: Json) -> tuple[str, ...]:
    names = ("group", "version", "kind", "namespace", "name")
    return tuple(str(entry.get(name) or "") for name in names)
