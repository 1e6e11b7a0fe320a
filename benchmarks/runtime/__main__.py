"""`python -m benchmarks.runtime [--save] [--pods N] [--processes N]`: prints the tables, keeps them
in docs/."""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from benchmarks.runtime import clusters, report, scenarios  # noqa: E402
from benchmarks.runtime.meter import Cost, resident_bytes  # noqa: E402
from support.reference import binaries  # noqa: E402
from support.server import Server  # noqa: E402

Start = Callable[[Path], Server]
Scenario = Callable[[Server, int], Cost]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--save", action="store_true", help="write docs/benchmarks.md")
    parser.add_argument("--pods", type=int, default=1000, help="how many are simulated")
    parser.add_argument("--processes", type=int, default=50, help="how many are real")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is measured")
    parser.add_argument("--only-ours", action="store_true", help="leave kwok out; nothing is saved")
    options = parser.parse_args()
    binaries()
    found = [report.Cluster("kwok"), report.Cluster("fleetqueue")]
    starts: list[Start] = [clusters.start_kwok, clusters.start_ours_simulated]
    for cluster, start in zip(found, starts, strict=True):
        if cluster.name == "fleetqueue" or not options.only_ours:
            measure(cluster, start, options.pods, options.rounds)
    cost, memory = measure_processes(options.processes)
    lines = report.processes(options.processes, cost, memory)
    if options.only_ours:
        print("\n".join(lines))
        return
    kwok, kubectl = clusters.kwok() / "kwok", binaries() / "kubectl"
    versions = {
        "kwok": _version(kwok, "--version"),
        "kubernetes": _version(kubectl, "version", "--client"),
    }
    head = report.HEAD.format(rounds=options.rounds, **versions)
    tables = [*report.simulated(*found), "", report.noise(*found), "", *lines]
    text = "\n".join([report.HEADING, head, *tables, ""])
    print(text)
    if options.save:
        _save(ROOT / "docs" / "benchmarks.md", text)


def measure(cluster: report.Cluster, start: Start, pods: int, rounds: int) -> None:
    named: dict[str, Scenario] = {
        f"{pods:,} pods of one Job until it is complete": scenarios.job_of_simulated_pods,
        f"{pods:,} pods of one ReplicaSet until all are ready": scenarios.set_of_simulated_pods,
    }
    with tempfile.TemporaryDirectory() as folder:
        _keep_bytecode(Path(folder) / "bytecode")
        server = start(Path(folder) / "cluster")
        try:
            cluster.empty_bytes = resident_bytes([each.pid for each in server.processes])
            for name, scenario in named.items():
                scenario(server, pods)
                cluster.rounds[name] = [scenario(server, pods) for _ in range(rounds)]
                for cost in cluster.rounds[name]:
                    _tell(f"{cluster.name}: {name}", cost)
        finally:
            server.stop()


def measure_processes(count: int) -> tuple[Cost, scenarios.Object]:
    with tempfile.TemporaryDirectory() as folder:
        _keep_bytecode(Path(folder) / "bytecode")
        server = clusters.start_ours_with_processes(Path(folder) / "cluster")
        try:
            cost, memory = scenarios.job_of_processes(server, count, Path(folder))
            _tell(f"{count} processes", cost)
            return cost, memory
        finally:
            server.stop()


def _tell(name: str, cost: Cost) -> None:
    times = ", ".join(f"{key} {seconds:.2f} s" for key, seconds in cost.seconds.items())
    print(
        f"{name}: {times}; CPU {cost.cpu:.2f} s, {cost.peak_bytes / report.MIB:.0f} MiB, "
        f"others used {cost.others:.0%} of the machine",
        file=sys.stderr,
    )


def _keep_bytecode(folder: Path) -> None:
    """An installed package has its bytecode; an environment may say that a checkout has none."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = str(folder)


def _version(*command: str | Path) -> str:
    done = subprocess.run([str(each) for each in command], check=True, stdout=subprocess.PIPE)
    found = re.search(r"v?(\d+\.\d+\.\d+)", done.stdout.decode())
    return found[1] if found else "of an unknown version"


def _save(page: Path, text: str) -> None:
    """Replace the tables; what people wrote below them, from the next heading on, stays."""
    before, _, rest = page.read_text().partition(f"{report.HEADING}\n")
    heading = re.search(r"^#{2,3} ", rest, re.MULTILINE)
    after = rest[heading.start() :] if heading else ""
    page.write_text(f"{before.rstrip()}\n\n{text}" + (f"\n{after}" if after else ""))


if __name__ == "__main__":
    main()
