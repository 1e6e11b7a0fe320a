"""Runs some of our controllers against a server, as a process of its own.

python controllers.py KUBECONFIG fleetqueue.runtime.controllers.job:OPERATORS ...
"""

import asyncio
import sys
from importlib import import_module
from random import Random

from fleetqueue.base.clock import SystemClock
from fleetqueue.kube.connect import connect
from fleetqueue.kube.frame import Operator, controller_of
from fleetqueue.kube.manager import Cluster, Manager


async def run(kubeconfig: str, names: list[str]) -> None:
    clock, random = SystemClock(), Random()
    client = connect(kubeconfig, clock=clock, random=random)
    cluster = Cluster(client, clock=clock, random=random)
    manager = Manager(cluster, random=random)
    for name in names:
        for operator in find(name):
            manager.add(controller_of(operator)(cluster))
    try:
        await manager.run()
    finally:
        await client.close()


def find(name: str) -> tuple[Operator, ...]:
    """One operator, or a tuple of them, by module and attribute."""
    module, _, attribute = name.partition(":")
    found: Operator | tuple[Operator, ...] = getattr(import_module(module), attribute)
    return found if isinstance(found, tuple) else (found,)


if __name__ == "__main__":
    asyncio.run(run(sys.argv[1], sys.argv[2:]))
