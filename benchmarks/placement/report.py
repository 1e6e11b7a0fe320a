"""The lines of docs/benchmarks.md about placement."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from benchmarks.admission.requests import Asked
from benchmarks.placement.runner import Outcome

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Process:
    """What one of them cost meanwhile."""

    cluster: str
    name: str
    cpu: float
    peak_bytes: int

    @property
    def is_hub(self) -> bool:
        return self.cluster == "hub"


@dataclass(frozen=True, slots=True)
class Run:
    """One load on one fleet."""

    load: str
    placements: int
    members: int
    door: str
    outcome: Outcome
    processes: list[Process]
    runner_cpu: float
    others: float
    """The share of the machine's cores that everybody else used meanwhile."""
    load_average: float
    asked_hub: Asked = field(default_factory=Asked)
    asked_members: Asked = field(default_factory=Asked)
    """Of all members together."""


def table(runs: Sequence[Run]) -> list[str]:
    lines = [
        "| load | members | on the members p50 / p95 | Available p50 / p90 / p95 | all done "
        "| requests per placement: hub; members | CPU ms per placement: hub; one member "
        "| peak MiB: hub; member | others, load |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    return [*lines, *map(_line, runs)]


def details(run: Run) -> list[str]:
    own = run.runner_cpu / run.placements * 1000
    return [
        f"The load and the looking on took {own:.1f} ms of CPU per placement.",
        "",
        *(
            f"- {each.cluster} {each.name}: {each.cpu:.2f} s, "
            f"{each.cpu / run.placements * 1000:.1f} ms per placement, "
            f"{each.peak_bytes / MIB:.0f} MiB"
            for each in run.processes
        ),
    ]


def _line(run: Run) -> str:
    seen = run.outcome
    hub = [each for each in run.processes if each.is_hub]
    members = [each for each in run.processes if not each.is_hub]
    cells = (
        f"{run.load}, {run.placements:,}",
        f"{run.members} {run.door}",
        _spread(seen.placed.values(), (0.5, 0.95)),
        _spread(seen.available.values(), (0.5, 0.9, 0.95)),
        f"{seen.seconds:.1f} s",
        f"{_asked(run.asked_hub, run.placements)}; {_asked(run.asked_members, run.placements)}",
        f"{_costs(hub, run.placements)}; {_costs(members, run.placements, run.members)}",
        f"{_peaks(hub)}; {_peaks(members)}",
        f"{run.others:.0%}, {run.load_average:.0f}",
    )
    return f"| {' | '.join(cells)} |"


def _asked(asked: Asked, placements: int) -> str:
    """Requests alone: neither webhooks nor events of watches."""
    found = [
        count
        for name, count in asked.counts.items()
        if not name.startswith(("webhook", "event of", "conversion"))
    ]
    return f"{sum(found) / placements:.1f}" if found else "–"


def _costs(processes: Sequence[Process], placements: int, share: int = 1) -> str:
    """By name, summed over clusters and divided among them."""
    by_name: dict[str, float] = {}
    for each in processes:
        by_name[each.name] = by_name.get(each.name, 0.0) + each.cpu
    return ", ".join(
        f"{name} {cpu / placements / share * 1000:.1f}" for name, cpu in by_name.items()
    )


def _peaks(processes: Sequence[Process]) -> str:
    """The most of any, by name."""
    by_name: dict[str, int] = {}
    for each in processes:
        by_name[each.name] = max(by_name.get(each.name, 0), each.peak_bytes)
    return ", ".join(f"{name} {peak / MIB:.0f}" for name, peak in by_name.items())


def _spread(seconds: Iterable[float], shares: Sequence[float]) -> str:
    found = sorted(seconds)
    if not found:
        return "–"
    told = (found[min(len(found) - 1, int(len(found) * share))] for share in shares)
    return f"{' / '.join(f'{each:.2f}' for each in told)} s"
