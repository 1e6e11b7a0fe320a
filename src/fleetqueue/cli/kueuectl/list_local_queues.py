"""`kueuectl list localqueue`."""

from datetime import datetime
from typing import Any

import click

from fleetqueue.cli.kueuectl import pages
from fleetqueue.cli.kueuectl.failures import no_arguments
from fleetqueue.cli.kueuectl.kinds import CLUSTER_QUEUE, LOCAL_QUEUE
from fleetqueue.cli.kueuectl.naming import complete_names
from fleetqueue.cli.kueuectl.outputs import Output, output_options
from fleetqueue.cli.kueuectl.pages import Columns, all_namespaces_option, list_options
from fleetqueue.cli.kueuectl.session import Session, run
from fleetqueue.cli.kueuectl.tables import age
from fleetqueue.cli.kueuectl.verbs import kube_command

Object = dict[str, Any]
HEADERS = ("Name", "ClusterQueue", "Pending Workloads", "Admitted Workloads", "Age")


@kube_command("localqueue", "List LocalQueues.")
@click.argument("name", nargs=-1, metavar="")
@click.option("-c", "--clusterqueue", default="", shell_complete=complete_names(CLUSTER_QUEUE),
              help="Only those of this ClusterQueue.")  # fmt: skip
@all_namespaces_option
@list_options
@output_options()
def local_queues(
    name: tuple[str, ...],
    clusterqueue: str,
    all_namespaces: bool,
    selector: str,
    field_selector: str,
    output: Output,
) -> Any:
    no_arguments(name, "kueuectl list localqueue")
    base = pages.asked(selector, field_selector, output, all_namespaces)

    async def work(session: Session) -> None:
        request = pages.placed(base, session)
        found = [
            each
            async for page in pages.pages(session.client, LOCAL_QUEUE, request)
            for each in page
            if clusterqueue in ("", each["spec"].get("clusterQueue"))
        ]
        now = session.clock.now()
        await pages.show(LOCAL_QUEUE, request, found, Columns(HEADERS, lambda e: row(e, now)))

    return run(work)


def row(local_queue: Object, now: datetime) -> list[Any]:
    status = local_queue.get("status") or {}
    return [
        local_queue["metadata"]["name"],
        local_queue["spec"].get("clusterQueue") or "",
        status.get("pendingWorkloads") or 0,
        status.get("admittedWorkloads") or 0,
        age(now, local_queue["metadata"].get("creationTimestamp")),
    ]
