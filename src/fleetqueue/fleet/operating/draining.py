"""Empties a member: nothing new comes, and what was placed on it is evicted; and lets it be used
again.
"""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from random import Random
from typing import Any

from fleetqueue.api.fleet import labels
from fleetqueue.fleet import kinds
from fleetqueue.fleet.decide import conditions
from fleetqueue.kube import finalizers
from fleetqueue.kube.client import Client
from fleetqueue.kube.errors import Conflict, Refused
from fleetqueue.kube.resources import Object

CORDON = {"key": "cordon-key", "value": "cordon-value", "effect": "NoSchedule"}
SWEEPS = 2
"""What was on its way to the cluster when the taint came is found by the second."""
POLL_SECONDS = 0.2
SUFFIX_LENGTH = 8
NOTHING_LEFT = (
    "Failed to find ClusterResourcePlacement targeted by eviction",
    "Found deleting ClusterResourcePlacement targeted by eviction",
    "Failed to find scheduler decision for placement in cluster targeted by eviction",
)
"""Why an eviction may be invalid and yet no harm done."""


@dataclass(frozen=True, slots=True)
class Blocked:
    """A placement that stays on the cluster, and why."""

    placement: str
    why: str


async def cordon(client: Client, cluster: str) -> None:
    await _change_taints(client, cluster, _with_cordon)


async def uncordon(client: Client, cluster: str) -> None:
    await _change_taints(client, cluster, _without_cordon)


async def drain(client: Client, cluster: str, random: Random) -> list[Blocked]:
    """What could not be evicted; empty where the cluster is."""
    await cordon(client, cluster)
    blocked: dict[str, Blocked] = {}
    for _ in range(SWEEPS):
        blocked |= {each.placement: each for each in await _sweep(client, cluster, random)}
    return [blocked[name] for name in sorted(blocked)]


async def _sweep(client: Client, cluster: str, random: Random) -> list[Blocked]:
    found = (await client.list(kinds.CLUSTER_SCOPE.binding)).items
    placements = sorted(placed_on(cluster, found))
    results = await asyncio.gather(
        *(_evict(client, placement, cluster, random) for placement in placements)
    )
    return [each for each in results if each is not None]


def placed_on(cluster: str, bindings: Iterable[Object]) -> set[str]:
    """The placements whose objects are on a cluster, or on their way there."""
    return {
        str((binding["metadata"].get("labels") or {}).get(labels.PARENT_PLACEMENT) or "")
        for binding in bindings
        if binding["spec"].get("targetCluster") == cluster and not finalizers.is_deleting(binding)
    } - {""}


def outcome(eviction: Object) -> str | None:
    """None while it is not decided; "" where nothing is left; else why something stays."""
    held = (eviction.get("status") or {}).get("conditions")
    valid = conditions.find(held, "Valid")
    if valid is not None and valid["status"] == conditions.FALSE:
        why = str(valid.get("message") or "")
        return "" if why in NOTHING_LEFT else why
    executed = conditions.find(held, "Executed")
    if executed is None:
        return None
    return "" if executed["status"] == conditions.TRUE else str(executed.get("message") or "")


async def _evict(client: Client, placement: str, cluster: str, random: Random) -> Blocked | None:
    suffix = f"{random.getrandbits(4 * SUFFIX_LENGTH):0{SUFFIX_LENGTH}x}"
    name = f"drain-eviction-{placement}-{cluster}-{suffix}"
    try:
        await client.create(
            {
                "apiVersion": kinds.EVICTION.api_version,
                "kind": kinds.EVICTION.kind,
                "metadata": {"name": name},
                "spec": {"placementName": placement, "clusterName": cluster},
            }
        )
    except Refused as error:
        return Blocked(placement, str(error))
    while True:
        why = outcome(await client.get(kinds.EVICTION, name))
        if why is not None:
            return Blocked(placement, why) if why else None
        await asyncio.sleep(POLL_SECONDS)


async def _change_taints(
    client: Client, cluster: str, change: Callable[[list[Any]], list[Any]]
) -> None:
    """Written again where somebody else wrote at the same time."""
    while True:
        member = await client.get(kinds.MEMBER_CLUSTER, cluster)
        present = list(member["spec"].get("taints") or ())
        wanted = change(present)
        if wanted == present:
            return
        version = {"resourceVersion": member["metadata"]["resourceVersion"]}
        patch = {"metadata": version, "spec": {"taints": wanted or None}}
        try:
            await client.patch(kinds.MEMBER_CLUSTER, cluster, patch)
            return
        except Conflict:
            continue


def _with_cordon(taints: list[Any]) -> list[Any]:
    return taints if CORDON in taints else [*taints, CORDON]


def _without_cordon(taints: list[Any]) -> list[Any]:
    return [each for each in taints if each != CORDON]
