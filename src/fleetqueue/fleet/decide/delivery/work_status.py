"""The status of a Work and of its AppliedWork, from what came of the manifests."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from fleetqueue.api.fleet.conditions import STATUS_TRIMMED, PlacementAspect
from fleetqueue.api.times import format_time
from fleetqueue.base import codec
from fleetqueue.fleet.decide import conditions
from fleetqueue.fleet.decide.delivery import forms, manifests, outcomes
from fleetqueue.fleet.decide.delivery.availability import NOT_TRACKABLE
from fleetqueue.fleet.decide.delivery.manifests import Identity, Manifest, Place
from fleetqueue.fleet.decide.delivery.outcomes import Outcome

Json = dict[str, Any]

STATUS_BYTES_MAX = 1_415_578
OMITTED = "(omitted)"
_LISTS = (("driftDetails", "observedDrifts"), ("diffDetails", "observedDiffs"))


def entries(work: Json) -> list[Json]:
    return list((work.get("status") or {}).get("manifestConditions") or ())


def entries_by_place(work: Json) -> dict[Place, Json]:
    """What the Work says of its objects, wherever that stands in the list."""
    found: dict[Place, Json] = {}
    for each in entries(work):
        identity = manifests.identity_of(each["identifier"])
        # An entry of a manifest that could not be read, or came twice, tells nothing of the object.
        if identity.resource and not _is_unusable(each):
            found.setdefault(identity.place, each)
    return found


def left_over(
    work: Json,
    usable: Iterable[Manifest],
    expected: Sequence[Identity] | None = None,
    listed: Sequence[Identity] = (),
) -> list[Identity]:
    """Objects that the Work once had and has no more; `expected`: noted before it told of any;
    `listed`: those of its AppliedWork, with what it lost while differences were only reported.
    """
    wanted = {each.identity.place for each in usable}
    told = [manifests.identity_of(each["identifier"]) for each in entries(work)]
    found = dict.fromkeys([*(told or expected or ()), *listed])
    return [each for each in found if each.resource and each.name and each.place not in wanted]


def ahead(
    work: Json,
    usable: Sequence[Manifest],
    now: datetime,
    expected: Sequence[Identity] | None = None,
) -> Json | None:
    """The status that is written before the first deed; None where nothing in it is new, or all
    that is new was `expected`, and noted elsewhere.

    Objects that are made after this are found again, whatever happens in between.
    """
    if expected is not None and not entries(work):
        places = {each.place for each in expected}
        if all(each.identity.place in places for each in usable):
            return None
    told = entries_by_place(work)
    known = [told.get(each.identity.place) for each in usable]
    if all(each is not None for each in known) and (known or work.get("status")):
        return None
    made = [
        outcomes.preparing(before, manifest, work, now)
        for manifest, before in zip(usable, known, strict=True)
    ]
    status = work.get("status") or {}
    return {"conditions": list(status.get("conditions") or ()), "manifestConditions": made}


def status(
    work: Json, found: Sequence[Outcome], now: datetime, *, is_report: bool, reports_back: bool
) -> Json:
    """The whole status once every manifest was looked at."""
    made, known = [], entries_by_place(work)
    for outcome in found:
        before = _before(work, known, outcome)
        entry = outcomes.entry(outcome, before, is_report, now)
        if reports_back and (back := _back_reported(outcome, before, now)):
            entry["backReportedStatus"] = back
        made.append(entry)
    told = _of_reports(found) if is_report else _of_applies(found)
    result = {"conditions": _conditions(work, told, now), "manifestConditions": made}
    return _trimmed(work, result, now)


def listed(applied_work: Json) -> list[Identity]:
    """What an AppliedWork lists."""
    found = (applied_work.get("status") or {}).get("appliedResources") or ()
    return [manifests.identity_of(each) for each in found]


def applied_resources(found: Iterable[Outcome]) -> list[Json]:
    """What an AppliedWork lists: what was applied, and is there."""
    return [
        {**each.manifest.identifier, "uid": each.live["metadata"]["uid"]}
        for each in found
        if each.is_applied and each.live is not None
    ]


Told = tuple[str, bool, str, str]


def _of_applies(found: Sequence[Outcome]) -> list[Told]:
    applied = sum(each.is_applied for each in found)
    if applied < len(found):
        text = f"Failed to apply all manifests ({applied} of {len(found)} manifests are applied)"
        return [(PlacementAspect.APPLIED, False, "SomeManifestsAreNotApplied", text)]
    text = "All the specified manifests have been applied"
    return [
        (PlacementAspect.APPLIED, True, "AllManifestsApplied", text),
        (PlacementAspect.AVAILABLE, *_of_availability(found)),
    ]


def _of_availability(found: Sequence[Outcome]) -> tuple[bool, str, str]:
    """What is not available yet counts for more than what nobody can track."""
    judged = [each.availability for each in found if each.availability is not None]
    available = sum(each.is_true for each in judged)
    if available < len(found):
        text = f"Some manifests are not available ({available} of {len(found)} manifests are"
        return False, "SomeManifestsAreNotAvailable", f"{text} available)"
    if NOT_TRACKABLE in judged:
        text = "Some of the applied manifests cannot be tracked for availability"
        return True, "WorkNotTrackable", text
    return True, "AllManifestsAvailable", "All of the applied manifests are available"


def _of_reports(found: Sequence[Outcome]) -> list[Told]:
    """A difference found in degraded mode is reported, and yet does not count here."""
    counted = (outcomes.NO_DIFF, outcomes.FOUND_DIFF)
    reported = sum(each.result in counted for each in found)
    if reported < len(found):
        text = f"Failed to report diff on all manifests ({reported} of {len(found)} manifests have"
        reason = "SomeManifestsHaveNotReportedDiff"
        return [(PlacementAspect.DIFF_REPORTED, False, reason, f"{text} reported diff)")]
    text = "All the specified manifests have reported diff"
    return [(PlacementAspect.DIFF_REPORTED, True, "AllManifestsDiffReported", text)]


def _conditions(work: Json, told: Iterable[Told], now: datetime) -> list[Json]:
    known = (work.get("status") or {}).get("conditions")
    generation = forms.generation(work)
    made = (
        outcomes.made(type, is_true, reason, text, generation, now)
        for type, is_true, reason, text in told
    )
    return [conditions.settled(known, each) for each in made]


def _before(work: Json, known: Mapping[Place, Json], outcome: Outcome) -> Json | None:
    """The entry of the same object; of one that cannot be used, that in the same place."""
    if not outcome.manifest.problem:
        return known.get(outcome.manifest.identity.place)
    wanted = outcome.manifest.identifier
    return next((each for each in entries(work) if each["identifier"] == wanted), None)


def _is_unusable(entry: Mapping[str, Any]) -> bool:
    problems = (manifests.DECODING_ERRED, manifests.GENERATE_NAME, manifests.DUPLICATED)
    return any(each.get("reason") in problems for each in entry.get("conditions") or ())


def _back_reported(outcome: Outcome, before: Json | None, now: datetime) -> Json | None:
    """The object's own status; of an object that is gone, the last that was seen."""
    known: Json | None = (before or {}).get("backReportedStatus")
    live = outcome.live
    if live is None or "status" not in live:
        return known if outcome.is_applied else None
    observed = {name: live.get(name) for name in ("apiVersion", "kind", "status")}
    if known is not None and known.get("observedStatus") == observed:
        return known
    return {"observedStatus": observed, "observationTime": format_time(now)}


def _trimmed(work: Json, result: Json, now: datetime) -> Json:
    """A status that no server would store is cut to who differs, and where first."""
    over = len(codec.encode(result)) - STATUS_BYTES_MAX
    if over <= 0:
        return result
    text = (
        "The status data (drift/diff details and back-reported status) has been trimmed due to size"
        f" constraints ({over} bytes over limit {STATUS_BYTES_MAX})"
    )
    told = [(STATUS_TRIMMED, True, "Oversized", text)]
    return {
        "conditions": [*result["conditions"], *_conditions(work, told, now)],
        "manifestConditions": [_cut(each) for each in result["manifestConditions"]],
    }


def _cut(entry: Json) -> Json:
    made = {name: value for name, value in entry.items() if name != "backReportedStatus"}
    for name, listed in _LISTS:
        details = made.get(name)
        if details:
            paths = [each["path"] for each in details[listed]]
            more = f" and {len(paths) - 1} more path(s)" if len(paths) > 1 else ""
            one = {"path": f"{paths[0]}{more}", "valueInMember": OMITTED, "valueInHub": OMITTED}
            made[name] = {**details, listed: [one]}
    return made
