"""PodDisruptionBudgets: how many pods may be evicted now; and disruptions that never came."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from fleetqueue.api import selectors, times
from fleetqueue.api.meta import Key
from fleetqueue.kube.calls import PatchType
from fleetqueue.kube.finalizers import is_deleting
from fleetqueue.kube.frame import Follow, Operator, nobody
from fleetqueue.kube.plan import Look, Note, Patch, Plan, Status
from fleetqueue.kube.resources import Object, Resource
from fleetqueue.kube.sources import Source
from fleetqueue.runtime import conditions, pod_facts
from fleetqueue.runtime.amounts import rest_seconds, scaled, told
from fleetqueue.runtime.kinds import (
    DEPLOYMENT,
    DISRUPTION_BUDGET,
    POD,
    REPLICA_SET,
    STATEFUL_SET,
)
from fleetqueue.runtime.ownership import controller_of, selecting

DELETION_SECONDS_MAX = 120
"""An eviction that was granted counts as a disruption for so long."""
STALE_SECONDS = 120
CONDITION, TARGET = "DisruptionAllowed", "DisruptionTarget"
_UNMANAGED = (
    "Pods selected by this PodDisruptionBudget (selector: {}) were found to be unmanaged. As a "
    "result, the status of the PDB cannot be calculated correctly, which may result in undefined "
    'behavior. To account for these pods please set ".spec.minAvailable" field of the PDB to an '
    "integer value."
)
_SCALED = {
    ("apps", "ReplicaSet"): REPLICA_SET,
    ("apps", "StatefulSet"): STATEFUL_SET,
    ("apps", "Deployment"): DEPLOYMENT,
}
_PLURALS = {"Job": "jobs", "DaemonSet": "daemonsets"}


class CannotCount(Exception):
    """Whoever controls a pod does not say how many there should be."""


@dataclass(frozen=True, slots=True)
class Expected:
    """How many pods there should be, and how many of them healthy."""

    pods: int
    healthy: int
    unmanaged: bool = False


def decide(look: Look) -> Plan:
    pods = look.selected(POD, look.parent["spec"].get("selector"))
    plan = Plan()
    if not pods:
        plan.add(Note("NoPods", "No matching pods found"))
    try:
        expected = expect(look, pods)
    except CannotCount as error:
        message = f"Failed to calculate the number of expected pods: {error}"
        plan.add(Note("CalculateExpectedPodCountFailed", message, "Warning"))
        plan.add(Status(_failed(look, str(error))))
        return plan
    if expected.unmanaged:
        message = _UNMANAGED.format(selectors.shown(look.parent["spec"].get("selector") or {}))
        plan.add(Note("UnmanagedPods", message, "Warning"))
    disrupted = _disrupted(look, pods, plan)
    plan.add(Status(describe(look, pods, expected, disrupted)))
    return plan


def expect(look: Look, pods: list[Object]) -> Expected:
    spec = look.parent["spec"]
    if spec.get("maxUnavailable") is not None:
        count, unmanaged = _scale(look, pods)
        away = scaled(spec["maxUnavailable"], count, up=True)
        return Expected(count, max(count - away, 0), unmanaged)
    least = spec.get("minAvailable")
    if isinstance(least, str):
        count, unmanaged = _scale(look, pods)
        return Expected(count, scaled(least, count, up=True), unmanaged)
    return Expected(len(pods), least) if least is not None else Expected(0, 0)


def describe(
    look: Look, pods: list[Object], expected: Expected, disrupted: Mapping[str, str]
) -> Object:
    healthy = sum(
        pod_facts.is_ready(pod)
        for pod in pods
        if not is_deleting(pod) and pod["metadata"]["name"] not in disrupted
    )
    spare = healthy - expected.healthy
    allowed = spare if expected.pods > 0 and spare > 0 else 0
    generation = look.parent["metadata"].get("generation")
    may = _condition("True", "SufficientPods", generation, look.now)
    if not allowed:
        may = _condition("False", "InsufficientPods", generation, look.now)
    present = (look.parent.get("status") or {}).get("conditions")
    status = {
        "currentHealthy": healthy,
        "desiredHealthy": expected.healthy,
        "expectedPods": expected.pods,
        "disruptionsAllowed": allowed,
        "disruptedPods": dict(disrupted),
        "observedGeneration": generation,
        "conditions": conditions.settled(present, may),
    }
    return told(status, "currentHealthy", "desiredHealthy", "expectedPods", "disruptionsAllowed")


def decide_staleness(look: Look) -> Plan:
    """A pod that was to be disrupted and still runs is no target any more."""
    found = pod_facts.condition(look.parent, TARGET)
    is_target = found is not None and found.get("status") == "True"
    if found is None or not is_target or pod_facts.is_terminal(look.parent):
        return Plan()
    if found.get("reason") == "TerminationByKubelet" or not found.get("lastTransitionTime"):
        return Plan()
    until = times.parse_time(found["lastTransitionTime"]) + timedelta(seconds=STALE_SECONDS)
    left = (until - look.now).total_seconds()
    if left > 0:
        return Plan(after=left)
    reset = {
        "type": TARGET,
        "status": "False",
        "reason": None,
        "message": None,
        "lastTransitionTime": times.format_time(look.now),
        "observedGeneration": look.parent["metadata"].get("generation"),
    }
    patch = {"status": {"conditions": [reset]}}
    return Plan([Patch(look.parent, patch, "status", PatchType.STRATEGIC)])


def _scale(look: Look, pods: list[Object]) -> tuple[int, bool]:
    """The sum of what the controllers of the pods ask for, and whether a pod has none."""
    scales: dict[str, int] = {}
    unmanaged = False
    for pod in pods:
        reference = controller_of(pod)
        if reference is None:
            unmanaged = True
        elif reference["uid"] not in scales:
            owner = _scaled_owner(look, pod, reference)
            scales[owner["metadata"]["uid"]] = int((owner.get("spec") or {}).get("replicas", 1))
    return sum(scales.values()), unmanaged


def _scaled_owner(look: Look, pod: Object, reference: Object) -> Object:
    kind = _scalable(reference)
    found = look.find(kind, reference["name"])
    if found is None or found["metadata"]["uid"] != reference["uid"]:
        raise CannotCount(f'found no controllers for pod "{pod["metadata"]["name"]}"')
    above = controller_of(found)
    if kind == REPLICA_SET and above is not None and above["kind"] == "Deployment":
        return _scaled_owner(look, pod, above)
    return found


def _scalable(reference: Object) -> Resource:
    group = str(reference["apiVersion"]).rpartition("/")[0]
    kind = _SCALED.get((group, reference["kind"]))
    if kind is None:
        plural = _PLURALS.get(reference["kind"], f"{str(reference['kind']).lower()}s")
        name = f"{plural}.{group}" if group else plural
        raise CannotCount(f"{name} does not implement the scale subresource")
    return kind


def _disrupted(look: Look, pods: list[Object], plan: Plan) -> dict[str, str]:
    """Evictions that were granted and have not shown yet."""
    granted = (look.parent.get("status") or {}).get("disruptedPods") or {}
    left: dict[str, str] = {}
    for pod in pods:
        name = pod["metadata"]["name"]
        if is_deleting(pod) or name not in granted:
            continue
        until = times.parse_time(granted[name]) + timedelta(seconds=DELETION_SECONDS_MAX)
        if until < look.now:
            where = f"{look.namespace}/{look.namespace}"
            message = f"Pod was expected by PDB {where} to be deleted but it wasn't"
            plan.add(Note("NotDeleted", message, "Warning", pod))
            continue
        left[name] = granted[name]
        plan.look_again((until - look.now).total_seconds() + 1.0)
    return left


def _failed(look: Look, message: str) -> Object:
    """Nothing is allowed while nobody knows what is there."""
    status = dict(look.parent.get("status") or {})
    failed = _condition("False", "SyncFailed", status.get("observedGeneration"), look.now, message)
    status["conditions"] = conditions.settled(status.get("conditions"), failed)
    for name in ("currentHealthy", "desiredHealthy", "expectedPods"):
        status.setdefault(name, 0)
    return {**status, "disruptionsAllowed": 0}


def _condition(
    status: str, reason: str, generation: int | None, now: datetime, message: str = ""
) -> Object:
    made = {
        "type": CONDITION,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": times.format_time(now),
    }
    return {**made, "observedGeneration": generation} if generation else made


def _budgets(source: Source, pod: Object) -> Iterable[Key]:
    return selecting(source, DISRUPTION_BUDGET, pod)


OPERATOR = Operator(
    "controllermanager",
    DISRUPTION_BUDGET,
    decide,
    follows=(Follow(POD, _budgets),),
    reads=(nobody(REPLICA_SET), nobody(DEPLOYMENT), nobody(STATEFUL_SET)),
    rest=lambda look: rest_seconds((look.parent.get("status") or {}).get("expectedPods") or 0),
    manager="kube-controller-manager",
)
STALENESS = Operator("controllermanager", POD, decide_staleness, manager="kube-controller-manager")
OPERATORS = (OPERATOR, STALENESS)
