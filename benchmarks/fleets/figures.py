"""Figures of a run as text: costs by process, spreads of times, numbers of requests."""

from collections.abc import Iterable

from benchmarks.admission.requests import Asked
from benchmarks.fleets.measuring import Process

MIB = 1024 * 1024


def of_processes(processes: Iterable[Process], count: int, unit: str) -> list[str]:
    """A line for each; `count`: of what, which is called `unit`, they worked on."""
    return [
        f"- {each.cluster} {each.name}: {each.cpu:.2f} s, {each.cpu / count * 1000:.1f} ms "
        f"per {unit}, {each.peak_bytes / MIB:.0f} MiB"
        for each in processes
    ]


def requests_each(asked: Asked, count: int) -> str:
    """Requests alone: neither webhooks nor events of watches."""
    found = [
        number
        for name, number in asked.counts.items()
        if not name.startswith(("webhook", "event of", "conversion"))
    ]
    return f"{sum(found) / count:.1f}" if found else "–"


def costs(processes: Iterable[Process], count: int, clusters: int = 1) -> str:
    """Milliseconds by name, summed over clusters and divided among them."""
    by_name: dict[str, float] = {}
    for each in processes:
        by_name[each.name] = by_name.get(each.name, 0.0) + each.cpu
    return ", ".join(f"{name} {cpu / count / clusters * 1000:.1f}" for name, cpu in by_name.items())


def peaks(processes: Iterable[Process]) -> str:
    """The most of any, by name."""
    by_name: dict[str, int] = {}
    for each in processes:
        by_name[each.name] = max(by_name.get(each.name, 0), each.peak_bytes)
    return ", ".join(f"{name} {peak / MIB:.0f}" for name, peak in by_name.items())


def spread(seconds: Iterable[float], *shares: float) -> str:
    """`shares`: so many of all took no longer."""
    found = sorted(seconds)
    if not found:
        return "–"
    told = (found[min(len(found) - 1, int(len(found) * share))] for share in shares)
    return f"{' / '.join(f'{each:.2f}' for each in told)} s"
