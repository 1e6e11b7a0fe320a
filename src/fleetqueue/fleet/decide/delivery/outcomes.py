"""What came of one manifest, and the conditions that tell it."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from fleetqueue.api.fleet.conditions import PlacementAspect
from fleetqueue.api.times import format_time, parse_time
from fleetqueue.fleet.decide import conditions
from fleetqueue.fleet.decide.delivery import forms
from fleetqueue.fleet.decide.delivery.availability import Availability
from fleetqueue.fleet.decide.delivery.manifests import Manifest

Json = dict[str, Any]

APPLIED = "Applied"
APPLIED_UNCHECKED = "AppliedWithFailedDriftDetection"
NOT_FOUND_OUT = "FailedToFindObjInMemberCluster"
FAILED_TAKE_OVER = "FailedToTakeOver"
NOT_TAKEN_OVER = "NotTakenOver"
FAILED_DETECTION = "FailedToRunDriftDetection"
FOUND_DRIFTS = "FoundDrifts"
FOUND_DRIFTS_DEGRADED = "FoundDriftsInDegradedMode"
APPLY_FAILED = "ManifestApplyFailed"
NO_DIFF = "NoDiffFound"
FOUND_DIFF = "FoundDiff"
FOUND_DIFF_DEGRADED = "FoundDiffInDegradedMode"
FAILED_REPORT = "FailedToReportDiff"
PREPARING = "PreparingToProcess"

DEGRADED = (
    " in degraded mode (full comparison is performed instead of partial comparison, as the manifest"
    " object is considered to be invalid by the member cluster API server)"
)
NO_OWNERSHIP = "no ownership of the object in the member cluster; takeover is needed"
DRIFTED = (
    "cannot apply manifest: drifts are found between the manifest and the object from the member"
    " cluster"
)
_PREPARING = "The manifest is being prepared for processing."
_SUCCESS = "Manifest has been applied successfully"
_BETWEEN = "between the hub cluster and the member cluster"
_REPORTS = {
    NO_DIFF: f"No diff has been found {_BETWEEN}",
    FOUND_DIFF: f"Diff has been found {_BETWEEN}",
    FOUND_DIFF_DEGRADED: "Diff has been found in degraded mode: cannot perform partial comparison"
    " as the member cluster API server rejected the manifest object (object is invalid)",
}
FRESH = timedelta(seconds=2)
"""An observation that is no older is not made anew for its time alone: no look comes sooner."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """`result` is the reason of the condition that tells of it."""

    manifest: Manifest
    result: str
    error: str = ""
    live: Json | None = None
    """The object as it is now; None where there is none, or nobody knows."""
    drifts: tuple[Json, ...] = ()
    diffs: tuple[Json, ...] = ()
    availability: Availability | None = None
    tombstone: Json | None = None
    """The condition that tells how the job ended."""
    generation: int | None = None
    """Of an object that is no more."""

    @property
    def is_applied(self) -> bool:
        return self.result in (APPLIED, APPLIED_UNCHECKED)

    @property
    def is_reported(self) -> bool:
        return self.result in _REPORTS

    @property
    def observed(self) -> int:
        return forms.generation(self.live) if self.generation is None else self.generation


def preparing(entry: Json | None, manifest: Manifest, work: Json, now: datetime) -> Json:
    """What is written of a manifest before anything is done; what is known of it stays."""
    if entry is not None:
        return {**entry, "identifier": manifest.identifier}
    condition = made(
        PlacementAspect.APPLIED, False, PREPARING, _PREPARING, forms.generation(work), now
    )
    return {"identifier": manifest.identifier, "conditions": [condition]}


def entry(outcome: Outcome, before: Json | None, is_report: bool, now: datetime) -> Json:
    """The entry of a manifest in the status of its Work."""
    told = _reported(outcome, now) if is_report else _applied(outcome, now)
    known = (before or {}).get("conditions")
    result: Json = {
        "identifier": outcome.manifest.identifier,
        "conditions": [conditions.settled(known, each) for each in told],
    }
    observed = outcome.observed if outcome.live is not None else None
    for name, first, listed, found in (
        ("driftDetails", "firstDriftedObservedTime", "observedDrifts", outcome.drifts),
        ("diffDetails", "firstDiffedObservedTime", "observedDiffs", outcome.diffs),
    ):
        if found:
            details: Json = {first: format_time(now), listed: list(found)}
            if observed is not None:
                details["observedInMemberClusterGeneration"] = observed
            old = (before or {}).get(name)
            result[name] = _details(details, first, old, now)
    return result


def made(
    type: str, is_true: bool, reason: str, message: str, generation: int, now: datetime
) -> Json:
    """A condition; a generation of zero is not said."""
    status = conditions.TRUE if is_true else conditions.FALSE
    condition = conditions.make(type, status, reason, message, generation=generation, now=now)
    if not generation:
        del condition["observedGeneration"]
    return condition


def _applied(outcome: Outcome, now: datetime) -> list[Json]:
    generation = outcome.observed
    told = [
        made(
            PlacementAspect.APPLIED,
            outcome.is_applied,
            outcome.result,
            _applied_text(outcome),
            generation,
            now,
        )
    ]
    found = outcome.availability
    if outcome.is_applied and found is not None:
        told.append(
            made(
                PlacementAspect.AVAILABLE,
                found.is_true,
                found.reason,
                found.message,
                generation,
                now,
            )
        )
    return told if outcome.tombstone is None else [*told, outcome.tombstone]


def _applied_text(outcome: Outcome) -> str:
    if outcome.result == APPLIED:
        return _SUCCESS
    if outcome.result == APPLIED_UNCHECKED:
        return f"{_SUCCESS}, but drift detection has failed (error: {outcome.error})"
    return f"Failed to apply the manifest (error: {outcome.error})"


def _reported(outcome: Outcome, now: datetime) -> list[Json]:
    text = _REPORTS.get(outcome.result, "")
    if outcome.result == FAILED_REPORT:
        text = f"Failed to report the diff {_BETWEEN} (error = {outcome.error})"
    elif not text:
        text = f"An error blocks the diff reporting process ({outcome.result}, error: "
        text += f"{outcome.error})"
    type = PlacementAspect.DIFF_REPORTED
    return [made(type, outcome.is_reported, outcome.result, text, outcome.observed, now)]


def _details(details: Json, first: str, old: Json | None, now: datetime) -> Json:
    """With the times at which this was seen first and last."""
    if old is not None:
        details[first] = old[first]
        is_same = {**details, "observationTime": old["observationTime"]} == old
        if is_same and now - parse_time(old["observationTime"]) < FRESH:
            return old
    return {**details, "observationTime": format_time(now)}
