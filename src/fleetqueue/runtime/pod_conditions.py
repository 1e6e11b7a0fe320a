"""The conditions of pods, as plain JSON: how one is written, and those that a node keeps."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from fleetqueue.api.times import format_time
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.conditions import find

OWN = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")


def own_conditions(
    pod: Object, lists: Object, phase: str, now: datetime, *, has_sandbox: bool
) -> list[Object]:
    """All conditions of a pod on a node: those of others as they are, then the node's own."""
    spec, old = pod["spec"], (pod.get("status") or {}).get("conditions") or []
    others = [each for each in old if each.get("type") not in OWN]
    statuses = {
        status["name"]: status
        for kind in ("initContainerStatuses", "containerStatuses")
        for status in lists.get(kind) or ()
    }
    ready = _containers_ready(spec, statuses, phase)
    may_start = has_sandbox and phase not in ("Succeeded", "Failed")
    told = (
        ("PodReadyToStartContainers", said(may_start)),
        ("Initialized", _initialized(spec, statuses, phase)),
        ("Ready", ready if ready["status"] == "False" else _gates(spec, others)),
        ("ContainersReady", ready),
        ("PodScheduled", said(True)),
    )
    return others + [condition(pod, type, what, now) for type, what in told]


def condition(pod: Object, type: str, what: Mapping[str, Any], now: datetime) -> Object:
    """A pod's condition; its transition time moves only when its status does."""
    old = find((pod.get("status") or {}).get("conditions"), type)
    is_same = old is not None and old.get("status") == what["status"]
    moved_at = old.get("lastTransitionTime") if old is not None and is_same else None
    made: Object = {
        "type": type,
        **what,
        "lastProbeTime": None,
        "lastTransitionTime": moved_at or format_time(now),
    }
    if generation := pod["metadata"].get("generation"):
        made["observedGeneration"] = generation
    return made


def said(status: bool, reason: str = "", message: str = "") -> Object:
    """What a condition says, without its times."""
    what: Object = {"status": "True" if status else "False"}
    if reason:
        what["reason"] = reason
    if message:
        what["message"] = message
    return what


def disruption(pod: Object, reason: str, message: str, now: datetime) -> Object:
    """What the status says, by a strategic patch, of a pod that is about to be removed."""
    made = condition(pod, "DisruptionTarget", said(True, reason, message), now)
    return {"conditions": [made]}


def _initialized(spec: Object, statuses: Mapping[str, Object], phase: str) -> Object:
    if phase == "Succeeded":
        return said(True, "PodCompleted")
    mains = [statuses[container["name"]] for container in spec["containers"]]
    if any("waiting" not in main["state"] or main["lastState"] for main in mains):
        return said(True)
    incomplete = [
        container["name"]
        for container in spec.get("initContainers") or ()
        if not _is_done(container, statuses[container["name"]])
    ]
    if incomplete:
        message = f"containers with incomplete status: {_listed(incomplete)}"
        return said(False, "ContainersNotInitialized", message)
    return said(True)


def _is_done(container: Object, status: Object) -> bool:
    """A sidecar is done with its part of the beginning once it has started."""
    return bool(status["started"] if _is_sidecar(container) else status["ready"])


def _containers_ready(spec: Object, statuses: Mapping[str, Object], phase: str) -> Object:
    if phase in ("Succeeded", "Failed"):
        return said(False, "PodCompleted" if phase == "Succeeded" else "PodFailed")
    sidecars = filter(_is_sidecar, spec.get("initContainers") or ())
    names = [container["name"] for container in (*sidecars, *spec["containers"])]
    unready = [name for name in names if not statuses[name]["ready"]]
    if unready:
        message = f"containers with unready status: {_listed(unready)}"
        return said(False, "ContainersNotReady", message)
    return said(True)


def _gates(spec: Object, conditions: Iterable[Object]) -> Object:
    known = {each.get("type"): each.get("status") for each in conditions}
    wrong = []
    for gate in spec.get("readinessGates") or ():
        name = gate["conditionType"]
        if name not in known:
            wrong.append(f'corresponding condition of pod readiness gate "{name}" does not exist.')
        elif known[name] != "True":
            what = f'the status of pod readiness gate "{name}" is not "True", but {known[name]}'
            wrong.append(what)
    return said(False, "ReadinessGatesNotReady", ", ".join(wrong)) if wrong else said(True)


def _is_sidecar(container: Object) -> bool:
    return container.get("restartPolicy") == "Always"


def _listed(names: list[str]) -> str:
    """As Go prints a list."""
    return f"[{' '.join(names)}]"
