"""Builds the status of a pod from the states of its containers: phase, conditions, lists.

Whoever runs pods, as processes or simulated, says what each container does; the rest follows here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias

from fleetqueue.api.times import format_time
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.pod_conditions import own_conditions
from fleetqueue.runtime.pod_facts import TERMINAL, is_terminal
from fleetqueue.runtime.pod_quality import quality_of_service

RUNTIME = "fleetqueue"
"""The scheme of container ids."""
_KEPT = ("resourceClaimStatuses", "extendedResourceClaimStatus")
_LISTS = (
    ("initContainers", "initContainerStatuses"),
    ("containers", "containerStatuses"),
    ("ephemeralContainers", "ephemeralContainerStatuses"),
)


@dataclass(frozen=True, slots=True)
class Waiting:
    """Not running yet, or not again yet."""

    reason: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class Running:
    started_at: datetime


@dataclass(frozen=True, slots=True)
class Terminated:
    """Ended; the reason follows from the code where none is given."""

    exit_code: int
    reason: str = ""
    message: str = ""
    signal: int = 0
    started_at: datetime | None = None
    finished_at: datetime | None = None
    id: str = ""
    """Of the attempt that ended; "" for the container's present one."""


State: TypeAlias = Waiting | Running | Terminated


@dataclass(frozen=True, slots=True)
class ContainerFacts:
    """What is known of one container."""

    state: State
    is_ready: bool = False
    """What its readiness probe says; without one, whether it runs and has started."""
    is_started: bool = True
    """What its startup probe says; counts while it runs only."""
    restarts: int = 0
    last: Terminated | None = None
    """How the attempt before this one ended."""
    id: str = ""
    image_id: str = ""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a pod failed as a whole, whatever its containers say: a deadline, an eviction."""

    reason: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class PodFacts:
    """What is known of a pod on its node."""

    containers: Mapping[str, ContainerFacts] = field(default_factory=dict)
    """By name; one that is missing waits for its first start."""
    has_sandbox: bool = True
    """Directories, volumes and the address are there."""
    is_over: bool = False
    """Nothing of it runs any more, and nothing will be started again."""
    failure: Failure | None = None
    """Shown as soon as the pod is over, since until then it has not failed."""
    started_at: datetime | None = None
    pod_ip: str = ""
    host_ip: str = ""


DEADLINE_EXCEEDED = Failure(
    "DeadlineExceeded", "Pod was active on the node longer than the specified deadline"
)


def build_status(pod: Object, facts: PodFacts, now: datetime) -> Object:
    """The whole status of a pod that is on a node."""
    old: Object = pod.get("status") or {}
    status: Object = {name: old[name] for name in _KEPT if name in old}
    lists = container_lists(pod["spec"], facts)
    phase = _settled_phase(pod, lists, facts)
    status["phase"] = phase
    status["qosClass"] = old.get("qosClass") or quality_of_service(pod["spec"])
    if generation := pod["metadata"].get("generation"):
        status["observedGeneration"] = generation
    status |= _explanation(old, phase, facts.failure)
    if begun := old.get("startTime") or (facts.started_at and format_time(facts.started_at)):
        status["startTime"] = begun
    status |= _addresses(facts)
    status["conditions"] = own_conditions(pod, lists, phase, now, has_sandbox=facts.has_sandbox)
    return status | lists


def phase_of(spec: Object, lists: Object, *, is_over: bool) -> str:
    """By the states alone, as the kubelet counts them."""
    policy = spec.get("restartPolicy") or "Always"
    states = _by_name(lists)
    inits = [states[c["name"]] for c in spec.get("initContainers") or () if not is_sidecar(c)]
    sidecars = [states[c["name"]] for c in spec.get("initContainers") or () if is_sidecar(c)]
    mains = [states[container["name"]] for container in spec["containers"]]
    if policy == "Never" and any(_exit_code(init) not in (None, 0) for init in inits):
        return "Failed"
    if any(_exit_code(init) is None for init in inits):
        return "Pending"
    is_begun = any("running" in main["state"] for main in mains)
    if not is_begun and any(_is_pending_sidecar(sidecar) for sidecar in sidecars):
        return "Pending"
    if any(not _has_begun(one) for one in (*sidecars, *mains)):
        return "Pending"
    if any("running" in one["state"] for one in (*sidecars, *mains)):
        return "Running"
    return _phase_at_rest(mains, policy, is_over)


def container_lists(spec: Object, facts: PodFacts) -> Object:
    """The lists of container statuses, in the order of the spec."""
    default = ContainerFacts(
        Waiting("PodInitializing" if spec.get("initContainers") else "ContainerCreating")
    )
    return {
        name: [
            _container_status(
                container,
                facts.containers.get(container["name"]) or default,
                is_init=kind == "initContainers" and not is_sidecar(container),
            )
            for container in spec[kind]
        ]
        for kind, name in _LISTS
        if spec.get(kind)
    }


def is_sidecar(container: Object) -> bool:
    """Of an init container: whether it runs as long as the pod does."""
    return container.get("restartPolicy") == "Always"


def container_id(id: str) -> str:
    return f"{RUNTIME}://{id}"


def _container_status(container: Object, facts: ContainerFacts, *, is_init: bool) -> Object:
    is_started = isinstance(facts.state, Running) and facts.is_started
    is_ready = is_started and facts.is_ready
    if is_init:
        is_ready = isinstance(facts.state, Terminated) and facts.state.exit_code == 0
    status: Object = {
        "name": container["name"],
        "image": container.get("image") or "",
        "imageID": facts.image_id,
        "ready": is_ready,
        "started": is_started,
        "restartCount": facts.restarts,
        "state": _state(facts.state, facts.id),
        "lastState": {} if facts.last is None else _state(facts.last, facts.id),
    }
    if facts.id:
        status["containerID"] = container_id(facts.id)
    return status


def _state(state: State, id: str) -> Object:
    match state:
        case Waiting(reason, message):
            return {"waiting": {"reason": reason} | ({"message": message} if message else {})}
        case Running(started_at):
            return {"running": {"startedAt": format_time(started_at)}}
        case Terminated():
            return {"terminated": _terminated(state, state.id or id)}


def _terminated(state: Terminated, id: str) -> Object:
    ended: Object = {
        "exitCode": state.exit_code,
        "reason": state.reason or ("Completed" if state.exit_code == 0 else "Error"),
        "startedAt": format_time(state.started_at) if state.started_at else None,
        "finishedAt": format_time(state.finished_at) if state.finished_at else None,
    }
    if state.signal:
        ended["signal"] = state.signal
    if state.message:
        ended["message"] = state.message
    if id:
        ended["containerID"] = container_id(id)
    return ended


def _settled_phase(pod: Object, lists: Object, facts: PodFacts) -> str:
    """A terminal phase never changes back; a pod that is over always has one."""
    if is_terminal(pod):
        return str(pod["status"]["phase"])
    if facts.is_over and facts.failure is not None:
        return "Failed"
    phase = phase_of(pod["spec"], lists, is_over=facts.is_over)
    return "Failed" if facts.is_over and phase not in TERMINAL else phase


def _explanation(old: Object, phase: str, failure: Failure | None) -> Object:
    """Reason and message belong to the phase and stay as long as it does."""
    if phase == old.get("phase"):
        return {name: old[name] for name in ("reason", "message") if old.get(name)}
    if failure is None or phase != "Failed":
        return {}
    return {"reason": failure.reason} | ({"message": failure.message} if failure.message else {})


def _addresses(facts: PodFacts) -> Object:
    found: Object = {}
    for name, value in (("hostIP", facts.host_ip), ("podIP", facts.pod_ip)):
        if value:
            found |= {name: value, f"{name}s": [{"ip": value}]}
    return found


def _by_name(lists: Object) -> dict[str, Object]:
    return {status["name"]: status for _, kind in _LISTS[:2] for status in lists.get(kind) or ()}


def _exit_code(status: Object) -> int | None:
    """Of this attempt, or of the one before while the next waits to begin."""
    ended = status["state"].get("terminated")
    if ended is None and "waiting" in status["state"]:
        ended = status["lastState"].get("terminated")
    return None if ended is None else int(ended["exitCode"])


def _has_begun(status: Object) -> bool:
    return "waiting" not in status["state"] or "terminated" in status["lastState"]


def _is_pending_sidecar(status: Object) -> bool:
    return not _has_begun(status) or ("running" in status["state"] and not status["started"])


def _phase_at_rest(mains: list[Object], policy: str, is_over: bool) -> str:
    """Nothing runs at this moment."""
    succeeded = all("terminated" in m["state"] and _exit_code(m) == 0 for m in mains)
    if not is_over and (policy == "Always" or (policy == "OnFailure" and not succeeded)):
        return "Running"
    return "Succeeded" if succeeded else "Failed"
