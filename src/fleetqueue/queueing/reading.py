"""Reads a Workload as it is stored into what decisions work on."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.kueue import labels, topology_encoding, workloads
from fleetqueue.api.meta import Key
from fleetqueue.api.owners import controller_uid
from fleetqueue.api.times import parse_time
from fleetqueue.queueing import equivalence, requests
from fleetqueue.queueing.amounts import Requests, read_amount
from fleetqueue.queueing.device_claims import NO_DEVICES, DeviceRules
from fleetqueue.queueing.requests import NO_RULES, NOWHERE, RequestRules, Surroundings
from fleetqueue.queueing.workload import (
    Domain,
    Placement,
    PodSet,
    PodSetAssignment,
    TopologyRequest,
    Workload,
)

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ReadingRules:
    """What the configuration says about reading workloads."""

    requests: RequestRules = NO_RULES
    sorts_by_eviction: bool = True
    """A workload that lost its place because its pods were not ready goes by that time."""
    sorts_by_preemption: bool = False
    """PrioritySortingWithinCohort is off."""
    hashes: bool = True
    boosts_priority: bool = False
    devices: DeviceRules = NO_DEVICES


def read_workload(
    obj: Json,
    cluster_queue: str,
    rules: ReadingRules,
    around: Surroundings = NOWHERE,
    extra: Mapping[str, Requests] | None = None,
    before: Workload | None = None,
) -> Workload:
    """`cluster_queue` is what its LocalQueue points to; one that holds quota says where itself.
    `extra` is what each pod set's pods claim of devices. `before` is what an older state with the
    same pods was read into, where there is one: most changes are of the status alone.
    """
    metadata, spec = obj["metadata"], obj.get("spec") or {}
    notes = metadata.get("annotations") or {}
    has_quota = status.has_quota(obj) and bool((obj.get("status") or {}).get("admission"))
    pod_sets = (
        tuple(_read_pod_sets(obj, rules.requests, around, extra or {}))
        if before is None
        else before.pod_sets
    )
    created_at = parse_time(metadata["creationTimestamp"])
    priority = spec.get("priority") or 0
    boost = _boost(notes) if rules.boosts_priority else 0
    reserved = status.find_condition(obj, status.QUOTA_RESERVED)
    requeued = status.find_condition(obj, status.REQUEUED)
    admission = (obj.get("status") or {}).get("admission") or {}
    updates = _updates(obj)
    return Workload(
        key=Key(metadata.get("namespace") or "", metadata["name"]),
        uid=metadata.get("uid") or "",
        local_queue=spec.get("queueName") or "",
        cluster_queue=str(admission.get("clusterQueue") or "") if has_quota else cluster_queue,
        pod_sets=pod_sets,
        created_at=created_at,
        ordered_at=queue_order_time(obj, rules),
        queued_at=_moment(requeued) or created_at,
        priority=priority,
        boost=boost,
        priority_class=str((spec.get("priorityClassRef") or {}).get("name") or ""),
        job_uid=str((metadata.get("labels") or {}).get(labels.JOB_UID) or ""),
        generation=metadata.get("generation") or 0,
        hash=_hash(obj, priority + boost, pod_sets, before) if rules.hashes else "",
        assignments=_assignments(obj, pod_sets) if has_quota else (),
        reserved_at=_moment(reserved) if has_quota else None,
        is_admitted=status.is_admitted(obj),
        is_evicted=status.is_evicted(obj),
        is_ready=status.is_true(obj, status.PODS_READY),
        has_failed_checks=any(
            each["state"] in ("Retry", "Rejected") for each in status.checks_of(obj)
        ),
        has_closed_gate=_has_closed_gate(obj),
        waits_until=_requeue_at(obj),
        may_requeue=requeued is None or requeued["status"] != "False",
        replaces=_key(notes.get(labels.WORKLOAD_SLICE_REPLACEMENT_FOR)),
        slice_name=notes.get(labels.WORKLOAD_SLICE_NAME) or "",
        controller_uid=controller_uid(obj),
        origin=str((metadata.get("labels") or {}).get(labels.MULTIKUEUE_ORIGIN) or ""),
        allowed_flavors=_flavors(notes.get(labels.WORKLOAD_ALLOWED_RESOURCE_FLAVORS)),
        parent_uid=str((workloads.parent_of(obj) or {}).get("uid") or ""),
        unhealthy_nodes=tuple(
            each["name"] for each in (obj.get("status") or {}).get("unhealthyNodes") or ()
        ),
        needs_second_pass=has_quota and needs_second_pass(obj),
        tolerations={name: each.get("tolerations") or () for name, each in updates.items()},
        node_selectors={name: each.get("nodeSelector") or {} for name, each in updates.items()},
        is_single_pod=is_single_pod(obj),
    )


def is_unchanged(obj: Json, read: Workload) -> bool:
    """Whether the object that was read then asks for the same, whatever its status says."""
    metadata = obj["metadata"]
    return (metadata["uid"], metadata.get("generation") or 0) == (read.uid, read.generation)


def has_same_pods(one: Json, other: Json) -> bool:
    """Whether `before` may be used for the one where the other was read."""
    return one.get("spec") == other.get("spec") and reclaimable_counts(one) == reclaimable_counts(
        other
    )


def _hash(obj: Json, priority: int, pod_sets: tuple[PodSet, ...], before: Workload | None) -> str:
    if before is not None and before.effective_priority == priority:
        return before.hash
    notes = workloads.annotations_of(obj)
    allowed = _flavors(notes.get(labels.WORKLOAD_ALLOWED_RESOURCE_FLAVORS))
    more = [labels.WORKLOAD_SLICE_NAME] if notes.get(labels.WORKLOAD_SLICE_NAME) else []
    # One that takes the place of another needs only what it has more.
    more += filter(None, [notes.get(labels.WORKLOAD_SLICE_REPLACEMENT_FOR)])
    return equivalence.hash_of(priority, obj.get("spec") or {}, pod_sets, [*(allowed or ()), *more])


def queue_order_time(obj: Json, rules: ReadingRules) -> datetime:
    """When it came, or lost its place."""
    evicted = status.find_condition(obj, status.EVICTED)
    if evicted is not None and evicted["status"] == "True":
        by_pods = evicted["reason"] == "PodsReadyTimeout" and rules.sorts_by_eviction
        if by_pods or evicted["reason"] == "AdmissionCheck":
            return parse_time(evicted["lastTransitionTime"])
    preempted = status.find_condition(obj, status.PREEMPTED)
    if rules.sorts_by_preemption and preempted is not None and _was_for_borrower(preempted):
        # Behind the preemptor, which may have come within the same second.
        return parse_time(preempted["lastTransitionTime"]) + timedelta(milliseconds=1)
    return parse_time(obj["metadata"]["creationTimestamp"])


def _was_for_borrower(preempted: Json) -> bool:
    reason = "InCohortReclaimWhileBorrowing"
    return bool(preempted["status"] == "True" and preempted["reason"] == reason)


def needs_second_pass(obj: Json) -> bool:
    """Whether places have to be found now for pods that hold quota already."""
    if status.is_finished(obj) or status.is_evicted(obj):
        return False
    if status.is_admitted(obj):
        failed = {each["name"] for each in (obj.get("status") or {}).get("unhealthyNodes") or ()}
        return bool(failed) and not failed.isdisjoint(assigned_hosts(obj))
    has_checks = bool(status.checks_of(obj)) and status.has_all_checks_ready(obj)
    return has_checks and status.waits_for_topology(obj)


def assigned_hosts(obj: Json) -> set[str]:
    """The nodes that the assignment names, where it goes down to them."""
    found: set[str] = set()
    for each in status.assignments_of(obj):
        placement = _placement(each.get("topologyAssignment"))
        if placement is not None and placement.levels[-1:] == ("kubernetes.io/hostname",):
            found |= {domain.values[-1] for domain in placement.domains}
    return found


def is_single_pod(obj: Json) -> bool:
    references = obj["metadata"].get("ownerReferences") or []
    is_group = (obj["metadata"].get("annotations") or {}).get(labels.IS_GROUP_WORKLOAD) == "true"
    return len(references) == 1 and not is_group and references[0].get("kind") == "Pod"


def reclaimable_counts(obj: Json) -> dict[str, int]:
    found = (obj.get("status") or {}).get("reclaimablePods") or ()
    return {each["name"]: each["count"] for each in found}


def _read_pod_sets(
    obj: Json, rules: RequestRules, around: Surroundings, extra: Mapping[str, Requests]
) -> list[PodSet]:
    reclaimable = reclaimable_counts(obj)
    found = []
    for each in (obj.get("spec") or {}).get("podSets") or ():
        name = each.get("name") or "main"
        spec = requests.completed((each.get("template") or {}).get("spec") or {}, around)
        wanted = requests.quota_requests(spec, rules)
        for resource, amount in extra.get(name, {}).items():
            wanted[resource] = wanted.get(resource, 0) + amount
        found.append(
            PodSet(
                name=name,
                count=max(0, _count(each) - reclaimable.get(name, 0)),
                requests=wanted,
                pod_requests=requests.node_requests(spec),
                spec=spec,
                count_min=each.get("minCount"),
                topology=_topology_request(each.get("topologyRequest")),
            )
        )
    return found


def _assignments(obj: Json, pod_sets: tuple[PodSet, ...]) -> tuple[PodSetAssignment, ...]:
    by_name = {each.name: each for each in pod_sets}
    raw_sets = (obj.get("spec") or {}).get("podSets") or ()
    counts = {each.get("name") or "main": _count(each) for each in raw_sets}
    found = []
    for each in status.assignments_of(obj):
        pod_set = by_name.get(each.get("name") or "main")
        if pod_set is None:
            continue
        count = each.get("count")
        count = counts[pod_set.name] if count is None else count
        found.append(
            PodSetAssignment(
                name=pod_set.name,
                count=count,
                flavors=each.get("flavors") or {},
                usage=_scaled(each.get("resourceUsage") or {}, count, pod_set.count),
                placement=_placement(each.get("topologyAssignment")),
                is_delayed=each.get("delayedTopologyRequest") == "Pending",
            )
        )
    return tuple(found)


def _scaled(usage: Json, admitted: int, needed: int) -> Requests:
    """What is still used once some pods need nothing more."""
    amounts = {name: read_amount(name, value) for name, value in usage.items()}
    if needed >= admitted or not admitted:
        return amounts
    return {name: amount // admitted * needed for name, amount in amounts.items()}


def _placement(assignment: Json | None) -> Placement | None:
    if not assignment or not assignment.get("levels"):
        return None
    plain = topology_encoding.unpack(assignment)
    domains = tuple(Domain(tuple(each["values"]), each["count"]) for each in plain["domains"])
    return Placement(tuple(plain["levels"]), domains)


def _topology_request(raw: Json | None) -> TopologyRequest | None:
    if raw is None:
        return None
    layers = raw.get("podsetSliceRequiredTopologyConstraints") or ()
    return TopologyRequest(
        required=raw.get("required") or "",
        preferred=raw.get("preferred") or "",
        is_unconstrained=bool(raw.get("unconstrained")),
        slice_level=raw.get("podSetSliceRequiredTopology") or "",
        slice_size=raw.get("podSetSliceSize") or 0,
        layers=tuple((each["topology"], each["size"]) for each in layers),
        group=raw.get("podSetGroupName") or "",
    )


def _updates(obj: Json) -> dict[str, Json]:
    """Per pod set, what all checks together add to its pods."""
    found: dict[str, Json] = {}
    for check in status.checks_of(obj):
        for each in check.get("podSetUpdates") or ():
            known = found.setdefault(each["name"], {"tolerations": [], "nodeSelector": {}})
            known["tolerations"] += each.get("tolerations") or ()
            known["nodeSelector"].update(each.get("nodeSelector") or {})
    return found


def _has_closed_gate(obj: Json) -> bool:
    open_gates = {
        each["name"]
        for each in (obj.get("status") or {}).get("preemptionGates") or ()
        if each.get("position") == "Open"
    }
    gates = (obj.get("spec") or {}).get("preemptionGates") or ()
    return any(each["name"] not in open_gates for each in gates)


def _requeue_at(obj: Json) -> datetime | None:
    at = ((obj.get("status") or {}).get("requeueState") or {}).get("requeueAt")
    return parse_time(at) if at else None


def _moment(condition: Json | None) -> datetime | None:
    return None if condition is None else parse_time(condition["lastTransitionTime"])


def _count(pod_set: Json) -> int:
    count = pod_set.get("count")
    return 1 if count is None else int(count)


def _boost(notes: Mapping[str, str]) -> int:
    text = notes.get(labels.PRIORITY_BOOST) or "0"
    return int(text) if text.lstrip("+-").isdigit() else 0


def _key(text: str | None) -> Key | None:
    namespace, slash, name = (text or "").partition("/")
    return Key(namespace, name) if slash else None


def _flavors(text: str | None) -> frozenset[str] | None:
    return frozenset(part.strip() for part in text.split(",")) if text else None
