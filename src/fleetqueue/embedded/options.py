"""What kind of cluster runs beside an API server; apart from what runs it, which takes long to
load.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fleetqueue.fleet.settings import HubSettings
    from fleetqueue.kueue import KueueOptions
    from fleetqueue.runtime.images import ImageTable
    from fleetqueue.runtime.nodes import NodeSpec


@dataclass(frozen=True, slots=True)
class LiveOptions:
    """What kind of cluster it is."""

    directory: Path
    nodes: "Sequence[NodeSpec]" = ()
    """Without any, this machine is the one node."""
    simulates: bool = False
    """Whether the one node is simulated."""
    gpus: int | None = None
    images: "ImageTable | None" = None
    number: int = 1
    """Among the clusters of this machine: its pods and Services have addresses 127.<number>.x.y."""
    namespaces: bool = True
    """Whether containers get views of the machine of their own, where it allows that."""
    kueue: "KueueOptions | None" = None
    """How jobs are queued; None: they are not."""
    hub: "HubSettings | None" = None
    """How objects are placed on members; None: it is no hub."""
    is_job_aware: bool = True
    """Of a member of a hub: whether placed jobs are followed to their end."""
    api_host: str = "127.0.0.1"
    api_port: int = 6443
    url: str = ""
    """Where others reach its API server, and the certificate, in PEM, that they know it by."""
    authority: bytes = b""

    @property
    def pod_network(self) -> str:
        return f"127.{self.number}.0.0/17"

    @property
    def service_network(self) -> str:
        return f"127.{self.number}.255.0/24"

    @property
    def api_service_address(self) -> str:
        return f"127.{self.number}.255.1"
