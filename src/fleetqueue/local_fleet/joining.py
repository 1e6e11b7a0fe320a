"""Joins a worker to a manager: an account there, a kubeconfig here, a MultiKueueCluster."""

from collections.abc import Iterable
from contextlib import suppress

from fleetqueue.kube.client import Client
from fleetqueue.kube.errors import AlreadyExists, NotFound
from fleetqueue.kube.resources import NAMESPACES, Object, Resource, uid_of
from fleetqueue.kube.subresources import SERVICE_ACCOUNTS
from fleetqueue.local_fleet.account_tokens import token_of
from fleetqueue.multikueue import kinds, worker_access

MANAGER = "fleetqueue"
SYSTEM_NAMESPACE = "kube-system"


async def join(
    manager: Client,
    worker: Client,
    name: str,
    server: str,
    jobs: Iterable[Resource],
    *,
    labels: dict[str, str] | None = None,
    namespace: str = worker_access.NAMESPACE,
) -> bool:
    """Whether it is new to the manager. `server`: where the manager reaches the worker; the token's
    own authority vouches for it.
    """
    text = await make_account(worker, server, jobs)
    secret = worker_access.secret(secret_of(name), text, namespace, uid=await cluster_uid(worker))
    return await register(manager, name, secret, labels)


async def make_account(worker: Client, server: str, jobs: Iterable[Resource]) -> str:
    """The kubeconfig by which the manager gets in."""
    for obj in worker_access.objects(jobs):
        await ensure(worker, obj, force=obj["kind"] == "ClusterRole")
    return await _kubeconfig(worker, server)


async def renew_account(worker: Client, server: str) -> str:
    """As `make_account` after it; what was given out before lets nobody in any more. A token says
    no more than names and the uid of its account: for the same one, a new Secret would get the
    same token again.
    """
    for kind, name in (
        (kinds.SECRET, worker_access.TOKEN),
        (SERVICE_ACCOUNTS, worker_access.ACCOUNT),
    ):
        with suppress(NotFound):
            await worker.delete(kind, name, worker_access.NAMESPACE)
    account = await worker.create(worker_access.account(), field_manager=MANAGER)
    await worker.create(worker_access.token_secret(uid_of(account)), field_manager=MANAGER)
    return await _kubeconfig(worker, server)


async def _kubeconfig(worker: Client, server: str) -> str:
    token, authority = await token_of(
        worker,
        worker_access.TOKEN,
        worker_access.NAMESPACE,
        whose="worker",
        account=worker_access.ACCOUNT,
    )
    return worker_access.kubeconfig(server, authority, token)


async def register(
    manager: Client, name: str, secret: Object, labels: dict[str, str] | None = None
) -> bool:
    """Whether it is new to the manager, or may be."""
    await ensure(manager, _namespace(secret["metadata"]["namespace"]))
    await manager.apply(secret, force=True, field_manager=MANAGER)
    cluster = worker_access.cluster(name, secret["metadata"]["name"], labels)
    return await ensure(manager, cluster, force=bool(labels))


def secret_of(name: str) -> str:
    """Where the kubeconfig of a worker is, unless its MultiKueueCluster says otherwise."""
    return f"{name}-secret"


async def cluster_uid(client: Client) -> str:
    """What tells a cluster from all others, whatever its address."""
    return uid_of(await client.get(NAMESPACES, SYSTEM_NAMESPACE))


async def leave(
    manager: Client, name: str, *, namespace: str = worker_access.NAMESPACE
) -> list[str]:
    """What was removed here; the account on the worker stays with the worker."""
    removed = []
    for kind, named, space in (
        (kinds.CLUSTER, name, ""),
        (kinds.SECRET, secret_of(name), namespace),
    ):
        try:
            await manager.delete(kind, named, space)
            removed.append(f"removed: {kind.kind}/{named}")
        except NotFound:
            continue
    return removed


async def ensure(client: Client, obj: Object, *, force: bool = False) -> bool:
    """Made where it is not there; what is there stays as people have it, unless forced. Whether it
    is new, or may be.
    """
    if force:
        await client.apply(obj, force=True, field_manager=MANAGER)
        return True
    try:
        await client.create(obj, field_manager=MANAGER)
    except AlreadyExists:
        return False
    return True


def _namespace(name: str) -> Object:
    return {"apiVersion": NAMESPACES.api_version, "kind": "Namespace", "metadata": {"name": name}}


async def list_cluster(manager: Client, config: str, name: str) -> bool:
    """The worker is one of those that a MultiKueueConfig lists; whether that had to be made."""
    try:
        found = await manager.get(kinds.CONFIG, config)
    except NotFound:
        spec = {"clusters": [name]}
        api = {"apiVersion": kinds.CONFIG.api_version, "kind": kinds.CONFIG.kind}
        await manager.create({**api, "metadata": {"name": config}, "spec": spec})
        return True
    listed = list(found["spec"]["clusters"])
    if name not in listed:
        await _write_clusters(manager, found, [*listed, name])
    return False


async def unlist_cluster(manager: Client, config: str, name: str) -> bool:
    """Whether it is listed no more; the last one stays, for a list must not be empty."""
    try:
        found = await manager.get(kinds.CONFIG, config)
    except NotFound:
        return True
    listed = list(found["spec"]["clusters"])
    kept = [each for each in listed if each != name]
    if kept and kept != listed:
        await _write_clusters(manager, found, kept)
    return bool(kept)


async def _write_clusters(manager: Client, config: Object, clusters: list[str]) -> None:
    metadata = {"resourceVersion": config["metadata"]["resourceVersion"]}
    patch = {"metadata": metadata, "spec": {"clusters": clusters}}
    await manager.patch(kinds.CONFIG, config["metadata"]["name"], patch, field_manager=MANAGER)
