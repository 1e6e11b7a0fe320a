"""The lock of a fleet in the hands of the process that runs it. Loads next to nothing."""

import os
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class Phase(StrEnum):
    """Where a fleet is in its life."""

    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class Held:
    """The lock in the hands of the process that runs the fleet."""

    descriptor: int
    path: Path

    def tell(self, phase: Phase) -> None:
        """In one write of the same length each time: whoever reads finds a whole line."""
        word = "" if phase is Phase.RUNNING else phase
        width = max(map(len, Phase))
        os.pwrite(self.descriptor, f"{os.getpid()} {word:<{width}}\n".encode(), 0)

    def is_in_place(self) -> bool:
        """False where the directory was removed, or has become another."""
        try:
            return os.path.samestat(os.fstat(self.descriptor), self.path.stat())
        except OSError:
            return False
