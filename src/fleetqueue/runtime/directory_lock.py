"""Keeps two servers off one directory, and a new one waiting until its forerunner is all gone."""

import asyncio
import fcntl
import os
from pathlib import Path

from fleetqueue.errors import UserError
from fleetqueue.runtime.shepherd import records

_LOCK_SECONDS_MAX = 30.0
_LOOK_SECONDS = 0.01


async def lock_directory(path: Path) -> int:
    """Held until this server and its shepherd are gone; a server that lives keeps others out."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    loop = asyncio.get_running_loop()
    until = loop.time() + _LOCK_SECONDS_MAX
    while not _try_lock(descriptor):
        holder = os.pread(descriptor, 64, 0).decode().split()
        if loop.time() > until or (holder and _is_alive(int(holder[0]), int(holder[1]))):
            os.close(descriptor)
            raise UserError(f'the directory "{path.parent.parent}" is in use by another server')
        await asyncio.sleep(_LOOK_SECONDS)
    os.ftruncate(descriptor, 0)
    own = f"{os.getpid()} {records.start_ticks(os.getpid())}"
    os.pwrite(descriptor, own.encode(), 0)
    return descriptor


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_alive(pid: int, ticks: int) -> bool:
    return records.start_ticks(pid) == ticks
