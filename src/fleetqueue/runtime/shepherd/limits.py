"""Keeps containers within their memory and CPU: by control groups where they can, and by looking
after the processes where they cannot.
"""

import os
import signal
from collections.abc import Iterator

from fleetqueue.runtime.shepherd import cgroups, memory
from fleetqueue.runtime.shepherd.cgroups import Groups
from fleetqueue.runtime.shepherd.flock import Flock, Member, descendants
from fleetqueue.runtime.shepherd.processors import Processors

LOOK_SECONDS = 0.25
"""How often containers are looked at whose memory no group limits."""


class Limits:
    """Of all containers below one shepherd."""

    def __init__(self, flock: Flock, groups: Groups | None) -> None:
        self.groups = groups
        self._flock = flock
        self._processors = Processors(_available_processors())
        self._looked_monotonic = 0.0

    @property
    def controllers(self) -> frozenset[str]:
        """What groups can limit."""
        return self.groups.controllers if self.groups else frozenset()

    def set(self, member: Member, memory_bytes: int | None, cpu_millis: int | None) -> None:
        """For a container that is about to start."""
        if self.groups:
            member.cgroup = self.groups.create(member.id, memory_bytes, cpu_millis)
        if "memory" not in self.controllers:
            member.memory_bytes = memory_bytes
        if cpu_millis is not None and "cpu" not in self.controllers:
            member.processors = self._processors.give(member.id, cpu_millis)

    def release(self, member: Member) -> None:
        self._processors.release(member.id)

    def seconds(self) -> float | None:
        """How long nobody has to be looked at."""
        return LOOK_SECONDS if next(self._limited(), None) is not None else None

    def look(self, now_monotonic: float) -> None:
        """Ends those that use too much memory."""
        if now_monotonic < self._looked_monotonic + LOOK_SECONDS:
            return
        self._looked_monotonic = now_monotonic
        for member in list(self._limited()):
            roots = [member.pid, *self._flock.beside(member)]
            pids = [pid for root in roots for pid in (root, *descendants(root))]
            if memory.is_over(pids, member.memory_bytes or 0):
                member.is_over_memory = True
                self._flock.kill(member)

    def ran_out_of_memory(self, member: Member, signal_number: int) -> bool:
        """Whether that is how a container ended."""
        if member.is_over_memory and signal_number == signal.SIGKILL:
            return True
        return bool(member.cgroup) and cgroups.ran_out_of_memory(member.cgroup)

    def _limited(self) -> Iterator[Member]:
        return (
            member
            for member in self._flock.members.values()
            if member.memory_bytes is not None and member.status is None
        )


def _available_processors() -> set[int]:
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
