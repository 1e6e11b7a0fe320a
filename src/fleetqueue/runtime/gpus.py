"""NVIDIA GPUs of this machine: found, and given to containers so that no two share one."""

import re
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

GPU_RESOURCE = "nvidia.com/gpu"
CUDA, NVIDIA = "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"
DRIVER = Path("/proc/driver/nvidia/gpus")
LIST_COMMAND = ("nvidia-smi", "-L")
LIST_SECONDS_MAX = 10.0
_LISTED = re.compile(r"GPU (\d+): (.*) \(UUID: (\S+)\)")

Run: TypeAlias = Callable[[Sequence[str]], str]
"""Runs a command and gives what it wrote; OSError where it cannot be run or failed."""
Owner: TypeAlias = tuple[str, str]
"""The uid of a pod, and the name of one of its containers."""


@dataclass(frozen=True, slots=True)
class Gpu:
    index: int
    name: str = ""
    uuid: str = ""


def run_command(command: Sequence[str]) -> str:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=LIST_SECONDS_MAX, check=True
        )
    except subprocess.SubprocessError as error:
        raise OSError(str(error)) from error
    return done.stdout


def find_gpus(driver: Path = DRIVER, run: Run = run_command) -> tuple[Gpu, ...]:
    """By the tool, which knows CUDA's order; by the driver's files where it is missing."""
    try:
        return parse_list(run(LIST_COMMAND))
    except OSError:
        return _from_driver(driver)


def parse_list(text: str) -> tuple[Gpu, ...]:
    """What `nvidia-smi -L` writes."""
    found = map(_LISTED.match, text.splitlines())
    return tuple(Gpu(int(match[1]), match[2], match[3]) for match in found if match)


class GpuAllocator:
    """Which device belongs to which container. It does not look at the machine."""

    def __init__(self, gpus: Iterable[Gpu]) -> None:
        self._all = sorted(gpu.index for gpu in gpus)
        self._given: dict[Owner, tuple[int, ...]] = {}

    @property
    def free(self) -> list[int]:
        taken = {index for given in self._given.values() for index in given}
        return [index for index in self._all if index not in taken]

    def give(self, owner: Owner, count: int) -> tuple[int, ...] | None:
        """The lowest free ones; what it has already where it asks again; None where too few are
        free.
        """
        known = self._given.get(owner)
        if known is not None and len(known) == count:
            return known
        free = self.free
        if count > len(free):
            return None
        self._given[owner] = tuple(free[:count])
        return self._given[owner]

    def release(self, uid: str) -> None:
        """All that the containers of a pod had."""
        for owner in [owner for owner in self._given if owner[0] == uid]:
            del self._given[owner]


def gpu_count(container: Mapping[str, object]) -> int:
    """How many a container asks for."""
    resources = container.get("resources")
    asked = resources if isinstance(resources, Mapping) else {}
    for kind in ("limits", "requests"):
        amounts = asked.get(kind)
        if isinstance(amounts, Mapping) and amounts.get(GPU_RESOURCE):
            return int(str(amounts[GPU_RESOURCE]))
    return 0


def visible_devices(indexes: Sequence[int], *, are_real: bool) -> dict[str, str]:
    """The variables that show a container its devices and hide the others; devices that are
    simulated cannot be shown.
    """
    if not indexes:
        return {CUDA: ""}
    if not are_real:
        return {CUDA: "", NVIDIA: "void"}
    shown = ",".join(map(str, indexes))
    return {CUDA: shown, NVIDIA: shown}


def _from_driver(directory: Path) -> tuple[Gpu, ...]:
    """Device numbers are given in the order of bus addresses."""
    try:
        folders = sorted(directory.iterdir())
    except OSError:
        return ()
    return tuple(_read_information(index, folder) for index, folder in enumerate(folders))


def _read_information(index: int, folder: Path) -> Gpu:
    try:
        text = (folder / "information").read_text()
    except OSError:
        text = ""
    facts: dict[str, str] = {}
    for line in text.splitlines():
        name, _, value = line.partition(":")
        facts[name.strip()] = value.strip()
    return Gpu(index, facts.get("Model", ""), facts.get("GPU UUID", ""))
