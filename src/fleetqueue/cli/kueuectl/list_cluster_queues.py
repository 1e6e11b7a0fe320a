"""`kueuectl list clusterqueue`."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import click

from fleetqueue.cli.kueuectl import pages
from fleetqueue.cli.kueuectl.failures import Failure, no_arguments
from fleetqueue.cli.kueuectl.kinds import CLUSTER_QUEUE
from fleetqueue.cli.kueuectl.outputs import Output, output_options
from fleetqueue.cli.kueuectl.pages import Columns, list_options
from fleetqueue.cli.kueuectl.quotas import split
from fleetqueue.cli.kueuectl.session import Session, run
from fleetqueue.cli.kueuectl.tables import age
from fleetqueue.cli.kueuectl.verbs import kube_command

Object = dict[str, Any]
HEADERS = ("Name", "Cohort", "Pending Workloads", "Admitted Workloads", "Active", "Age")
TRUTHS = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}


@kube_command("clusterqueue", "List ClusterQueues.")
@click.argument("name", nargs=-1, metavar="")
@click.option("--active", multiple=True, metavar="true|false",
              help="Only those that are active, or are not; repeatable.")  # fmt: skip
@list_options
@output_options()
def cluster_queues(
    name: tuple[str, ...],
    active: tuple[str, ...],
    selector: str,
    field_selector: str,
    output: Output,
) -> Any:
    no_arguments(name, "kueuectl list clusterqueue")
    wanted = read_active(active)
    request = pages.asked(selector, field_selector, output)

    async def work(session: Session) -> None:
        found = [
            each
            async for page in pages.pages(session.client, CLUSTER_QUEUE, request)
            for each in page
            if not wanted or is_active(each) in wanted
        ]
        await pages.show(CLUSTER_QUEUE, request, found, columns(session.clock.now()))

    return run(work)


def read_active(texts: Sequence[str]) -> set[bool]:
    found = set()
    for text in split(texts):
        if text.lower() not in TRUTHS:
            raise Failure(
                f'invalid argument "{text}" for "--active" flag: it must be true or false'
            )
        found.add(TRUTHS[text.lower()])
    return found


def is_active(cluster_queue: Object) -> bool:
    conditions = (cluster_queue.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Active" and each["status"] == "True" for each in conditions)


def columns(now: datetime) -> Columns:
    return Columns(HEADERS, lambda each: row(each, now))


def row(cluster_queue: Object, now: datetime) -> list[Any]:
    status = cluster_queue.get("status") or {}
    return [
        cluster_queue["metadata"]["name"],
        cluster_queue["spec"].get("cohortName") or "",
        status.get("pendingWorkloads") or 0,
        status.get("admittedWorkloads") or 0,
        is_active(cluster_queue),
        age(now, cluster_queue["metadata"].get("creationTimestamp")),
    ]
