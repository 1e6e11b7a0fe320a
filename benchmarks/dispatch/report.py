"""The lines of docs/benchmarks.md about dispatch."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from benchmarks.admission.requests import Asked
from benchmarks.dispatch.runner import Outcome

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Process:
    """What one of them cost while the jobs went by."""

    cluster: str
    name: str
    cpu: float
    peak_bytes: int

    @property
    def is_manager(self) -> bool:
        return self.cluster == "manager"


@dataclass(frozen=True, slots=True)
class Run:
    """So many jobs on one fleet."""

    jobs: int
    workers: int
    door: str
    dispatcher: str
    is_one_by_one: bool
    outcome: Outcome
    processes: list[Process]
    runner_cpu: float
    others: float
    """The share of the machine's cores that everybody else used meanwhile."""
    load_average: float
    asked_here: Asked = field(default_factory=Asked)
    asked_there: Asked = field(default_factory=Asked)
    """Of all workers together."""


def table(runs: list[Run]) -> list[str]:
    lines = [
        "| jobs | workers | dispatcher | unsuspended p50 / p99 | running p50 / p99 "
        "| finished here p50 / p99 | status back p50 / p99 | jobs/s | copies, mirrors per job "
        "| CPU ms per job: manager; one worker | peak MiB: manager; worker | load |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    return [*lines, *map(_line, runs)]


def details(run: Run) -> list[str]:
    own = run.runner_cpu / run.jobs * 1000
    places = ", ".join(f"{name} {count}" for name, count in sorted(run.outcome.places.items()))
    return [
        f"The load and the looking on took {own:.1f} ms of CPU per job; others used "
        f"{run.others:.0%} of the cores. Jobs ran on: {places}.",
        "",
        *(
            f"- {each.cluster} {each.name}: {each.cpu:.2f} s, {each.cpu / run.jobs * 1000:.1f} ms "
            f"per job, {each.peak_bytes / MIB:.0f} MiB"
            for each in run.processes
        ),
    ]


def _line(run: Run) -> str:
    seen = run.outcome
    pace = "one by one" if run.is_one_by_one else "burst"
    here = [each for each in run.processes if each.is_manager]
    there = [each for each in run.processes if not each.is_manager]
    back = [*seen.reported.values(), *seen.completed.values()]
    cells = (
        f"{run.jobs:,} {pace}",
        f"{run.workers} {run.door}",
        run.dispatcher,
        _spread(seen.unsuspended.values()),
        _spread(seen.running.values()),
        _spread(seen.finished.values()),
        _spread(back),
        f"{run.jobs / seen.seconds:.1f}",
        f"{len(seen.copies) / run.jobs:.2f}, {len(seen.mirrors) / run.jobs:.2f}",
        f"{_costs(here, run.jobs)}; {_costs(there, run.jobs, run.workers)}",
        f"{_peaks(here)}; {_peaks(there)}",
        f"{run.load_average:.0f}",
    )
    return f"| {' | '.join(cells)} |"


def _costs(processes: Sequence[Process], jobs: int, share: int = 1) -> str:
    """By name, summed over clusters and divided among them."""
    by_name: dict[str, float] = {}
    for each in processes:
        by_name[each.name] = by_name.get(each.name, 0.0) + each.cpu
    return ", ".join(f"{name} {cpu / jobs / share * 1000:.1f}" for name, cpu in by_name.items())


def _peaks(processes: Sequence[Process]) -> str:
    """The most of any, by name."""
    by_name: dict[str, int] = {}
    for each in processes:
        by_name[each.name] = max(by_name.get(each.name, 0), each.peak_bytes)
    return ", ".join(f"{name} {peak / MIB:.0f}" for name, peak in by_name.items())


def _spread(seconds: Iterable[float]) -> str:
    found = sorted(seconds)
    if not found:
        return "–"
    return f"{_at(found, 0.5):.2f} / {_at(found, 0.99):.2f} s"


def _at(found: Sequence[float], share: float) -> float:
    return found[min(len(found) - 1, int(len(found) * share))]
