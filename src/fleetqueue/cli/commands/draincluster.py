"""`fleetqueue draincluster`: nothing of any placement is left on a member."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fleetqueue.cli.hubs import CLUSTER_NAME, HUB_CONTEXT, KUBECONFIG, TIMEOUT, on_hub

if TYPE_CHECKING:
    from fleetqueue.fleet.operating.draining import Blocked
    from fleetqueue.kube.client import Client


@click.command(
    help="Empty a member: taint it, and evict every ClusterResourcePlacement from it.\n\n"
    "`fleetqueue uncordoncluster` takes the taint away again."
)
@CLUSTER_NAME
@HUB_CONTEXT
@KUBECONFIG
@TIMEOUT
def draincluster(cluster_name: str, context: str, kubeconfig: Path | None, seconds: float) -> None:
    from random import SystemRandom

    from fleetqueue.fleet.operating import draining

    async def act(client: "Client") -> "list[Blocked]":
        return await draining.drain(client, cluster_name, SystemRandom())

    blocked = on_hub(kubeconfig, context, seconds, act)
    for each in blocked:
        click.echo(f"not evicted: ClusterResourcePlacement/{each.placement}: {each.why}")
    if blocked:
        raise click.ClickException(f"drain was not successful for cluster {cluster_name}")
    click.echo(f"drain was successful for cluster {cluster_name}")
