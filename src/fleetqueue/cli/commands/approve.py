"""`fleetqueue approve`: lets an update run go on."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fleetqueue.cli.hubs import HUB_CONTEXT, KUBECONFIG, TIMEOUT, on_hub

if TYPE_CHECKING:
    from fleetqueue.kube.client import Client


@click.command(
    help="Approve a request of an update run.\n\n"
    "KIND is clusterapprovalrequest (careq) or approvalrequest (areq)."
)
@click.argument("kind")
@click.option("--name", required=True, help="Of the request.")
@click.option("-n", "--namespace", default="", help="Of an approvalrequest.")
@HUB_CONTEXT
@KUBECONFIG
@TIMEOUT
def approve(
    kind: str, name: str, namespace: str, context: str, kubeconfig: Path | None, seconds: float
) -> None:
    from fleetqueue.base.clock import SystemClock
    from fleetqueue.fleet.operating import approving

    asked = approving.kind_of(kind, namespace)

    async def act(client: "Client") -> None:
        await approving.approve(client, SystemClock(), asked, name, namespace)

    on_hub(kubeconfig, context, seconds, act)
    click.echo(f'{asked.kind.kind} "{name}" approved')
