"""The loads: how many queues, and which workloads come to each of them, how fast."""

from dataclasses import dataclass, replace

QUOTA = 20
BORROWED_MAX = 100


@dataclass(frozen=True, slots=True)
class WorkloadClass:
    """Workloads of one size in one queue; seconds between them, and that each of them runs."""

    name: str
    count: int
    every: float
    runs: float
    priority: int
    cpu_millis: int
    """Of all its pods together."""
    pods: int = 1
    slice_size: int = 1

    @property
    def work(self) -> float:
        """Cpu seconds of all of them."""
        return self.count * self.runs * self.cpu_millis / 1000


@dataclass(frozen=True, slots=True)
class Load:
    """Cohorts of queues that all get the same."""

    name: str
    cohorts: int
    queues: int
    classes: tuple[WorkloadClass, ...]
    has_topology: bool = False

    @property
    def total(self) -> int:
        return self.cohorts * self.queues * sum(each.count for each in self.classes)

    @property
    def seconds_min(self) -> float:
        """Nothing could be faster: all quota used all the time, or the last one comes and runs."""
        work = sum(each.work for each in self.classes) / QUOTA
        return max(work, *(each.count * each.every + each.runs for each in self.classes))

    @property
    def cpus(self) -> int:
        return self.cohorts * self.queues * QUOTA

    def scaled(self, factor: float) -> "Load":
        """So much of each class, one at least; queues and times stay."""
        counts = [max(1, round(each.count * factor)) for each in self.classes]
        classes = zip(self.classes, counts, strict=True)
        return replace(self, classes=tuple(replace(each, count=n) for each, n in classes))


_CLASSES = (
    WorkloadClass("small", 350, 0.1, 0.2, 50, 1_000),
    WorkloadClass("medium", 100, 0.5, 0.5, 100, 5_000),
    WorkloadClass("large", 50, 1.2, 1.0, 200, 20_000),
)
_SHORT = (
    WorkloadClass("small", 35, 0.06, 0.15, 50, 1_000),
    WorkloadClass("medium", 11, 0.3, 0.35, 100, 5_000),
    WorkloadClass("large", 4, 0.7, 0.7, 200, 20_000),
)
_PLACED = tuple(
    replace(each, pods=pods, slice_size=size)
    for each, pods, size in zip(_CLASSES, (2, 4, 8), (1, 2, 4), strict=True)
)
LOADS = {
    load.name: load
    for load in (
        Load("mini", 1, 6, _CLASSES),
        Load("baseline", 5, 6, _CLASSES),
        Load("large", 10, 100, _SHORT),
        Load("topology", 5, 6, _PLACED, has_topology=True),
    )
}
