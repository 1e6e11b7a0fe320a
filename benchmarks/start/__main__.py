"""`python -m benchmarks.start [--clusters N ...] [--rounds N]`: prints a table of starts, from the
command until every /readyz answers ok, and of the memory that is held then with nothing running.
"""

import argparse
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from benchmarks.start import starts  # noqa: E402
from benchmarks.start.starts import Start  # noqa: E402

MIB = 1024 * 1024
HEAD = """\
| clusters | started by | | all ready | CPU | PSS | RSS | processes | others' CPU |
|---|---|---|---|---|---|---|---|---|"""
WAYS: dict[str, Callable[[Path, Sequence[int]], list[list[str]]]] = {
    "`serve` each": starts.servers,
    "one nursery": starts.nursery,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clusters", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--rounds", type=int, default=3, help="how often each is measured")
    options = parser.parse_args()
    # What is installed has its byte code in place; the first start here would have to make it.
    _measure("one nursery", 1)
    print(HEAD)
    for count in options.clusters:
        for way in WAYS:
            rounds = [_measure(way, count) for _ in range(options.rounds)]
            for name, found in zip(("new", "again"), zip(*rounds, strict=True), strict=True):
                print(_line(count, way, name, found), flush=True)


def _measure(way: str, count: int) -> tuple[Start, Start]:
    """A start from nothing, and one on what the first left."""
    with tempfile.TemporaryDirectory() as folder:
        first = starts.measure(WAYS[way], Path(folder), count)
        return first, starts.measure(WAYS[way], Path(folder), count)


def _line(count: int, way: str, name: str, found: Sequence[Start]) -> str:
    """Of the rounds the one in the middle, value by value."""

    def middle(read: Callable[[Start], float]) -> float:
        return statistics.median(map(read, found))

    cells = (
        str(count),
        way,
        name,
        f"{middle(lambda each: each.seconds):.2f} s",
        f"{middle(lambda each: each.cpu_seconds):.2f} s",
        f"{middle(lambda each: each.proportional_bytes) / MIB:.0f} MiB",
        f"{middle(lambda each: each.resident_bytes) / MIB:.0f} MiB",
        f"{middle(lambda each: each.processes):.0f}",
        f"{middle(lambda each: each.others):.0%}",
    )
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
