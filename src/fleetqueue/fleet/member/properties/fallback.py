"""What an agent without a provider tells of its cluster: nodes, and what is left of them."""

import asyncio

from fleetqueue.api.fleet import properties
from fleetqueue.fleet.decide.properties import Collected, usage_of
from fleetqueue.kube.client import Client
from fleetqueue.kube.resources import PODS, Resource

NODES = Resource("", "v1", "nodes", "Node", namespaced=False)
PODS_MAX = 100
"""More are not looked at, as in KubeFleet; a provider counts them all."""


async def collect(client: Client) -> Collected:
    nodes, pods = await asyncio.gather(client.list(NODES), client.list_page(PODS, limit=PODS_MAX))
    values = {properties.NODE_COUNT: str(len(nodes.items))}
    return Collected(values, usage_of(nodes.items, pods.items))
