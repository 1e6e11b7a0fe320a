"""How much memory a container's processes use, where no control group counts it.

Pages that several processes share count once, as in a group: workers that were forked share most.
"""

import os
from collections.abc import Iterable

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
PROCESSES = "/proc"


def is_over(pids: Iterable[int], limit: int, processes: str = PROCESSES) -> bool:
    """Whether processes use more than the limit together."""
    pids = set(pids)
    # Quick to read and never too little; the exact number takes the kernel a walk over all pages.
    if sum(resident_bytes(pid, processes) for pid in pids) <= limit:
        return False
    return sum(proportional_bytes(pid, processes) for pid in pids) > limit


def resident_bytes(pid: int, processes: str = PROCESSES) -> int:
    """What it has in memory; 0 for a process that is gone."""
    try:
        with open(f"{processes}/{pid}/statm") as file:
            return int(file.read().split()[1]) * _PAGE_BYTES
    except (OSError, ValueError, IndexError):
        return 0


def proportional_bytes(pid: int, processes: str = PROCESSES) -> int:
    """Its share of what it has in memory; all of that where the kernel does not tell."""
    try:
        with open(f"{processes}/{pid}/smaps_rollup") as file:
            for line in file:
                if line.startswith("Pss:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return resident_bytes(pid, processes)
