"""Makes a cluster a member of a hub: an account on the hub, and on the member a Secret by which its
agent finds the hub. The member pulls; nobody has to reach it.
"""

import asyncio
from collections.abc import Mapping

from fleetqueue.api.fleet.naming import SYSTEM_NAMESPACE, member_namespace
from fleetqueue.fleet import access, kinds
from fleetqueue.fleet.access import HubAccess
from fleetqueue.fleet.crds import member_crds
from fleetqueue.kube.client import Client
from fleetqueue.kube.errors import NotFound
from fleetqueue.kube.resources import CRDS, SECRETS, Resource
from fleetqueue.kube.subresources import SERVICE_ACCOUNTS
from fleetqueue.local_fleet.account_tokens import token_of
from fleetqueue.local_fleet.joining import MANAGER, ensure
from fleetqueue.multikueue import worker_access

LEAVE_TRIES = 150
LEAVE_POLL_SECONDS = 0.2


async def join(
    hub: Client, member: Client, name: str, server: str, labels: Mapping[str, str] | None = None
) -> bool:
    """Whether it is new to the hub. `server`: where the member reaches the hub; the token's own
    authority vouches for it.
    """
    for obj in access.account_objects(name):
        await ensure(hub, obj)
    is_new = await ensure(hub, access.member_cluster(name, labels))
    token, authority = await token_of(
        hub, access.token_of(name), SYSTEM_NAMESPACE, whose="hub", account=access.account_of(name)
    )
    text = worker_access.kubeconfig(server, authority, token)
    await _name_hub(member, HubAccess(name, text))
    return is_new


async def _name_hub(member: Client, hub: HubAccess) -> None:
    """What a cluster of ours has already it is not asked to judge again."""
    for crd in member_crds():
        if not await _has(member, CRDS, crd["metadata"]["name"]):
            await ensure(member, crd)
    await ensure(member, access.namespace())
    secret = access.hub_secret(hub)
    if not await ensure(member, secret):
        data = {"data": secret["data"]}
        await member.patch(
            SECRETS, access.HUB_SECRET, data, SYSTEM_NAMESPACE, field_manager=MANAGER
        )


async def leave(
    hub: Client, name: str, member: Client | None = None, *, has_agent: bool = True
) -> list[str]:
    """What was removed, and what has not gone yet; what was placed on the member stays there.
    `member`: where it can be reached, it forgets the hub too; `has_agent`: whether somebody is
    there to say that it has left.
    """
    try:
        await hub.delete(kinds.MEMBER_CLUSTER, name)
    except NotFound:
        return []
    if not has_agent:
        await _forget(hub, kinds.INTERNAL_MEMBER_CLUSTER, name, member_namespace(name))
    if not await _is_gone(hub, name):
        return [f"is leaving: MemberCluster/{name}; its agent has not said yet that it left"]
    for kind, named in (
        (SECRETS, access.token_of(name)),
        (SERVICE_ACCOUNTS, access.account_of(name)),
    ):
        await _forget(hub, kind, named, SYSTEM_NAMESPACE)
    if member is not None:
        await _forget(member, SECRETS, access.HUB_SECRET, SYSTEM_NAMESPACE)
    return [f"removed: MemberCluster/{name}", f"removed: ServiceAccount/{access.account_of(name)}"]


async def is_member(hub: Client, name: str) -> bool:
    return await _has(hub, kinds.MEMBER_CLUSTER, name)


async def _has(client: Client, kind: Resource, name: str) -> bool:
    try:
        await client.get(kind, name)
    except NotFound:
        return False
    return True


async def _is_gone(hub: Client, name: str) -> bool:
    for _ in range(LEAVE_TRIES):
        if not await is_member(hub, name):
            return True
        await asyncio.sleep(LEAVE_POLL_SECONDS)
    return False


async def _forget(client: Client, kind: Resource, name: str, namespace: str) -> None:
    try:
        await client.delete(kind, name, namespace)
    except NotFound:
        return
