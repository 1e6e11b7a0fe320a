"""What a placement says of itself: the conditions over all clusters, and the events that go with
their changes.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any

from fleetqueue.api.fleet.conditions import PlacementAspect
from fleetqueue.api.fleet.text import client_error
from fleetqueue.fleet.decide import back_reporting, conditions, status_clusters
from fleetqueue.fleet.decide import status_texts as texts
from fleetqueue.fleet.decide.status_clusters import Facts

Json = dict[str, Any]
STATUS_SYNCED = "ClusterResourcePlacementStatusSynced"


def told(
    facts: Facts, identities: Sequence[Json], identities_of: Callable[[str], Sequence[Json]]
) -> Json:
    """The whole status. `identities`: what the hub's own roll-out delivers, or is selected now;
    `identities_of`: what the snapshot of an index holds, for roll-outs by others.
    """
    if not is_scheduled(facts):
        return _pending(facts, identities, identities_of)
    entries = status_clusters.entries(facts)
    picked = [each for each in entries if each.get("clusterName")]
    scheduled = conditions.find(facts.policy["status"]["conditions"], texts.SCHEDULED)
    assert scheduled is not None
    said = [_condition(facts, PlacementAspect.SCHEDULED, *_words(scheduled))]
    index, found = facts.index, identities
    if facts.is_external:
        index, found = _common(facts, identities_of)
    if picked:
        rollout = _external(facts, picked) if facts.is_external else None
        said += [rollout] if rollout is not None else _aggregated(facts, picked)
    said += [*_foreign(facts), *_refused(facts)]
    return _status(index, found, entries, said)


def invalid(placement: Json, text: str, now: datetime) -> Json:
    """The status where the selectors cannot be followed: only that is said, the rest stays."""
    status = placement.get("status") or {}
    made = conditions.make(
        PlacementAspect.SCHEDULED.of(placement["kind"]),
        conditions.FALSE,
        texts.INVALID_SELECTORS,
        text,
        generation=int(placement["metadata"].get("generation") or 0),
        now=now,
    )
    return {**status, "conditions": conditions.put(status.get("conditions"), made)}


def refusal(cause: str) -> str:
    """What is said of selectors that are the user's mistake."""
    return f"The resource selectors are invalid: {client_error(cause)}"


def synced(status: Json, generation: int, now: datetime, namespace: str, error: str = "") -> Json:
    """The status with word on its copy in a namespace; `error`: why there is none."""
    made = conditions.make(
        STATUS_SYNCED,
        conditions.FALSE if error else conditions.TRUE,
        texts.SYNC_FAILED if error else texts.SYNC_SUCCEEDED,
        f"Failed to create or update ClusterResourcePlacementStatus: {error}"
        if error
        else "Successfully created or updated ClusterResourcePlacementStatus in namespace"
        f" '{namespace}'",
        generation=generation,
        now=now,
    )
    return {**status, "conditions": conditions.put(status.get("conditions"), made)}


def copied(status: Json) -> Json:
    """What a namespace gets to see: all but word on the copy itself."""
    kept = conditions.without(status.get("conditions"), STATUS_SYNCED)
    return {**status, "conditions": kept}


def is_scheduled(facts: Facts) -> bool:
    """Whether the scheduler has spoken about the placement as it is now."""
    status = facts.policy.get("status") or {}
    found = conditions.find(status.get("conditions"), texts.SCHEDULED)
    if found is None:
        return False
    is_current = found.get("observedGeneration") == facts.policy["metadata"].get("generation")
    return is_current and int(status.get("observedCRPGeneration") or 0) >= facts.generation


def is_under_way(before: Json, status: Json) -> bool:
    """Whether all that is new is a step on the way: neither a choice of clusters, nor an end."""
    found = [each["status"] for each in status.get("conditions") or ()]
    is_step = conditions.UNKNOWN in found and conditions.FALSE not in found
    return is_step and _chosen(before) == _chosen(status)


def _chosen(status: Json) -> tuple[bool, list[str]]:
    """Whether the scheduler has spoken, and which clusters it has chosen."""
    told = status.get("conditions") or ()
    is_chosen = any(
        each["type"].endswith(PlacementAspect.SCHEDULED) and each["status"] == conditions.TRUE
        for each in told
    )
    entries = status.get("placementStatuses") or ()
    return is_chosen, [str(each.get("clusterName") or "") for each in entries]


def events(facts: Facts, status: Json) -> Iterator[tuple[str, str]]:
    """Reason and message of what just became true for this generation."""
    before = (facts.placement.get("status") or {}).get("conditions")
    now, kind, generation = status.get("conditions"), _kind(facts), facts.generation

    def became_true(aspect: PlacementAspect) -> bool:
        type = aspect.of(kind)
        return is_true(now, type, generation) and not is_true(before, type, generation)

    for aspect in facts.aspects:
        if aspect in texts.EVENTS and became_true(aspect):
            yield texts.EVENTS[aspect]
    if is_complete(now, facts) and not is_complete(before, facts):
        yield texts.COMPLETED


def is_complete(found: Sequence[Json] | None, facts: Facts) -> bool:
    expected = (PlacementAspect.SCHEDULED, *facts.aspects)
    return all(is_true(found, each.of(_kind(facts)), facts.generation) for each in expected)


def is_true(found: Sequence[Json] | None, type: str, generation: int) -> bool:
    one = conditions.find(found, type)
    return (
        one is not None
        and one["status"] == conditions.TRUE
        and int(one.get("observedGeneration") or 0) == generation
    )


def measured(facts: Facts, status: Json) -> tuple[str, str, str]:
    """Type, status and reason of the first condition that is not true, for the metric."""
    for aspect in (PlacementAspect.SCHEDULED, *facts.aspects):
        type = aspect.of(_kind(facts))
        one = conditions.find(status.get("conditions"), type)
        if one is None or int(one.get("observedGeneration") or 0) != facts.generation:
            return type, conditions.UNKNOWN, conditions.UNKNOWN
        if one["status"] != conditions.TRUE:
            return type, str(one["status"]), str(one.get("reason") or "")
    return "Completed", conditions.TRUE, "Completed"


def _pending(
    facts: Facts, identities: Sequence[Json], identities_of: Callable[[str], Sequence[Json]]
) -> Json:
    """No cluster is told of until the scheduler has spoken; other conditions stay as they are."""
    index, found = facts.index, identities
    if facts.is_external and any(_indexes(facts)):
        index, found = _common(facts, identities_of)
    made = _condition(facts, PlacementAspect.SCHEDULED, conditions.UNKNOWN, *texts.SCHEDULE_PENDING)
    before = (facts.placement.get("status") or {}).get("conditions")
    return _status(index, found, [], conditions.put(before, made))


def _aggregated(facts: Facts, picked: Sequence[Json]) -> Iterator[Json]:
    """Each aspect over all clusters; the first that is not true is the last."""
    for aspect in facts.aspects:
        found = [conditions.find(each["conditions"], aspect) for each in picked]
        statuses = [conditions.UNKNOWN if one is None else one["status"] for one in found]
        status = _worst(statuses)
        reason, message = texts.WORDS[aspect].of(status, statuses.count(status))
        if aspect == texts.OVERRIDDEN and status == conditions.TRUE and _is_unchanged(found):
            reason, message = texts.NO_OVERRIDE, texts.NO_OVERRIDE_TEXT
        yield _condition(facts, aspect, status, reason, message)
        if status != conditions.TRUE:
            return


def _worst(statuses: Sequence[str]) -> str:
    order = (conditions.UNKNOWN, conditions.FALSE)
    return next((each for each in order if each in statuses), conditions.TRUE)


def _is_unchanged(found: Sequence[Json | None]) -> bool:
    return all(one is not None and one.get("reason") == texts.NO_OVERRIDE for one in found)


def _indexes(facts: Facts) -> list[str]:
    """Of what each picked cluster is given."""
    latest = status_clusters.latest_bindings(facts)
    picked = [each["clusterName"] for each in facts.decisions if each.get("selected")]
    return [status_clusters.snapshot_index(facts.name, latest.get(name)) for name in picked]


def _common(
    facts: Facts, identities_of: Callable[[str], Sequence[Json]]
) -> tuple[str, Sequence[Json]]:
    """The index that all clusters have, and what it holds; nothing where they differ."""
    found = set(_indexes(facts))
    if len(found) != 1 or "" in found:
        return "", []
    index = found.pop()
    return index, identities_of(index)


def _external(facts: Facts, picked: Sequence[Json]) -> Json | None:
    """What keeps a roll-out by others from being told; None where nothing does."""
    found = set(_indexes(facts))
    text = ""
    if found == {""}:
        run = "StagedUpdateRun" if _kind(facts) == "ResourcePlacement" else "ClusterStagedUpdateRun"
        text = (
            "no resource snapshot name is observed across clusters. To determine rollout status,"
            f" check the {run} resources with spec.placementName matching this placement"
        )
    elif len(found) > 1:
        text = "different resource snapshot versions are observed across clusters"
    else:
        for each in picked:
            if conditions.status_of(each["conditions"], texts.ROLLOUT) == conditions.UNKNOWN:
                text = f"cluster {each['clusterName']} is in RolloutStarted Unknown state"
                break
    if not text:
        return None
    message = f"{texts.EXTERNAL_TEXT}{text}"
    return _condition(facts, texts.ROLLOUT, conditions.UNKNOWN, texts.EXTERNAL, message)


def _condition(
    facts: Facts, aspect: PlacementAspect, status: str, reason: str, message: str
) -> Json:
    before = (facts.placement.get("status") or {}).get("conditions")
    made = conditions.make(
        aspect.of(_kind(facts)),
        status,
        reason,
        message,
        generation=facts.generation,
        now=facts.now,
    )
    return conditions.settled(before, made)


def _foreign(facts: Facts) -> list[Json]:
    """Conditions that others set."""
    own = {each.of(_kind(facts)) for each in PlacementAspect} | {_back_reporting(facts)}
    before = (facts.placement.get("status") or {}).get("conditions") or ()
    return [each for each in before if each["type"] not in own]


def _refused(facts: Facts) -> list[Json]:
    """A placement on several clusters cannot have their statuses written to the originals."""
    text = back_reporting.refusal(facts.placement)
    if not text or not back_reporting.is_wanted(facts.placement):
        return []
    made = conditions.make(
        _back_reporting(facts),
        conditions.FALSE,
        back_reporting.REFUSED,
        text,
        generation=facts.generation,
        now=facts.now,
    )
    before = (facts.placement.get("status") or {}).get("conditions")
    old = conditions.find(before, made["type"])
    return conditions.put([] if old is None else [old], made)


def _back_reporting(facts: Facts) -> str:
    return f"{_kind(facts)}{back_reporting.CONDITION}"


def _status(
    index: str, identities: Sequence[Json], entries: Sequence[Json], said: Sequence[Json]
) -> Json:
    found: Json = {
        "selectedResources": list(identities),
        "observedResourceIndex": index,
        "placementStatuses": list(entries),
        "conditions": list(said),
    }
    return {name: value for name, value in found.items() if value}


def _kind(facts: Facts) -> str:
    return str(facts.placement["kind"])


def _words(found: Json) -> tuple[str, str, str]:
    return found["status"], found.get("reason") or "", found.get("message") or ""
