"""What is known of a container on disk, so that a server that comes back learns how it ended."""

import contextlib
import json
import os
from typing import Any

from fleetqueue.runtime.shepherd.fields import Fields


class Record(Fields):
    """A process that was started; `code` is None until its end is known."""

    pid: int = 0
    log: str = ""
    start_ticks: int = 0
    """Field 22 of /proc/<pid>/stat: with the pid it names one process."""
    started_at: float = 0.0
    code: int | None = None
    signal: int = 0
    is_out_of_memory: bool = False
    finished_at: float | None = None


def write(path: str, record: Record) -> None:
    """At once or not at all."""
    new = f"{path}.new"
    with open(new, "w") as file:
        json.dump(vars(record), file)
    os.replace(new, path)


def read(path: str) -> Record | None:
    try:
        with open(path) as file:
            found: dict[str, Any] = json.load(file)
        return Record(**found)
    except (OSError, ValueError, TypeError):
        return None


def prune(directory: str) -> None:
    """Drops the records of processes whose logs are gone: their pods were removed."""
    for name in os.listdir(directory):
        path = os.path.join(directory, name)
        record = read(path)
        if record is None or not os.path.exists(record.log):
            with contextlib.suppress(OSError):
                os.unlink(path)


def start_ticks(pid: int) -> int:
    """When the kernel started a process; 0 where that cannot be known."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The name in parentheses may hold anything, spaces and parentheses too.
            return int(file.read().rpartition(b")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return 0
