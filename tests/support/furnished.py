"""What the servers of a simulation have in common is made once, since that takes longest; each of
them begins with the log of it.
"""

from dataclasses import dataclass

from fleetqueue.apiserver.log import Row
from fleetqueue.apiserver.registry import Registry
from fleetqueue.kube.resources import NAMESPACES, uid_of
from fleetqueue.testing import FleetCluster


@dataclass(frozen=True, slots=True)
class Furnished:
    """The log of a server that has all kinds, and what names its cluster."""

    uid: str
    rows: list[Row]
    registry: Registry
    """Kept, and with it what is compiled for its kinds."""

    @classmethod
    async def of(cls, cluster: FleetCluster) -> "Furnished":
        system = await cluster.client.get(NAMESPACES, "kube-system")
        rows = list(cluster.log.rows.values())
        return cls(uid_of(system), rows, cluster.instance.core.registry)

    def rows_for(self, uid: str) -> dict[int, Row]:
        """The same for a cluster of another name."""
        names = (self.uid.encode(), uid.encode())
        return {row.revision: row._replace(value=row.value.replace(*names)) for row in self.rows}
