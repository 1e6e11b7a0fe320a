"""Processes that outlived the server and the shepherd of their cluster, found by their mark."""

import contextlib
import os
import select
import signal

from fleetqueue.runtime.shepherd.flock import container_mark
from fleetqueue.runtime.shepherd.records import start_ticks

_ROUNDS_MAX = 1000


def reap_leftovers(cluster_id: str) -> int:
    """Kills whatever still runs of a cluster's containers and waits for it; how many it was."""
    killed: set[tuple[int, int]] = set()
    for _ in range(_ROUNDS_MAX):
        found = [leftover for leftover in find_leftovers(cluster_id) if kill_exactly(*leftover)]
        if not found:
            break
        killed.update(found)
    return len(killed)


def find_leftovers(cluster_id: str) -> list[tuple[int, int]]:
    """The pid and start time of each living process that carries the mark."""
    start = f"{cluster_id}/"
    try:
        pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []
    marked = [pid for pid in pids if pid != os.getpid() and container_mark(pid).startswith(start)]
    return [(pid, start_ticks(pid)) for pid in marked]


def kill_exactly(pid: int, ticks: int) -> bool:
    """Kills a process unless its pid names another one by now, and waits until it is gone."""
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        if ticks == 0 or start_ticks(pid) != ticks:
            return False
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        _wait(handle)
        return True
    except PermissionError:
        return False
    finally:
        os.close(handle)


def _wait(handle: int, milliseconds_max: int = 1000) -> None:
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    poll.poll(milliseconds_max)
