"""What happened to one job, on all clusters, between the faults: for whoever has to find out why a
seed fails.
"""

import asyncio
from collections.abc import Iterable
from typing import Any

from fleetqueue.api.kueue import admission_status as status
from fleetqueue.base import codec, paths
from fleetqueue.kube.resources import Object

LINES_MAX = 400
SUSPEND = ("spec.suspend", "spec.runPolicy.suspend", "spec.rayClusterConfig.suspend")


class Story:
    """Keeps what is seen, and puts it into words when it is asked for."""

    def __init__(self) -> None:
        self._faults: list[tuple[float, str]] = []
        self._seen: dict[str, list[tuple[float, str, bytes, bool]]] = {}

    def fault(self, text: str) -> None:
        self._faults.append((_now(), text))

    def saw(self, job: str, cluster: str, data: bytes, is_gone: bool) -> None:
        self._seen.setdefault(job, []).append((_now(), cluster, data, is_gone))

    def of(self, problems: Iterable[str]) -> str:
        """The problems, and the story of the job that the first of them begins with."""
        told = list(problems)
        job = next((each for each in sorted(self._seen) if told and each in told[0]), "")
        return "\n".join([*told, *self._lines(job)])

    def _lines(self, job: str) -> list[str]:
        seen = self._seen.get(job) or []
        if not seen:
            return []
        lines = [(at, f"{at:8.2f}  -- {text}") for at, text in self._faults if at >= seen[0][0]]
        lines += [
            (at, f"{at:8.2f} {cluster} {_told(codec.decode(data), is_gone)}")
            for at, cluster, data, is_gone in seen
        ]
        return [text for _, text in sorted(lines, key=lambda line: line[0])][:LINES_MAX]


def _told(obj: Object, is_gone: bool) -> str:
    metadata = obj["metadata"]
    parts = [obj["kind"], str(metadata["name"]), str(metadata["uid"])[:4]]
    if is_gone:
        return " ".join([*parts, "gone"])
    if metadata.get("deletionTimestamp"):
        parts.append(f"deleting {metadata.get('finalizers') or ''}")
    told = {"Workload": _workload, "Pod": _pod}.get(obj["kind"], _job)
    return " ".join([*parts, *told(obj)])


def _workload(obj: Object) -> Iterable[str]:
    state: Any = obj.get("status") or {}
    yield from (f"{each['type']}={each['reason']}" for each in _true(state))
    for check in status.checks_of(obj):
        yield f"check {check['state']} ({check.get('message') or ''})"
    for name in ("clusterName", "nominatedClusterNames"):
        if state.get(name):
            yield f"{name}={state[name]}"
    if not status.is_active(obj):
        yield "inactive"


def _pod(obj: Object) -> Iterable[str]:
    yield str((obj.get("status") or {}).get("phase"))
    if obj["spec"].get("schedulingGates"):
        yield "gated"


def _job(obj: Object) -> Iterable[str]:
    state: Any = obj.get("status") or {}
    if any(paths.get(obj, path) for path in SUSPEND):
        yield "suspended"
    yield from (each["type"] for each in _true(state))
    counts = ("active", "succeeded", "failed", "phase", "replicas", "jobDeploymentStatus", "state")
    yield from (f"{name}={state[name]}" for name in counts if state.get(name))


def _true(state: Any) -> list[Object]:
    return [each for each in state.get("conditions") or () if each["status"] == "True"]


def _now() -> float:
    return asyncio.get_running_loop().time()
