"""What follows for a node from its conditions and its silence: pure."""

from datetime import datetime

from fleetqueue.api.times import format_time
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.conditions import find

NOT_READY, UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"
CORDONED = "node.kubernetes.io/unschedulable"
_BY_CONDITION = {
    ("Ready", "False"): NOT_READY,
    ("Ready", "Unknown"): UNREACHABLE,
    ("MemoryPressure", "True"): "node.kubernetes.io/memory-pressure",
    ("DiskPressure", "True"): "node.kubernetes.io/disk-pressure",
    ("PIDPressure", "True"): "node.kubernetes.io/pid-pressure",
    ("NetworkUnavailable", "True"): "node.kubernetes.io/network-unavailable",
}
_KEPT_BY_NODE = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")


def ready_status(node: Object) -> str:
    """True, False, Unknown; "" where the node never said."""
    found = find((node.get("status") or {}).get("conditions"), "Ready")
    return str(found.get("status") or "") if found else ""


def silent_conditions(node: Object, now: datetime) -> list[Object]:
    """The conditions of a node of which nothing was heard for too long."""
    old = (node.get("status") or {}).get("conditions") or []
    known = {each.get("type"): each for each in old}
    made = [_unknown(known.get(type), type, node, now) for type in _KEPT_BY_NODE]
    changed = {each["type"]: each for each in made}
    others = [changed.pop(each["type"], each) for each in old]
    return [*others, *(each for each in made if each["type"] in changed)]


def wanted_taints(node: Object, now: datetime) -> list[Object]:
    """Those of users as they are, and those that follow from the state of the node."""
    old = (node.get("spec") or {}).get("taints") or []
    if not ready_status(node):
        # Nobody has seen it yet: what keeps pods out of a new node stays.
        wanted = {pair for pair in map(_pair, old) if pair == (NOT_READY, "NoSchedule")}
    else:
        conditions = (node.get("status") or {}).get("conditions") or []
        keys = {
            key
            for each in conditions
            if (key := _BY_CONDITION.get((each.get("type"), each.get("status"))))
        }
        wanted = {(key, "NoSchedule") for key in keys}
        wanted |= {(key, "NoExecute") for key in keys & {NOT_READY, UNREACHABLE}}
    if (node.get("spec") or {}).get("unschedulable"):
        wanted.add((CORDONED, "NoSchedule"))
    kept = [each for each in old if not _is_own(each) or _pair(each) in wanted]
    missing = sorted(wanted - {_pair(each) for each in old})
    return kept + [
        {"key": key, "effect": effect, "timeAdded": format_time(now)} for key, effect in missing
    ]


def _is_own(taint: Object) -> bool:
    key, effect = _pair(taint)
    if effect == "NoExecute":
        return key in (NOT_READY, UNREACHABLE)
    return effect == "NoSchedule" and key in (*_BY_CONDITION.values(), CORDONED)


def _pair(taint: Object) -> tuple[str, str]:
    return str(taint.get("key")), str(taint.get("effect"))


def _unknown(old: Object | None, type: str, node: Object, now: datetime) -> Object:
    if old is None:
        return {
            "type": type,
            "status": "Unknown",
            "reason": "NodeStatusNeverUpdated",
            "message": "Kubelet never posted node status.",
            "lastHeartbeatTime": node["metadata"].get("creationTimestamp"),
            "lastTransitionTime": format_time(now),
        }
    if old.get("status") == "Unknown":
        return old
    return {
        **old,
        "status": "Unknown",
        "reason": "NodeStatusUnknown",
        "message": "Kubelet stopped posting node status.",
        "lastTransitionTime": format_time(now),
    }
