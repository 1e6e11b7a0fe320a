"""What a manager knows of its workers: the Secret of each, where it leads, and to which cluster."""

from dataclasses import dataclass

from fleetqueue.api.kueue.labels import CLUSTER_UID
from fleetqueue.kube.client import Client
from fleetqueue.kube.errors import NotFound
from fleetqueue.kube.kubeconfig import Access
from fleetqueue.kube.resources import Object
from fleetqueue.multikueue import credentials, kinds, worker_access


@dataclass(frozen=True)
class KnownWorker:
    """A MultiKueueCluster, and what its Secret says."""

    name: str
    secret: str = ""
    """"" where its kubeconfig is in a file, or comes from a ClusterProfile."""
    uid: str = ""
    """Of the cluster; "" where nobody noted it."""
    access: Access | None = None
    """None where there is no kubeconfig, or none that the manager itself would use."""

    @property
    def server(self) -> str:
        return "" if self.access is None else self.access.server

    def is_cluster(self, uid: str, server: str) -> bool | None:
        """Whether it is the cluster of that uid, which the manager reaches at `server`; None where
        nothing tells.
        """
        if self.uid:
            return self.uid == uid
        return self.server == server.rstrip("/") if self.server else None


async def known_workers(
    manager: Client, namespace: str = worker_access.NAMESPACE
) -> list[KnownWorker]:
    clusters = (await manager.list(kinds.CLUSTER)).items
    return [await known_worker(manager, each, namespace) for each in clusters]


async def known_worker(
    manager: Client, cluster: Object, namespace: str = worker_access.NAMESPACE
) -> KnownWorker:
    name, secret = cluster["metadata"]["name"], credentials.secret_name(cluster)
    if not secret:
        return KnownWorker(name)
    try:
        found = await manager.get(kinds.SECRET, secret, namespace)
    except NotFound:
        return KnownWorker(name, secret)
    uid = (found["metadata"].get("annotations") or {}).get(CLUSTER_UID) or ""
    loaded = credentials.from_secret(secret, found)
    access = loaded.access if isinstance(loaded, credentials.Found) else None
    return KnownWorker(name, secret, uid, access)
