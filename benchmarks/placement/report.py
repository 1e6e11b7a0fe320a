"""The lines of docs/benchmarks.md about placement."""

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.admission.requests import Asked
from benchmarks.fleets import figures
from benchmarks.fleets.measuring import Measured, together
from benchmarks.placement.clusters import HUB
from benchmarks.placement.runner import Outcome


@dataclass(frozen=True, slots=True)
class Run:
    """One load on one fleet."""

    load: str
    placements: int
    members: int
    door: str
    measured: Measured[Outcome]

    @property
    def asked(self) -> dict[str, Asked]:
        """Of the hub, and of all members together."""
        every = dict(self.measured.asked)
        return {HUB: every.pop(HUB), "members": together(every.values())}


def table(runs: Sequence[Run]) -> list[str]:
    lines = [
        "| load | members | on the members p50 / p95 | Available p50 / p90 / p95 | all done "
        "| requests per placement: hub; members | CPU ms per placement: hub; one member "
        "| peak MiB: hub; member | others, load |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    return [*lines, *map(_line, runs)]


def details(run: Run) -> list[str]:
    own = run.measured.runner_cpu / run.placements * 1000
    return [
        f"The load and the looking on took {own:.1f} ms of CPU per placement.",
        "",
        *figures.of_processes(run.measured.processes, run.placements, "placement"),
    ]


def _line(run: Run) -> str:
    found, count, asked = run.measured, run.placements, run.asked
    seen = found.outcome
    hub = [each for each in found.processes if each.cluster == HUB]
    members = [each for each in found.processes if each.cluster != HUB]
    cells = (
        f"{run.load}, {count:,}",
        f"{run.members} {run.door}",
        figures.spread(seen.placed.values(), 0.5, 0.95),
        figures.spread(seen.available.values(), 0.5, 0.9, 0.95),
        f"{seen.seconds:.1f} s",
        "; ".join(figures.requests_each(each, count) for each in asked.values()),
        f"{figures.costs(hub, count)}; {figures.costs(members, count, run.members)}",
        f"{figures.peaks(hub)}; {figures.peaks(members)}",
        f"{found.others:.0%}, {found.load_average:.0f}",
    )
    return f"| {' | '.join(cells)} |"
