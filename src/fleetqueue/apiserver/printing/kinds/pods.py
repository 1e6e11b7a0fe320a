"""Tables of pods and pod templates, and the one word that sums up what a pod is doing."""

from datetime import datetime
from typing import Any, NamedTuple

from fleetqueue.apiserver.printing import cells
from fleetqueue.apiserver.printing.cells import AGE, NAME, NONE, dig, only
from fleetqueue.apiserver.printing.layout import Column, Layout, Object

NODE_LOST = "NodeLost"


class Tally(NamedTuple):
    """Restarts and the last time one happened."""

    number: int = 0
    last: str = ""

    def plus(self, status: Object) -> "Tally":
        finished = dig(status, "lastState", "terminated", "finishedAt") or ""
        return Tally(self.number + (status.get("restartCount") or 0), max(self.last, finished))


class Summary(NamedTuple):
    """What the columns of a pod say."""

    ready: int
    total: int
    reason: str
    restarts: Tally


class _Starting(NamedTuple):
    """The pod as its init containers leave it."""

    reason: str
    """Why the pod is still being initialized; empty: it is not."""
    ready: int
    restarts: Tally
    sidecar_restarts: Tally


def summarise(pod: Object) -> Summary:
    starting = _starting(pod)
    total = len(dig(pod, "spec", "containers") or ()) + len(_sidecars(pod))
    reason = starting.reason or _phase_reason(pod)
    ready, restarts = starting.ready, starting.restarts
    if not starting.reason or cells.has_condition(pod, "Initialized"):
        reason, running, restarts = _running(pod, reason, starting.sidecar_restarts)
        ready += running
    return Summary(ready, total, _with_deletion(pod, reason), restarts)


def _phase_reason(pod: Object) -> str:
    status = pod.get("status") or {}
    reason = status.get("reason") or status.get("phase") or ""
    for condition in status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("reason") == "SchedulingGated":
            return "SchedulingGated"
    return str(reason)


def _sidecars(pod: Object) -> set[str]:
    found = dig(pod, "spec", "initContainers") or ()
    return {one.get("name") for one in found if one.get("restartPolicy") == "Always"}


def _starting(pod: Object) -> _Starting:
    sidecars, count = _sidecars(pod), len(dig(pod, "spec", "initContainers") or ())
    ready, restarts, of_sidecars = 0, Tally(), Tally()
    for index, status in enumerate(dig(pod, "status", "initContainerStatuses") or ()):
        is_sidecar = status.get("name") in sidecars
        restarts = restarts.plus(status)
        of_sidecars = of_sidecars.plus(status) if is_sidecar else of_sidecars
        if dig(status, "state", "terminated", "exitCode") == 0:
            continue
        if is_sidecar and status.get("started"):
            ready += bool(status.get("ready"))
            continue
        reason = f"Init:{_init_state(status) or f'{index}/{count}'}"
        return _Starting(reason, ready, restarts, of_sidecars)
    return _Starting("", ready, restarts, of_sidecars)


def _init_state(status: Object) -> str:
    """What holds this init container up; empty where it is simply not done."""
    terminated = dig(status, "state", "terminated")
    if terminated is not None:
        return terminated.get("reason") or _ended(terminated)
    waiting = dig(status, "state", "waiting", "reason") or ""
    return "" if waiting == "PodInitializing" else waiting


def _ended(terminated: Object) -> str:
    if terminated.get("signal"):
        return f"Signal:{terminated['signal']}"
    return f"ExitCode:{terminated.get('exitCode') or 0}"


def _running(pod: Object, reason: str, restarts: Tally) -> tuple[str, int, Tally]:
    ready = 0
    for status in reversed(dig(pod, "status", "containerStatuses") or ()):
        restarts = restarts.plus(status)
        state = status.get("state") or {}
        terminated = state.get("terminated")
        if dig(state, "waiting", "reason"):
            reason = state["waiting"]["reason"]
        elif terminated is not None:
            reason = terminated.get("reason") or _ended(terminated)
        elif status.get("ready") and state.get("running") is not None:
            ready += 1
    if reason == "Completed" and ready:
        is_ready = any(
            one.get("type") == "Ready" and one.get("status") == "True"
            for one in dig(pod, "status", "conditions") or ()
        )
        reason = "Running" if is_ready else "NotReady"
    return reason, ready, restarts


def _with_deletion(pod: Object, reason: str) -> str:
    if not dig(pod, "metadata", "deletionTimestamp"):
        return reason
    if dig(pod, "status", "reason") == NODE_LOST:
        return "Unknown"
    is_over = dig(pod, "status", "phase") in ("Succeeded", "Failed")
    return reason if is_over else "Terminating"


def _ready(pod: Object) -> str:
    summary = summarise(pod)
    return f"{summary.ready}/{summary.total}"


def _restarts(pod: Object, now: datetime) -> str:
    restarts = summarise(pod).restarts
    if restarts.number and restarts.last:
        return f"{restarts.number} ({cells.since(restarts.last, now)} ago)"
    return str(restarts.number)


def _address(pod: Object) -> str:
    addresses = dig(pod, "status", "podIPs") or ()
    return (addresses[0].get("ip") if addresses else "") or NONE


def _gates(pod: Object) -> str:
    gates = dig(pod, "spec", "readinessGates") or ()
    if not gates:
        return NONE
    passed = sum(cells.has_condition(pod, gate.get("conditionType") or "") for gate in gates)
    return f"{passed}/{len(gates)}"


def _completed(pod: Object) -> list[Object]:
    messages = {
        "Succeeded": "The pod has completed successfully.",
        "Failed": "The pod failed.",
    }
    phase: Any = dig(pod, "status", "phase")
    if phase not in messages:
        return []
    return [{"type": "Completed", "status": "True", "reason": phase, "message": messages[phase]}]


LAYOUTS = {
    ("", "Pod"): Layout(
        (
            NAME,
            Column("Ready", only(_ready)),
            Column("Status", only(lambda pod: summarise(pod).reason)),
            Column("Restarts", _restarts),
            AGE,
            Column("IP", only(_address), priority=1),
            Column("Node", cells.text_at("spec", "nodeName", default=NONE), priority=1),
            Column(
                "Nominated Node",
                cells.text_at("status", "nominatedNodeName", default=NONE),
                priority=1,
            ),
            Column("Readiness Gates", only(_gates), priority=1),
        ),
        conditions=_completed,
    ),
    ("", "PodTemplate"): Layout(
        (
            NAME,
            *(
                Column(column.name, column.cell)
                for column in cells.containers_at("template", "spec")
            ),
            Column("Pod Labels", cells.labels_at("template", "metadata", "labels")),
        )
    ),
}
