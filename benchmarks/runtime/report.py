"""The section of docs/benchmarks.md: both clusters side by side, and what real processes cost."""

from dataclasses import dataclass, field
from typing import Any

from benchmarks.runtime.meter import Cost

MIB = 1024 * 1024
HEADING = "## Pods: simulated ones beside kwok's, and real processes"
HEAD = """
By `python -m benchmarks.runtime --save`, both clusters in the same run on the same machine, one
after the other, each measured {rounds} times after a round that does not count; of the rounds the
one in the middle is told. The one is kwok {kwok} with kube-apiserver, kube-controller-manager and
kube-scheduler {kubernetes} and etcd, whose clients do not limit themselves; the other is
`fleetqueue serve --simulate`, one process. Both have TLS, ten nodes, and sync every write. CPU is
that of all processes of the cluster, memory the most that was resident in all of them together.
"""


@dataclass(slots=True)
class Cluster:
    """What one of them showed, in each round."""

    name: str
    empty_bytes: int = 0
    rounds: dict[str, list[Cost]] = field(default_factory=dict)

    def middle(self, scenario: str) -> Cost:
        ordered = sorted(self.rounds[scenario], key=lambda cost: cost.seconds["done"])
        return ordered[len(ordered) // 2]


def simulated(theirs: Cluster, ours: Cluster) -> list[str]:
    lines = [
        f"| | {theirs.name} | {ours.name} | time | CPU | memory |",
        "|---|---|---|---|---|---|",
    ]
    for scenario in theirs.rounds:
        a, b = theirs.middle(scenario), ours.middle(scenario)
        ratios = (
            a.seconds["done"] / b.seconds["done"],
            a.cpu / b.cpu,
            a.peak_bytes / b.peak_bytes,
        )
        told = " | ".join(map(_ratio, ratios))
        lines.append(f"| {scenario} | {_cell(a)} | {_cell(b)} | {told} |")
    empty = _ratio(theirs.empty_bytes / ours.empty_bytes)
    sizes = f"{_mib(theirs.empty_bytes)} | {_mib(ours.empty_bytes)}"
    return [*lines, f"| nothing, just started | {sizes} | | | {empty} |"]


def processes(count: int, cost: Cost, memory: dict[str, Any]) -> list[str]:
    return [
        f"| {count} processes from one Job, on ours | |",
        "|---|---|",
        f"| until all run and are ready | {cost.seconds['running']:.1f} s |",
        f"| from their end until the Job is complete | {cost.seconds['ended']:.1f} s |",
        f"| CPU of the server and its shepherd | {cost.cpu:.1f} s |",
        f"| memory of the server before, and while all run | {_mib(memory['empty'])}, "
        f"{_mib(memory['server'])} |",
        f"| memory of the {count} Python processes themselves | {_mib(memory['processes'])} |",
    ]


def noise(*clusters: Cluster) -> str:
    """Nobody has a machine to himself: CPU and memory hardly change with that, times do."""
    rounds = [costs for cluster in clusters for costs in cluster.rounds.values()]
    times = [[cost.seconds["done"] for cost in costs] for costs in rounds]
    spread = max(max(each) / min(each) for each in times)
    others = [cost.others for costs in rounds for cost in costs]
    return (
        f"Others used {min(others):.0%} to {max(others):.0%} of the cores meanwhile; the slowest\n"
        f"round took at most {spread:.1f} times as long as the fastest."
    )


def _ratio(times: float) -> str:
    """How many times more the others took; where they took less, that."""
    return f"**1/{times:.1f}**" if times >= 1 else f"**{1 / times:.1f}x**"


def _cell(cost: Cost) -> str:
    return f"{cost.seconds['done']:.1f} s, {cost.cpu:.1f} s CPU, {_mib(cost.peak_bytes)}"


def _mib(size: float) -> str:
    return f"{size / MIB:,.0f} MiB" if size >= 10 * MIB else f"{size / MIB:.1f} MiB"
