"""What this machine has to offer, as a node tells it."""

import os
import platform
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from fleetqueue.runtime.gpus import GPU_RESOURCE, Gpu

PODS_MAX = 110
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass(frozen=True, slots=True)
class Machine:
    """Facts that do not change while we run."""

    name: str
    cpus: int
    memory_bytes: int
    disk_bytes: int
    architecture: str = "amd64"
    kernel: str = ""
    os_image: str = "Linux"
    machine_id: str = ""
    boot_id: str = ""
    gpus: tuple[Gpu, ...] = field(default=())

    def capacity(self, gpu_count: int | None = None) -> dict[str, str]:
        """`gpu_count`: so many are offered, whatever the machine has."""
        gpus = len(self.gpus) if gpu_count is None else gpu_count
        found = {
            "cpu": str(self.cpus),
            "memory": f"{self.memory_bytes // 1024}Ki",
            "ephemeral-storage": f"{self.disk_bytes // 1024}Ki",
            "pods": str(PODS_MAX),
        }
        return found | ({GPU_RESOURCE: str(gpus)} if gpus else {})


def read_machine(directory: Path, gpus: tuple[Gpu, ...] = ()) -> Machine:
    """This machine; `directory` is on the disk that pods write to."""
    return Machine(
        name=platform.node().lower() or "localhost",
        cpus=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else _all_cpus(),
        memory_bytes=os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        disk_bytes=shutil.disk_usage(directory).total,
        architecture=_ARCHITECTURES.get(platform.machine(), platform.machine()),
        kernel=platform.release(),
        os_image=_os_image(),
        machine_id=_line(Path("/etc/machine-id")),
        boot_id=_line(Path("/proc/sys/kernel/random/boot_id")),
        gpus=gpus,
    )


def _all_cpus() -> int:
    return os.cpu_count() or 1


def _os_image() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", platform.system())
    except OSError:
        return platform.system()


def _line(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
