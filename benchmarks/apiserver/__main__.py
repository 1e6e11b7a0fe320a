"""`python -m benchmarks.apiserver [--save] [--scale X]`: prints the table, keeps it in docs/."""

import argparse
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from benchmarks.apiserver import load_generator, scenarios  # noqa: E402
from benchmarks.apiserver.machine import resident_bytes  # noqa: E402
from benchmarks.apiserver.report import Result, render  # noqa: E402
from support.ours import start_ours  # noqa: E402
from support.reference import binaries, start_reference  # noqa: E402
from support.server import Server  # noqa: E402

Start = Callable[[Path], Server]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--save", action="store_true", help="write docs/benchmarks.md")
    parser.add_argument("--scale", type=float, default=1.0, help="factor on the number of requests")
    options = parser.parse_args()
    binary = load_generator.build()
    binaries()
    starts: dict[str, Start] = {
        "kube-apiserver + etcd": lambda path: start_reference(
            path, durable=True, controllers=False
        ),
        "fleetqueue": lambda path: start_ours(path, durability="full"),
    }
    results = []
    for name, start in starts.items():
        print(f"measuring {name}", file=sys.stderr)
        with tempfile.TemporaryDirectory() as folder:
            _keep_bytecode(Path(folder) / "bytecode")
            results.append(measure(name, start, Path(folder), binary, options.scale))
    text = render(results, _machine())
    print(text)
    if options.save:
        _save(ROOT / "docs" / "benchmarks.md", text)


def measure(name: str, start: Start, folder: Path, binary: Path, scale: float) -> Result:
    # Once unmeasured, so that each finds its program in memory.
    start(folder / "warm").stop()
    begun = time.perf_counter()
    server = start(folder / "first")
    started = time.perf_counter() - begun
    try:
        pids = [process.pid for process in server.processes]
        result = Result(name, started, resident_bytes(pids))
        scenarios.prepare(server)
        for clients in scenarios.CLIENTS:
            for row in scenarios.operations(binary, server, clients, scale):
                result.add(row, clients)
        result.add(scenarios.fan_out(binary, server, scale), scenarios.WATCHERS)
        scenarios.fill(binary, server, 0, scenarios.LISTED)
        for clients in scenarios.CLIENTS:
            result.add(scenarios.lists(binary, server, clients), clients)
        scenarios.fill(binary, server, scenarios.LISTED, scenarios.HELD - scenarios.LISTED)
        result.full_bytes = resident_bytes(pids)
        return result
    finally:
        server.stop()


def _keep_bytecode(folder: Path) -> None:
    """An installed package has its bytecode; an environment may say that a checkout has none."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = str(folder)


def _save(page: Path, text: str) -> None:
    """Replace the table; what people wrote below it, from the first heading on, stays."""
    _, heading, rest = page.read_text().partition("\n## ")
    page.write_text(text + heading + rest)


def _machine() -> str:
    model = ""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    cores = len(Path("/proc/cpuinfo").read_text().split("processor\t:")) - 1
    system = f"{platform.system()} {platform.release()}"
    return f"{cores} cores ({model}), {system}, Python {platform.python_version()}"


if __name__ == "__main__":
    main()
