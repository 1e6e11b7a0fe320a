"""Reads what a pod's status says of its containers: where a runtime that starts again goes on."""

from datetime import datetime

from fleetqueue.api import times
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.pod_status import (
    RUNTIME,
    ContainerFacts,
    Running,
    State,
    Terminated,
    Waiting,
)


def known_containers(pod: Object) -> dict[str, ContainerFacts]:
    """By name; containers that nobody looked after yet are missing."""
    status = pod.get("status") or {}
    return {
        each["name"]: read(each)
        for field in ("initContainerStatuses", "containerStatuses")
        for each in status.get(field) or ()
    }


def read(status: Object) -> ContainerFacts:
    last = (status.get("lastState") or {}).get("terminated")
    return ContainerFacts(
        state=_read_state(status.get("state") or {}),
        is_ready=bool(status.get("ready")),
        is_started=bool(status.get("started")),
        restarts=int(status.get("restartCount") or 0),
        last=_read_terminated(last) if last else None,
        id=_bare(status.get("containerID")),
        image_id=status.get("imageID") or "",
    )


def _read_state(state: Object) -> State:
    if state.get("running") is not None:
        return Running(times.parse_time(state["running"]["startedAt"]))
    if state.get("terminated"):
        return _read_terminated(state["terminated"])
    waiting = state.get("waiting") or {}
    return Waiting(waiting.get("reason") or "", waiting.get("message") or "")


def _read_terminated(state: Object) -> Terminated:
    return Terminated(
        exit_code=int(state.get("exitCode") or 0),
        reason=state.get("reason") or "",
        message=state.get("message") or "",
        signal=int(state.get("signal") or 0),
        started_at=_read_time(state.get("startedAt")),
        finished_at=_read_time(state.get("finishedAt")),
        id=_bare(state.get("containerID")),
    )


def _read_time(text: str | None) -> datetime | None:
    return times.parse_time(text) if text else None


def _bare(id: str | None) -> str:
    return (id or "").removeprefix(f"{RUNTIME}://")
