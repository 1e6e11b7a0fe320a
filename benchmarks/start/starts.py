"""Starts clusters as a user would, waits until they are ready, and looks at their processes."""

import http.client
import os
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.runtime.meter import descendants, machine_seconds
from support.ours import command
from support.ports import free_port

LOOK_SECONDS = 0.02
REST_SECONDS = 2.0
"""What a start leaves to be done is done by then."""
READY_SECONDS_MAX = 120.0
_TICKS = os.sysconf("SC_CLK_TCK")
_USER, _REAPED_SYSTEM = 11, 14
"""Where /proc/PID/stat has the times, after the name."""


@dataclass(frozen=True, slots=True)
class Start:
    """One start of some clusters."""

    seconds: float
    cpu_seconds: float
    """Of all processes until all were ready, also of those that ended meanwhile."""
    proportional_bytes: int
    """What they hold together; a page that several share counts once."""
    resident_bytes: int
    """The same where it counts for each."""
    processes: int
    others: float
    """The share of the cores that everybody else used meanwhile."""


Commands = Callable[[Path, Sequence[int]], list[list[str]]]


def servers(folder: Path, ports: Sequence[int]) -> list[list[str]]:
    return [
        command(folder / f"cluster-{number}", port, "full", ()) for number, port in enumerate(ports)
    ]


def nursery(folder: Path, ports: Sequence[int]) -> list[list[str]]:
    program = [sys.executable, "-m", "benchmarks.start.nursery", str(folder)]
    return [[*program, *map(str, ports)]]


def measure(commands: Commands, folder: Path, count: int) -> Start:
    ports = [free_port() for _ in range(count)]
    busy, total = machine_seconds()
    begun = time.perf_counter()
    running = [
        subprocess.Popen(each, stdout=subprocess.DEVNULL, stderr=(folder / "log").open("ab"))
        for each in commands(folder, ports)
    ]
    try:
        for port in ports:
            _wait_ready(port, running)
        seconds = time.perf_counter() - begun
        cpu = sum(map(_cpu_seconds, _all(running)))
        now_busy, now_total = machine_seconds()
        others = max(now_busy - busy - cpu, 0.0) / (now_total - total)
        time.sleep(REST_SECONDS)
        pids = _all(running)
        held = [_memory(pid) for pid in pids]
        return Start(
            seconds,
            cpu,
            sum(each["Pss"] for each in held),
            sum(each["Rss"] for each in held),
            len(pids),
            others,
        )
    finally:
        for process in running:
            process.send_signal(signal.SIGTERM)
        for process in running:
            process.wait(60)


def _all(running: "Sequence[subprocess.Popen[bytes]]") -> list[int]:
    return [pid for process in running for pid in descendants(process.pid)]


def _wait_ready(port: int, running: "Sequence[subprocess.Popen[bytes]]") -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    deadline = time.perf_counter() + READY_SECONDS_MAX
    while not _is_ready(port, context):
        if any(process.poll() is not None for process in running):
            raise SystemExit("a cluster ended before it was ready")
        if time.perf_counter() > deadline:
            raise SystemExit(f"port {port} was not ready in time")
        time.sleep(LOOK_SECONDS)


def _is_ready(port: int, context: ssl.SSLContext) -> bool:
    connection = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=10)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


def _cpu_seconds(pid: int) -> float:
    """Its own and that of those it waited for."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return 0.0
    fields = text.rpartition(")")[2].split()
    return sum(map(int, fields[_USER : _REAPED_SYSTEM + 1])) / _TICKS


def _memory(pid: int) -> dict[str, int]:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    return {line.split(":")[0]: int(line.split()[1]) * 1024 for line in lines}
