"""What the workers of one pod share: the pod, its sandbox, and the ways to the machine."""

from dataclasses import dataclass
from typing import Protocol

from fleetqueue.base.clock import Clock
from fleetqueue.kube.resources import Object
from fleetqueue.runtime.preparation import Preparation, Sandbox
from fleetqueue.runtime.processes import Processes


@dataclass(frozen=True, slots=True)
class RestartBackoff:
    """The first restart comes at once, the next after `base`, then twice that, up to `cap`."""

    base: float = 10.0
    cap: float = 300.0
    reset_after: float = 600.0
    """A container that ran so long begins anew."""

    def seconds(self, restarts: int) -> float:
        return 0.0 if restarts == 0 else min(self.base * 2.0 ** min(restarts - 1, 30), self.cap)


class Surroundings(Protocol):
    """A pod as its containers see it."""

    @property
    def pod(self) -> Object: ...
    @property
    def sandbox(self) -> Sandbox: ...
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
