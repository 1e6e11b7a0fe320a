"""`fleetqueue explain`: why a job waits, here and on the workers that were offered it."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from fleetqueue.cli.explaining import Asked, Known, Place
    from fleetqueue.kube.client import Client
    from fleetqueue.multikueue.reach.search import Search

Object = dict[str, Any]


@click.command(
    help="Say whether a job runs, and if not, why not.\n\n"
    "JOB is a name, a kind and a name (pytorchjob/train), or workload/NAME. Workers that were "
    "offered the job are asked too, where you may read the Secrets with their kubeconfigs."
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
        return await told(client, namespace or client.namespace, job, system_namespace)
    finally:
        await client.close()


async def told(client: "Client", namespace: str, job: str, system_namespace: str) -> list[str]:
    from fleetqueue.cli.explaining import explain
    from fleetqueue.multikueue.reach.search import Search

    kind, _, name = job.rpartition("/")
    search = Search(client, namespace, system_namespace)
    lines = list[str]()
    workloads = await search.workloads(kind, name)
    for workload in workloads:
        title = job if len(workloads) == 1 else f"{job} (workload {workload['metadata']['name']})"
        workers = {each: await _there(search, each, workload) for each in _offered(workload)}
        lines += explain(title, await _known(client, workload), workers)
    return lines


def _offered(workload: Object) -> list[str]:
    """Whoever has it can say more of it, too."""
    from fleetqueue.api.kueue import admission_status

    told = workload.get("status") or {}
    if admission_status.is_finished(workload):
        return []
    chosen = told.get("clusterName")
    return (
        [str(chosen)] if chosen else [str(each) for each in told.get("nominatedClusterNames", ())]
    )


async def _there(search: "Search", worker: str, workload: Object) -> "Asked":
    from fleetqueue.cli import fleets
    from fleetqueue.errors import FleetqueueError
    from fleetqueue.kube.errors import NotFound
    from fleetqueue.multikueue import kinds

    metadata = workload["metadata"]
    try:
        client = fleets.open_client(await search.access(worker))
        try:
            copy = await client.get(kinds.WORKLOAD, metadata["name"], metadata["namespace"])
            return await _known(client, copy)
        finally:
            await client.close()
    except NotFound:
        return "it has no copy"
    except FleetqueueError as error:
        return str(error)


async def _known(client: "Client", workload: Object) -> "Known":
    from fleetqueue.api.kueue import admission_status, explanation
    from fleetqueue.cli.explaining import Known

    if admission_status.has_quota(workload) or admission_status.is_finished(workload):
        return Known(workload)
    space, name = workload["metadata"]["namespace"], workload["metadata"]["name"]
    path = f"/apis/{explanation.GROUP}/{explanation.VERSION}/namespaces/{space}/workloads/{name}"
    verdict = await _read(client, f"{path}/explanation")
    return Known(workload, verdict, await _place(client, workload))


async def _place(client: "Client", workload: Object) -> "Place | None":
    from fleetqueue.api.kueue import visibility
    from fleetqueue.cli.explaining import Place

    space, queue = workload["metadata"]["namespace"], workload["spec"].get("queueName") or ""
    path = f"/apis/{visibility.GROUP}/v1beta2/namespaces/{space}/localqueues/{queue}"
    found = (await _read(client, f"{path}/pendingworkloads")).get("items") or ()
    names = [each["metadata"]["name"] for each in found]
    name = workload["metadata"]["name"]
    return Place(names.index(name) + 1, len(names)) if name in names else None


async def _read(client: "Client", path: str) -> Object:
    """Nothing where nobody answers there, as on a cluster with another Kueue."""
    from fleetqueue.kube import calls
    from fleetqueue.kube.errors import Forbidden, NotFound

    try:
        return dict((await client.call(calls.read(path, []))).payload.decoded())
    except (NotFound, Forbidden):
        return {}
