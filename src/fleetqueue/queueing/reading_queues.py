"""Reads ClusterQueues, Cohorts and ResourceFlavors into what decisions work on."""

from typing import Any

from fleetqueue.api import selectors
from fleetqueue.api.quantity import Quantity
from fleetqueue.queueing.amounts import FlavorResource, read_quota
from fleetqueue.queueing.model import (
    CheckRule,
    ClusterQueue,
    Cohort,
    ConcurrentAdmission,
    Flavor,
    Fungibility,
    PreemptionRules,
    Quota,
    ResourceGroup,
)

Json = dict[str, Any]


def read_cluster_queue(obj: Json) -> ClusterQueue:
    spec = obj.get("spec") or {}
    selector = spec.get("namespaceSelector")
    checks = (spec.get("admissionChecksStrategy") or {}).get("admissionChecks") or ()
    mode = (spec.get("admissionScope") or {}).get("admissionMode")
    return ClusterQueue(
        name=obj["metadata"]["name"],
        cohort=spec.get("cohortName") or "",
        groups=tuple(_group(each) for each in spec.get("resourceGroups") or ()),
        quotas=_quotas(spec),
        strategy=spec.get("queueingStrategy") or "BestEffortFIFO",
        fungibility=_fungibility(spec.get("flavorFungibility") or {}),
        preemption=_preemption(spec.get("preemption") or {}),
        namespace_selector=None if selector is None else selectors.labels_from_object(selector),
        checks=tuple(
            CheckRule(each["name"], frozenset(each["onFlavors"]) if each.get("onFlavors") else None)
            for each in checks
        ),
        stop_policy=spec.get("stopPolicy") or "None",
        weight=read_weight(spec),
        is_usage_based=mode == "UsageBasedAdmissionFairSharing",
        concurrent=_concurrent(spec.get("concurrentAdmissionPolicy")),
    )


def read_cohort(obj: Json) -> Cohort:
    spec = obj.get("spec") or {}
    return Cohort(
        obj["metadata"]["name"], spec.get("parentName") or "", _quotas(spec), read_weight(spec)
    )


def read_flavor(obj: Json) -> Flavor:
    spec = obj.get("spec") or {}
    return Flavor(
        name=obj["metadata"]["name"],
        node_labels=spec.get("nodeLabels") or {},
        node_taints=tuple(spec.get("nodeTaints") or ()),
        tolerations=tuple(spec.get("tolerations") or ()),
        topology=spec.get("topologyName") or "",
    )


def read_weight(spec: Json) -> float:
    """As near to what is written as there is a number: `0.3` is the same as 0.3."""
    weight = (spec.get("fairSharing") or {}).get("weight")
    quantity = Quantity.of(1 if weight is None else weight)
    return float(f"{quantity.unscaled}e{quantity.exponent}")


def _group(raw: Json) -> ResourceGroup:
    flavors = tuple(each["name"] for each in raw.get("flavors") or ())
    return ResourceGroup(tuple(raw.get("coveredResources") or ()), flavors)


def _quotas(spec: Json) -> dict[FlavorResource, Quota]:
    return {
        (flavor["name"], each["name"]): _quota(each["name"], each)
        for group in spec.get("resourceGroups") or ()
        for flavor in group.get("flavors") or ()
        for each in flavor.get("resources") or ()
    }


def _quota(resource: str, raw: Json) -> Quota:
    def limit(name: str) -> int | None:
        value = raw.get(name)
        return None if value is None else read_quota(resource, value)

    nominal = read_quota(resource, raw.get("nominalQuota", 0))
    return Quota(nominal, limit("borrowingLimit"), limit("lendingLimit"))


def _fungibility(raw: Json) -> Fungibility:
    return Fungibility(
        stops_at_borrowing=raw.get("whenCanBorrow", "MayStopSearch") == "MayStopSearch",
        stops_at_preemption=raw.get("whenCanPreempt", "TryNextFlavor") == "MayStopSearch",
        prefers_preemption=raw.get("preference") == "PreemptionOverBorrowing",
    )


def _preemption(raw: Json) -> PreemptionRules:
    borrow = raw.get("borrowWithinCohort") or {}
    return PreemptionRules(
        within=raw.get("withinClusterQueue") or "Never",
        reclaim=raw.get("reclaimWithinCohort") or "Never",
        borrow=borrow.get("policy") or "Never",
        borrow_priority_max=borrow.get("maxPriorityThreshold"),
    )


def _concurrent(raw: Json | None) -> ConcurrentAdmission | None:
    migration = (raw or {}).get("migration")
    if not migration:
        return None
    constraints = migration.get("constraints") or {}
    return ConcurrentAdmission(migration["mode"], constraints.get("lastAcceptableFlavorName") or "")
