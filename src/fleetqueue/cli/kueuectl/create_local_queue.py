"""`kueuectl create localqueue`."""

from typing import Any

import click

from fleetqueue.cli.kueuectl.creating import create, new_object
from fleetqueue.cli.kueuectl.dry_runs import DryRun, dry_run_option
from fleetqueue.cli.kueuectl.failures import exactly_one
from fleetqueue.cli.kueuectl.kinds import CLUSTER_QUEUE, LOCAL_QUEUE
from fleetqueue.cli.kueuectl.naming import complete_names
from fleetqueue.cli.kueuectl.outputs import Output, output_options
from fleetqueue.cli.kueuectl.session import Session, run
from fleetqueue.cli.kueuectl.verbs import kube_command


@kube_command("localqueue", "Create a LocalQueue.")
@click.argument("name", nargs=-1)
@click.option("-c", "--clusterqueue", required=True, shell_complete=complete_names(CLUSTER_QUEUE),
              help="The ClusterQueue that serves it.")  # fmt: skip
@click.option("-i", "--ignore-unknown-cq", is_flag=True,
              help="Also where there is no such ClusterQueue yet.")  # fmt: skip
@dry_run_option
@output_options()
def local_queue(
    name: tuple[str, ...],
    clusterqueue: str,
    ignore_unknown_cq: bool,
    dry_run: DryRun,
    output: Output,
) -> Any:
    wanted = exactly_one(name)

    async def work(session: Session) -> None:
        if not ignore_unknown_cq:
            await session.client.get(CLUSTER_QUEUE, clusterqueue)
        obj = new_object(LOCAL_QUEUE, wanted, {"clusterQueue": clusterqueue}, session.namespace)
        await create(session, LOCAL_QUEUE, obj, dry_run, output)

    return run(work)
