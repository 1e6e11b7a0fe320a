"""What the workers of one pod share: the pod, its sandbox, and the ways to the machine."""

from dataclasses import dataclass, replace
from typing import Protocol

from fleetqueue.api.times import TimeError, parse_duration
from fleetqueue.base.clock import Clock
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.preparation import Preparation, Sandbox
from fleetqueue.runtime.processes import Processes

BACKOFF_BASE = "fleetqueue.io/restart-backoff-base"
BACKOFF_CAP = "fleetqueue.io/restart-backoff-cap"


@dataclass(frozen=True, slots=True)
class RestartBackoff:
    """The first restart comes at once, the next after `base`, then twice that, up to `cap`."""

    base: float = 10.0
    cap: float = 300.0
    reset_after: float = 600.0
    """A container that ran so long begins anew."""

    def seconds(self, restarts: int) -> float:
        return 0.0 if restarts == 0 else min(self.base * 2.0 ** min(restarts - 1, 30), self.cap)

    def as_said_by(self, pod: Object) -> "RestartBackoff":
        """A pod's annotations can ask for other times, as `500ms` or `1m`."""
        notes = pod["metadata"].get("annotations") or {}
        return replace(
            self,
            base=_seconds(notes.get(BACKOFF_BASE), self.base),
            cap=_seconds(notes.get(BACKOFF_CAP), self.cap),
        )


def _seconds(text: str | None, default: float) -> float:
    """What is no length of time says nothing: a pod runs whatever its annotations are."""
    try:
        return default if text is None else max(parse_duration(text).total_seconds(), 0.0)
    except TimeError:
        return default


class Surroundings(Protocol):
    """A pod as its containers see it."""

    @property
    def pod(self) -> Object: ...
    @property
    def sandbox(self) -> Sandbox: ...
    @property
    def has_sandbox(self) -> bool: ...
    @property
    def processes(self) -> Processes: ...
    @property
    def preparation(self) -> Preparation: ...
    @property
    def clock(self) -> Clock: ...
    @property
    def backoff(self) -> RestartBackoff: ...

    def changed(self) -> None:
        """A container shows something new."""

    def note(self, type: str, reason: str, message: str) -> None:
        """An event about the pod."""
