"""The table: both servers side by side, and the ratios that count."""

from dataclasses import dataclass, field

from benchmarks.apiserver.load_generator import Measured
from benchmarks.apiserver.scenarios import HELD, Row

MIB = 1024 * 1024
HEAD = """# Benchmarks

The embedded API server against kube-apiserver 1.34.4 and etcd 3.6, on the same machine in the
same run, by `python -m benchmarks.apiserver --save`. Each has TLS and durable storage: every
acknowledged write is synced to disk. One load generator in Go drives both with the same bytes
over HTTP/1.1; it shares the cores with the server it drives. CPU is that of all server processes,
user and system, per request (per event for a watch). ConfigMaps are 1 KB, Workloads 1.5 KB with
Kueue's CRD and its CEL rules. Absolute figures are of this machine; the ratios are what we look
at.
"""


@dataclass(slots=True)
class Result:
    """What one server showed."""

    name: str
    start_seconds: float
    empty_bytes: int
    full_bytes: int = 0
    rows: dict[tuple[str, int], tuple[Measured, bool]] = field(default_factory=dict)

    def add(self, row: Row, clients: int) -> None:
        self.rows[row.name, clients] = (row.measured, row.is_write)


def render(results: list[Result], machine: str) -> str:
    theirs, ours = results
    lines = [HEAD, f"Machine: {machine}.", ""]
    lines += [
        "| operation | clients | kube-apiserver + etcd | fleetqueue | rate | goal | CPU | goal |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for key, (measured, is_write) in theirs.rows.items():
        lines.append(_line(key, measured, ours.rows[key][0], is_write))
    lines += ["", *_others(theirs, ours), ""]
    return "\n".join(lines)


def _line(key: tuple[str, int], theirs: Measured, ours: Measured, is_write: bool) -> str:
    name, clients = key
    rate = ours.rate / theirs.rate
    cpu = theirs.cpu_us / max(ours.cpu_us, 0.01)
    goal, cpu_goal = ("5x", "1/10") if is_write else ("2x", "")
    return (
        f"| {name} | {clients} | {_cell(theirs)} | {_cell(ours)} | **{rate:.1f}x** | {goal} "
        f"| **1/{cpu:.1f}** | {cpu_goal} |"
    )


def _cell(measured: Measured) -> str:
    return f"{measured.rate:,.0f}/s, p99 {measured.p99_ms:,.1f} ms, {measured.cpu_us:,.0f} us"


def _others(theirs: Result, ours: Result) -> list[str]:
    def line(name: str, a: float, b: float, unit: str, goal: str) -> str:
        return f"| {name} | {a:,.2f} {unit} | {b:,.2f} {unit} | **1/{a / b:.1f}** | {goal} |"

    return [
        "| | kube-apiserver + etcd | fleetqueue | ratio | goal |",
        "|---|---|---|---|---|",
        line("start until ready", theirs.start_seconds, ours.start_seconds, "s", "1/5"),
        line(
            "resident memory, empty", theirs.empty_bytes / MIB, ours.empty_bytes / MIB, "MiB", "1/4"
        ),
        line(
            f"resident memory, {HELD:,} objects",
            theirs.full_bytes / MIB,
            ours.full_bytes / MIB,
            "MiB",
            "1/4",
        ),
    ]
