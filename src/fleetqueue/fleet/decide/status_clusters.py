"""How a placement stands on each cluster, told from the scheduler's decisions and the bindings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fleetqueue.api.fleet import naming
from fleetqueue.api.fleet.conditions import PlacementAspect
from fleetqueue.fleet.decide import bindings, conditions
from fleetqueue.fleet.decide import status_texts as texts

Json = dict[str, Any]
_APPLYING = (texts.APPLIED, texts.AVAILABLE)
_UNFINISHED = "has not yet completed"
"""In the message of a binding whose Works are still being worked on."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What a status is told from."""

    placement: Json
    policy: Json
    """The latest policy snapshot."""
    bindings: Sequence[Json]
    """All of the placement."""
    now: datetime
    master: str = ""
    """The name of the latest resource snapshot, where the hub itself rolls out."""
    index: str = ""
    is_external: bool = False
    is_job_aware: bool = True

    @property
    def name(self) -> str:
        return str(self.placement["metadata"]["name"])

    @property
    def generation(self) -> int:
        return int(self.placement["metadata"].get("generation") or 0)

    @property
    def aspects(self) -> tuple[PlacementAspect, ...]:
        """What comes after scheduling, in order."""
        strategy = self.placement["spec"].get("strategy") or {}
        first = (texts.ROLLOUT, texts.OVERRIDDEN, texts.SYNCHRONIZED)
        if (strategy.get("applyStrategy") or {}).get("type") == "ReportDiff":
            return (*first, texts.DIFF_REPORTED)
        return (*first, *_APPLYING)

    @property
    def decisions(self) -> list[Json]:
        return list((self.policy.get("status") or {}).get("targetClusters") or ())


def entries(facts: Facts) -> list[Json]:
    """The clusters that were picked, in the order of the decisions, then what could not be."""
    picked = [each for each in facts.decisions if each.get("selected")]
    latest = latest_bindings(facts)
    old = (facts.placement.get("status") or {}).get("placementStatuses") or ()
    known = {each["clusterName"]: each for each in old if each.get("clusterName")}
    missing = _missing(facts, len(picked))
    nameless = [each for each in old if not each.get("clusterName")]
    nameless += [{}] * len(missing)
    return [
        *(_entry(facts, each, latest, known) for each in picked),
        *(_failure(facts, *pair) for pair in zip(missing, nameless, strict=False)),
    ]


def latest_bindings(facts: Facts) -> Mapping[str, Json]:
    """By cluster, those that rest on the policy as it is; one that is going counts least."""
    name = facts.policy["metadata"]["name"]
    found: dict[str, Json] = {}
    for each in facts.bindings:
        if bindings.policy_snapshot(each) == name:
            cluster = bindings.target_cluster(each)
            if cluster not in found or not bindings.is_deleting(each):
                found[cluster] = each
    return found


def snapshot_index(placement: str, binding: Json | None) -> str:
    """The index of the snapshot that a binding delivers; "" where it delivers none."""
    if binding is None:
        return ""
    name = bindings.resource_snapshot(binding)
    start, end = f"{placement}-", "-snapshot"
    index = name[len(start) : -len(end)]
    is_ours = index.isdecimal() and name == naming.master_resource_snapshot(placement, int(index))
    return index if is_ours else ""


def _entry(
    facts: Facts, decision: Json, latest: Mapping[str, Json], known: Mapping[str, Json]
) -> Json:
    cluster = decision["clusterName"]
    binding = latest.get(cluster)
    before = (known.get(cluster) or {}).get("conditions")
    told = _Teller(facts, before)
    told.add(texts.SCHEDULED, conditions.TRUE, texts.SCHEDULED, decision.get("reason") or "")
    index = snapshot_index(facts.name, binding) if facts.is_external else facts.index
    entry: Json = {"clusterName": cluster}
    if index:
        entry["observedResourceIndex"] = index
    if binding is not None and _has_started(facts, told, binding):
        entry |= _overrides(binding)
        _follow(facts, told, binding)
        entry |= _details(facts, told, binding)
    elif binding is None:
        told.unknown(texts.ROLLOUT)
    return {**entry, "conditions": told.conditions}


class _Teller:
    """Collects the conditions of one cluster."""

    def __init__(self, facts: Facts, before: Sequence[Json] | None) -> None:
        self._facts = facts
        self._before = before
        self.conditions: list[Json] = []

    def add(self, type: str, status: str, reason: str, message: str) -> None:
        facts = self._facts
        made = conditions.make(
            type, status, reason, message, generation=facts.generation, now=facts.now
        )
        self.conditions.append(conditions.settled(self._before, made))

    def unknown(self, type: PlacementAspect) -> None:
        words = texts.WORDS[type]
        self.add(type, conditions.UNKNOWN, words.unknown[0], words.one_unknown)

    def status(self, type: str) -> str:
        return conditions.status_of(self.conditions, type)


def _has_started(facts: Facts, told: _Teller, binding: Json) -> bool:
    """Whether what is delivered is what the cluster should have; if not, says why."""
    found = bindings.condition(binding, texts.ROLLOUT)
    name = bindings.resource_snapshot(binding)
    is_latest = bool(name) if facts.is_external else name == facts.master
    if found is not None and found["status"] == conditions.FALSE:
        # On the latest snapshot other overrides are what is kept back: the binding says so itself.
        words = (found["reason"], found["message"]) if is_latest else texts.BLOCKED
        told.add(texts.ROLLOUT, conditions.FALSE, *words)
    elif found is None or not is_latest or found["status"] != conditions.TRUE:
        told.unknown(texts.ROLLOUT)
    else:
        told.add(texts.ROLLOUT, conditions.TRUE, found["reason"], found["message"])
        return True
    return False


def _follow(facts: Facts, told: _Teller, binding: Json) -> None:
    """What the binding says of each step, up to the first that is not done."""
    for type in facts.aspects[1:]:
        found = bindings.condition(binding, type)
        if found is None or (facts.is_job_aware and _is_unfinished(found)):
            told.unknown(type)
            return
        told.add(type, found["status"], found.get("reason") or "", found.get("message") or "")
        if found["status"] != conditions.TRUE:
            return


def _is_unfinished(found: Json) -> bool:
    """Whether a step that is not done is merely under way, and has not failed."""
    if found["status"] == conditions.UNKNOWN:
        return True
    if found["status"] != conditions.FALSE or found["type"] == texts.AVAILABLE:
        return False
    is_begun = found.get("reason") in ("ApplyInProgress", "DiffReportInProgress")
    return is_begun or _UNFINISHED in (found.get("message") or "")


def _details(facts: Facts, told: _Teller, binding: Json) -> Json:
    """The objects in trouble, as far as the steps that were reached speak of them."""
    names: list[str] = []
    statuses = [told.status(type) for type in _APPLYING]
    if conditions.FALSE in statuses:
        names += ["failedPlacements", "diffedPlacements"]
    if conditions.FALSE in statuses or conditions.TRUE in statuses:
        names.append("driftedPlacements")
    if told.status(texts.DIFF_REPORTED) == conditions.TRUE:
        names.append("diffedPlacements")
    status = binding.get("status") or {}
    return {name: status[name] for name in names if status.get(name)}


def _overrides(binding: Json) -> Json:
    spec = binding["spec"]
    found = {
        "applicableResourceOverrides": spec.get("resourceOverrideSnapshots"),
        "applicableClusterResourceOverrides": spec.get("clusterResourceOverrideSnapshots"),
    }
    return {name: value for name, value in found.items() if value}


def _missing(facts: Facts, picked: int) -> list[Json]:
    """The decisions that say why there are fewer clusters than were asked for."""
    policy = facts.placement["spec"].get("policy") or {}
    wanted = {
        "PickN": int(policy.get("numberOfClusters") or 0),
        "PickFixed": len(policy.get("clusterNames") or ()),
    }.get(policy.get("placementType") or "", 0)
    others = [each for each in facts.decisions if not each.get("selected")]
    return others[: max(0, wanted - picked)]


def _failure(facts: Facts, decision: Json, before: Json) -> Json:
    made = conditions.make(
        texts.SCHEDULED,
        conditions.FALSE,
        texts.SCHEDULE_FAILED,
        decision.get("reason") or "",
        generation=facts.generation,
        now=facts.now,
    )
    return {"conditions": [conditions.settled(before.get("conditions"), made)]}
