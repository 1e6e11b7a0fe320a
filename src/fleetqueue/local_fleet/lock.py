"""Who runs the fleet of a directory, and how far they are: a file that they hold and write to."""

import asyncio
import fcntl
import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from fleetqueue.errors import UserError
from fleetqueue.local_fleet.held import Held, Phase

TRIES = 250
WAIT_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Lock:
    """The clusters of a fleet hold it too, as long as they live."""

    path: Path

    def pid(self) -> int | None:
        """Of the process that runs the fleet; 0 where it has just begun. None also where it was
        killed and the clusters are about to end.
        """
        return self._read()[0]

    def phase(self) -> Phase:
        return self._read()[1]

    def _read(self) -> tuple[int | None, Phase]:
        try:
            file = self.path.open()
        except (FileNotFoundError, NotADirectoryError):
            return None, Phase.STOPPED
        with file:
            if _take(file):
                return None, Phase.STOPPED
            number, *word = file.read().split() or ["0", Phase.STARTING]
        if number != "0" and not is_alive(int(number)):
            return None, Phase.STOPPED
        return int(number), Phase(word[0]) if word else Phase.RUNNING

    @contextmanager
    def hold(self) -> Iterator[Held]:
        """Clusters of one that was killed are waited for."""
        with self.path.open("r+") as file:
            for _ in range(TRIES):
                if _take(file):
                    break
                check_free(self.path.parent, self.phase())
                asyncio.run(asyncio.sleep(WAIT_SECONDS))
            else:
                raise UserError(
                    f"clusters of a fleet that was killed still run in {self.path.parent}: see"
                    f" {self.path.parent / 'logs'}"
                )
            file.truncate(0)
            held = Held(file.fileno(), self.path)
            held.tell(Phase.STARTING)
            yield held


def check_free(directory: Path, phase: Phase) -> None:
    """For one that is to start there."""
    match phase:
        case Phase.STARTING:
            raise UserError(
                f"a fleet is starting in {directory}: `fleetqueue status --dir"
                f" {shlex.quote(str(directory))}` says when it runs"
            )
        case Phase.RUNNING:
            raise UserError(f"a fleet runs in {directory} already")
        case Phase.STOPPING:
            raise UserError(f"the fleet in {directory} is stopping: try again in a moment")


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        # Somebody else's.
        return True
    return True


def _take(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
