"""What a group of processes costs while something goes on: time, CPU, and the most memory."""

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

SAMPLE_SECONDS = 0.1
_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_PARENT, _USER, _SYSTEM, _RESIDENT = 1, 11, 12, 21
"""Where /proc/PID/stat has them, after the name."""
Pids = Callable[[], Sequence[int]]


@dataclass(slots=True)
class Cost:
    """Of one stretch; times are since its beginning."""

    seconds: dict[str, float] = field(default_factory=dict)
    cpu: float = 0.0
    peak_bytes: int = 0
    others: float = 0.0
    """The share of the machine's cores that everybody else used meanwhile."""
    begun: float = field(default_factory=time.perf_counter)

    def mark(self, name: str) -> None:
        self.seconds[name] = time.perf_counter() - self.begun


@contextmanager
def metered(pids: Pids) -> Iterator[Cost]:
    """`pids` is asked again and again: processes come and go."""
    over = threading.Event()
    cost = Cost()
    before, machine = cpu_seconds(pids()), machine_seconds()

    def sample() -> None:
        while not over.wait(SAMPLE_SECONDS):
            cost.peak_bytes = max(cost.peak_bytes, resident_bytes(pids()))

    sampler = threading.Thread(target=sample, daemon=True)
    sampler.start()
    try:
        yield cost
    finally:
        over.set()
        sampler.join()
        cost.cpu = cpu_seconds(pids()) - before
        busy, total = (now - then for now, then in zip(machine_seconds(), machine, strict=True))
        cost.others = max(busy - cost.cpu, 0.0) / total


def cpu_seconds(pids: Sequence[int]) -> float:
    """User and system time of these processes, all their threads included."""
    return sum(stat[_USER] + stat[_SYSTEM] for stat in map(_stat, pids) if stat) / _TICKS


def resident_bytes(pids: Sequence[int]) -> int:
    """What is resident; a page that several share counts for each."""
    return sum(stat[_RESIDENT] for stat in map(_stat, pids) if stat) * _PAGE


def descendants(root: int) -> list[int]:
    """The process and all that it and its children started, as far as they live."""
    parents = {
        int(path.name): stat[_PARENT]
        for path in Path("/proc").iterdir()
        if path.name.isdigit() and (stat := _stat(int(path.name)))
    }
    found = [root]
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    return found


def _stat(pid: int) -> list[int]:
    """The fields after the name, nothing where the process is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return []
    fields = text.rpartition(")")[2].split()
    return [int(each) if each.lstrip("-").isdigit() else 0 for each in fields]


def machine_seconds() -> tuple[float, float]:
    """What the cores did, and all that they could have done."""
    fields = [int(each) for each in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    idle = fields[3] + fields[4]
    return (sum(fields) - idle) / _TICKS, sum(fields) / _TICKS


def peak_bytes(pid: int) -> int:
    """The most memory that a process ever had."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0
