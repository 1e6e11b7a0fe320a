"""Whether a node still serves a workload that was placed on it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from fleetqueue.api.kueue import admission_status as status
from fleetqueue.api.kueue import labels
from fleetqueue.api.pods import taints
from fleetqueue.api.times import parse_time
from fleetqueue.queueing.topology.tree import HOSTNAME

Json = dict[str, Any]
Health = Literal["healthy", "failed"]
TERMINATED = "TerminatedByKueue"
UNSCHEDULABLE = "UnschedulableOnAssignedNode"
TERMINATED_TEXT = "Pod terminated by Kueue NodeController due to node taint"
NOT_READY_MAX = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class NodeRules:
    """What makes a node fail that is there and said once that it is ready."""

    counts_ended_pods: bool = True
    """TASReplaceNodeOnPodTermination: it is not ready, and no pod goes on."""
    counts_taints: bool = True
    """TASReplaceNodeOnNodeTaints: a taint keeps the workload out, and no pod goes on."""
    counts_time: bool = False
    """TASReplaceNodeDueToNotReadyOverFixedTime: it is not ready for too long, whatever pods do."""


DEFAULTS = NodeRules()


def judge(
    node: Json | None,
    tolerations: Sequence[Json],
    pods: Iterable[Json],
    now: datetime,
    rules: NodeRules = DEFAULTS,
) -> Health:
    """`pods` are those of the workload on the node; while one of them goes on, so does the node.
    A node that is gone, or never said that it is ready, has failed at once.
    """
    ready = None if node is None else _ready(node)
    if node is None or ready is None:
        return "failed"
    if ready["status"] != "True":
        left = time_left(node, now, rules)
        if left is not None and left <= timedelta(0):
            return "failed"
        is_doubtful = rules.counts_ended_pods
    else:
        is_doubtful = rules.counts_taints and _keeps_out(node, tolerations)
    return "failed" if is_doubtful and not any(goes_on(pod) for pod in pods) else "healthy"


def time_left(node: Json | None, now: datetime, rules: NodeRules = DEFAULTS) -> timedelta | None:
    """Until a node that is not ready has been so for too long; None where that does not count."""
    ready = None if node is None else _ready(node)
    if not rules.counts_time or ready is None or ready["status"] == "True":
        return None
    since = ready.get("lastTransitionTime")
    return timedelta(0) if since is None else parse_time(since) + NOT_READY_MAX - now


def goes_on(pod: Json) -> bool:
    """Whether a pod runs, or may yet; one that waits for the node does not count."""
    if pod["metadata"].get("deletionTimestamp"):
        return False
    return bool(_phase(pod) == "Running" or (_phase(pod) == "Pending" and _node(pod)))


def to_terminate(node: str, pods: Iterable[Json]) -> list[Json]:
    """Pods that wait for the node although it will not take them."""
    return [
        pod
        for pod in pods
        if _phase(pod) in ("Pending", "")
        and not _node(pod)
        and not (pod.get("spec") or {}).get("schedulingGates")
        and ((pod.get("spec") or {}).get("nodeSelector") or {}).get(HOSTNAME) == node
    ]


def tolerations_of(workload: Json, flavors: Iterable[Json]) -> list[Json]:
    """Those of its pods, of its flavors, and what its checks add."""
    found: list[Json] = []
    for each in (workload.get("spec") or {}).get("podSets") or ():
        found += ((each.get("template") or {}).get("spec") or {}).get("tolerations") or ()
    for flavor in flavors:
        found += (flavor.get("spec") or {}).get("tolerations") or ()
    for check in status.checks_of(workload):
        for update in check.get("podSetUpdates") or ():
            found += update.get("tolerations") or ()
    return found


def with_failed(workload: Json, node: str) -> Json | None:
    """The workload with the node among its failed ones; None where it is there already."""
    known = _failed(workload)
    if node in known:
        return None
    names = [*known, node]
    return status.changed(workload, unhealthyNodes=[{"name": name} for name in names])


def with_healthy(workload: Json, node: str) -> Json | None:
    known = _failed(workload)
    if node not in known:
        return None
    left = [{"name": name} for name in known if name != node]
    return status.changed(workload, unhealthyNodes=left or None)


def many_failed(workload: Json, node: str) -> str:
    """The message of the eviction where another node failed before; "" where none did."""
    others = [name for name in _failed(workload) if name != node]
    if not others:
        return ""
    names = ", ".join([*others, node])
    return (
        "Workload eviction triggered due to multiple TAS assigned node failures, including: "
        f"{names}"
    )


def terminated(
    pod: Json, now: str, reason: str = UNSCHEDULABLE, message: str = TERMINATED_TEXT
) -> Json:
    """The status of a pod that was ended; as it stands, since its node will not take it."""
    condition = {
        "type": TERMINATED,
        "status": "True",
        "reason": reason,
        "message": message,
        "lastTransitionTime": now,
    }
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return {"status": {"phase": "Failed", "conditions": [*conditions, condition]}}


def workload_of(pod: Json) -> str:
    return str((pod["metadata"].get("annotations") or {}).get(labels.WORKLOAD) or "")


def _keeps_out(node: Json, tolerations: Sequence[Json]) -> bool:
    """Whether a taint keeps the workload out, now or after a while."""
    lasting = [each for each in tolerations if each.get("tolerationSeconds") is None]
    found = (node.get("spec") or {}).get("taints") or ()
    return taints.untolerated(found, lasting) is not None


def _ready(node: Json) -> Json | None:
    conditions = (node.get("status") or {}).get("conditions") or ()
    return next((each for each in conditions if each["type"] == "Ready"), None)


def _failed(workload: Json) -> list[str]:
    return [each["name"] for each in (workload.get("status") or {}).get("unhealthyNodes") or ()]


def _phase(pod: Json) -> str:
    return str((pod.get("status") or {}).get("phase") or "")


def _node(pod: Json) -> str:
    return str((pod.get("spec") or {}).get("nodeName") or "")
