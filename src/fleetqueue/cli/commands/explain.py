"""`fleetqueue explain`: why a job waits, here and on the workers that were offered it; or why its
pods are not ready, or failed.
"""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from fleetqueue.kube.client import Client
    from fleetqueue.multikueue.session import Connect


@click.command(
    help="Say whether a job runs, and if not, why not.\n\n"
    "JOB is a name, a kind and a name (pytorchjob/train), or workload/NAME. The workers that it "
    "may go to are asked too, where you may read the Secrets with their kubeconfigs: what each "
    "says of its copy, and what the job would miss there, such as a LocalQueue, a namespace, "
    "quota, a training runtime, its own kind, or a ConfigMap, Secret, volume claim, service "
    "account, priority class or device claim that its pods name. Of a job that is admitted but not "
    "ready, or that has failed, its pods and the events about them are told, where they are."
)
@click.argument("job")
@click.option("-n", "--namespace", default="", help="Where the job is.")
@click.option(
    "--kubeconfig", type=click.Path(path_type=Path, exists=True, dir_okay=False), default=None,
    help="As kubectl has it.",
)  # fmt: skip
@click.option("--context", default="", help="A context of the kubeconfig.")
@click.option(
    "--system-namespace", default="kueue-system", show_default=True,
    help="Where a manager has the kubeconfigs of its workers.",
)  # fmt: skip
def explain(
    job: str, namespace: str, kubeconfig: Path | None, context: str, system_namespace: str
) -> None:
    for line in asyncio.run(_explain(job, namespace, kubeconfig, context, system_namespace)):
        click.echo(line)


async def _explain(
    job: str, namespace: str, kubeconfig: Path | None, context: str, system_namespace: str
) -> list[str]:
    from fleetqueue.cli import fleets
    from fleetqueue.kube.auth import find_access

    client = fleets.open_client(find_access(kubeconfig, context))
    try:
        space = namespace or client.namespace
        return await told(client, space, job, system_namespace, fleets.open_client)
    finally:
        await client.close()


async def told(
    client: "Client", namespace: str, job: str, system_namespace: str, connect: "Connect"
) -> list[str]:
    """`connect`: makes clients of workers."""
    from fleetqueue.cli import unreached
    from fleetqueue.cli.asking import Asking, known_of
    from fleetqueue.cli.explaining import explain
    from fleetqueue.errors import Unreachable
    from fleetqueue.multikueue.reach.search import Search, kind_and_name

    kind, name = kind_and_name(job)
    search = Search(client, namespace, system_namespace)
    lines = list[str]()
    try:
        workloads = await search.workloads(kind, name)
    except Unreachable as error:
        raise unreached.without_cluster(job, error) from error
    for workload in workloads:
        title = job if len(workloads) == 1 else f"{job} (workload {workload['metadata']['name']})"
        asking = Asking(client, search, connect, workload, system_namespace)
        workers, missing = await asking.run()
        known = await known_of(client, workload)
        if asking.failure:
            known = replace(known, pods=asking.failure)
        lines += explain(title, known, workers, missing)
    return lines
