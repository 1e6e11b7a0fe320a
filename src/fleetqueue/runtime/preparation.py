"""What a pod needs before its containers can run: the seam between the pod worker and volumes,
images, environments and addresses.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from fleetqueue.kube.resources import Object
from fleetqueue.runtime.processes import Command


class NotReady(Exception):
    """Something is missing, perhaps for now. `reason` and the text are what the status shows."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


@dataclass(frozen=True, slots=True)
class Image:
    """A local environment that stands for an image."""

    reference: str
    id: str


@dataclass(frozen=True, slots=True)
class Sandbox:
    """What all containers of a pod share."""

    directory: Path
    address: str
    host_address: str
    named_ports: Object = field(default_factory=dict)
    """By container name: the numbers of its named ports, as the pod declares them."""
    moved: Mapping[int, int] = field(default_factory=dict)
    """What the pod's processes were told in place of which port."""

    def port(self, asked: int) -> int:
        """The port on which a process listens that says it listens on another."""
        return self.moved.get(asked, asked)


class Preparation(Protocol):
    """Prepares pods on this machine."""

    async def sandbox(self, pod: Object) -> Sandbox:
        """Directories, volumes and the address; raises NotReady while one is missing."""

    async def image(self, pod: Object, container: Object) -> Image:
        """Raises NotReady(ErrImagePull …) where nothing fits the reference."""

    async def command(self, pod: Object, container: Object, sandbox: Sandbox) -> Command:
        """The process of a container; raises NotReady(CreateContainerConfigError …)."""

    async def hook(
        self, pod: Object, container: Object, argv: list[str], sandbox: Sandbox
    ) -> Command:
        """Another process in a container: a probe, a hook, an exec."""

    def retire(self, pod: Object) -> None:
        """Nothing of the pod runs any more: its devices are free, its files stay to be read."""

    async def release(self, pod: Object) -> None:
        """The pod is gone: its directories, devices and address are free."""


def process_id(pod_uid: str, container: str, attempt: int) -> str:
    """How the process of one attempt of a container is called on this machine."""
    return hashlib.sha256(f"{pod_uid}/{container}/{attempt}".encode()).hexdigest()


def log_path(sandbox: Sandbox, container: str, attempt: int) -> Path:
    return sandbox.directory / "logs" / container / f"{attempt}.log"


def message_path(sandbox: Sandbox, container: str) -> Path:
    """The file that a container finds at its terminationMessagePath."""
    return sandbox.directory / "run" / container / "termination-log"
