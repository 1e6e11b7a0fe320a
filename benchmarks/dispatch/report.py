"""The lines of docs/benchmarks.md about dispatch."""

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.admission.requests import Asked
from benchmarks.dispatch.runner import Outcome
from benchmarks.fleets import figures
from benchmarks.fleets.measuring import Measured, together

MANAGER = "manager"


@dataclass(frozen=True, slots=True)
class Run:
    """So many jobs on one fleet."""

    jobs: int
    workers: int
    door: str
    dispatcher: str
    is_one_by_one: bool
    measured: Measured[Outcome]

    @property
    def asked(self) -> dict[str, Asked]:
        """Of the manager, and of all workers together."""
        every = dict(self.measured.asked)
        return {MANAGER: every.pop(MANAGER), "workers": together(every.values())}


def table(runs: Sequence[Run]) -> list[str]:
    lines = [
        "| jobs | workers | dispatcher | unsuspended p50 / p99 | running p50 / p99 "
        "| finished here p50 / p99 | status back p50 / p99 | jobs/s | copies, mirrors per job "
        "| CPU ms per job: manager; one worker | peak MiB: manager; worker | load |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    return [*lines, *map(_line, runs)]


def details(run: Run) -> list[str]:
    found = run.measured
    own = found.runner_cpu / run.jobs * 1000
    places = ", ".join(f"{name} {count}" for name, count in sorted(found.outcome.places.items()))
    return [
        f"The load and the looking on took {own:.1f} ms of CPU per job; others used "
        f"{found.others:.0%} of the cores. Jobs ran on: {places}.",
        "",
        *figures.of_processes(found.processes, run.jobs, "job"),
    ]


def _line(run: Run) -> str:
    found, jobs = run.measured, run.jobs
    seen = found.outcome
    pace = "one by one" if run.is_one_by_one else "burst"
    here = [each for each in found.processes if each.cluster == MANAGER]
    there = [each for each in found.processes if each.cluster != MANAGER]
    back = [*seen.reported.values(), *seen.completed.values()]
    cells = (
        f"{jobs:,} {pace}",
        f"{run.workers} {run.door}",
        run.dispatcher,
        figures.spread(seen.unsuspended.values(), 0.5, 0.99),
        figures.spread(seen.running.values(), 0.5, 0.99),
        figures.spread(seen.finished.values(), 0.5, 0.99),
        figures.spread(back, 0.5, 0.99),
        f"{jobs / seen.seconds:.1f}",
        f"{len(seen.copies) / jobs:.2f}, {len(seen.mirrors) / jobs:.2f}",
        f"{figures.costs(here, jobs)}; {figures.costs(there, jobs, run.workers)}",
        f"{figures.peaks(here)}; {figures.peaks(there)}",
        f"{found.load_average:.0f}",
    )
    return f"| {' | '.join(cells)} |"
