"""The lines of docs/benchmarks.md about admission."""

from dataclasses import dataclass, field
from statistics import mean

from benchmarks.admission.loads import Load
from benchmarks.admission.requests import Asked
from benchmarks.admission.runner import Outcome

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Process:
    """What one of them cost while the load went on."""

    name: str
    cpu: float
    peak_bytes: int


@dataclass(frozen=True, slots=True)
class Run:
    """One load behind one door."""

    load: Load
    scale: float
    door: str
    outcome: Outcome
    processes: list[Process]
    others: float
    """The share of the machine's cores that everybody else used meanwhile."""
    asked: Asked = field(default_factory=Asked)
    runner_cpu: float = 0.0
    """Seconds of the process that makes the load, which shares the cores."""
    load_average: float = 0.0


def table(runs: list[Run]) -> list[str]:
    lines = [
        "| load | on | wall (at least) | workloads/s | time to admission l/m/s | quota used "
        "| evictions | writes of a workload | CPU s, peak MiB | CPU ms per workload |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    return [*lines, *map(_line, runs)]


def around(run: Run) -> str:
    """What else took the machine's time."""
    own = run.runner_cpu / run.load.total * 1000
    return (
        f"The load itself took {own:.1f} ms of CPU per workload; others used {run.others:.0%} of "
        f"the cores, the load average was {run.load_average:.1f} at the end."
    )


def _line(run: Run) -> str:
    load, seen = run.load, run.outcome
    name = load.name if run.scale == 1 else f"{load.name} × {run.scale:g}"
    waits = " / ".join(f"{mean(seen.waits[each]):.1f}" for each in ("large", "medium", "small"))
    costs = "; ".join(
        f"{each.name} {each.cpu:.1f}, {each.peak_bytes / MIB:.0f}" for each in run.processes
    )
    total = sum(each.cpu for each in run.processes)
    cells = (
        f"{name} ({load.total:,})",
        run.door,
        f"{seen.seconds:.0f} s ({load.seconds_min:.0f} s)",
        f"{load.total / seen.seconds:.1f}",
        f"{waits} s",
        f"{seen.used / (load.cpus * seen.seconds):.0%}",
        f"{seen.evictions:,}",
        f"{seen.versions / load.total:.1f}",
        costs,
        f"{total / load.total * 1000:.1f}",
    )
    return f"| {' | '.join(cells)} |"
