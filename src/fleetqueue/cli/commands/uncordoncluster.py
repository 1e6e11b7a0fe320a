"""`fleetqueue uncordoncluster`: placements may choose a drained member again."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fleetqueue.cli.hubs import CLUSTER_NAME, HUB_CONTEXT, KUBECONFIG, TIMEOUT, on_hub

if TYPE_CHECKING:
    from fleetqueue.kube.client import Client


@click.command(help="Take away the taint that `fleetqueue draincluster` set.")
@CLUSTER_NAME
@HUB_CONTEXT
@KUBECONFIG
@TIMEOUT
def uncordoncluster(
    cluster_name: str, context: str, kubeconfig: Path | None, seconds: float
) -> None:
    from fleetqueue.fleet.operating import draining

    async def act(client: "Client") -> None:
        await draining.uncordon(client, cluster_name)

    on_hub(kubeconfig, context, seconds, act)
    click.echo(f"uncordoned: MemberCluster/{cluster_name}")
