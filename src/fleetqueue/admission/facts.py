"""What a workload's life depends on beside the workload itself: its queues, and its checks."""

from dataclasses import dataclass, field

from fleetqueue.queueing.device_claims import Refusal


@dataclass(frozen=True, slots=True)
class Place:
    """A LocalQueue or ClusterQueue, as a workload meets it."""

    name: str = ""
    exists: bool = False
    is_active: bool = False
    is_terminating: bool = False
    stop_policy: str = "None"

    @property
    def runs(self) -> bool:
        return self.exists and self.stop_policy == "None"


@dataclass(frozen=True, slots=True)
class Facts:
    """All of it."""

    local: Place = field(default_factory=Place)
    queue: Place = field(default_factory=Place)
    checks: tuple[str, ...] | None = None
    """The checks that the workload needs; None where its queue is not known."""
    problem: str = ""
    """Why it may not be tried although its queue could: its namespace, its limits."""
    bypassed: str | None = None
    """The reason told to an equal workload that did not fit, where this one is parked for that."""
    refusal: Refusal | None = None
    """Why it is not even queued."""
