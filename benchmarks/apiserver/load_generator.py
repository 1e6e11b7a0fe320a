"""The load generator: a small Go program, built once into a cache, that is not itself the limit."""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from benchmarks.apiserver.machine import cpu_seconds
from support.server import Server

SOURCE = Path(__file__).parent / "load"


@dataclass(frozen=True, slots=True)
class Measured:
    """One run of the generator, with what it cost the server."""

    requests: int
    errors: int
    seconds: float
    p50_ms: float
    p99_ms: float
    events: int
    message: str
    cpu: float

    @property
    def rate(self) -> float:
        return self.requests / self.seconds

    @property
    def cpu_us(self) -> float:
        """CPU of the server per request (per event, for a fan-out), in microseconds."""
        return self.cpu / self.requests * 1e6


def build() -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fleetqueue"
    binary = cache / "load"
    cache.mkdir(parents=True, exist_ok=True)
    subprocess.run(["go", "build", "-o", str(binary), "."], cwd=SOURCE, check=True)
    return binary


def drive(binary: Path, server: Server, **options: object) -> Measured:
    pids = [process.pid for process in server.processes]
    arguments = [str(binary), f"-server={server.url}", f"-token={server.token}"]
    arguments += [f"-{name}={value}" for name, value in options.items()]
    before = cpu_seconds(pids)
    done = subprocess.run(arguments, check=True, stdout=subprocess.PIPE, timeout=600)
    found = json.loads(done.stdout)
    if found["errors"]:
        raise AssertionError(f"{server.name}: {found['errors']} errors, last: {found['message']}")
    return Measured(**found, cpu=cpu_seconds(pids) - before)
