"""`fleetqueue explain`: why a job waits, here and on the workers that were offered it."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from fleetqueue.cli.explaining import Asked, Known, Place
    from fleetqueue.cli.preflighting import Findings, Subject
    from fleetqueue.kube.client import Client
    from fleetqueue.multikueue.reach.search import Search
    from fleetqueue.multikueue.session import Connect

Object = dict[str, Any]
PATIENCE_SECONDS = 10.0
"""A worker that takes longer to answer is not waited for."""


@click.command(
    help="Say whether a job runs, and if not, why not.\n\n"
    "JOB is a name, a kind and a name (pytorchjob/train), or workload/NAME. The workers that it "
    "may go to are asked too, where you may read the Secrets with their kubeconfigs: what each "
    "says of its copy, and what the job would miss there, such as a LocalQueue, a namespace, "
    "quota, a training runtime, its own kind, or a ConfigMap, Secret, volume claim, service "
    "account, priority class or device claim that its pods name."
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
    from fleetqueue.cli.explaining import explain
    from fleetqueue.multikueue.reach.search import Search

    kind, _, name = job.rpartition("/")
    search = Search(client, namespace, system_namespace)
    lines = list[str]()
    workloads = await search.workloads(kind, name)
    for workload in workloads:
        title = job if len(workloads) == 1 else f"{job} (workload {workload['metadata']['name']})"
        workers, missing = await _Asking(client, search, connect, workload).run()
        lines += explain(title, await _known(client, workload), workers, missing)
    return lines


class _Asking:
    """The workers, about one workload."""

    def __init__(
        self, manager: "Client", search: "Search", connect: "Connect", workload: Object
    ) -> None:
        self._manager, self._search, self._connect = manager, search, connect
        self._workload = workload
        self._workers: dict[str, Asked] = {}
        self._missing: dict[str, list[str]] = {}

    async def run(self) -> "tuple[dict[str, Asked], dict[str, list[str]]]":
        """What those say that were offered it, and what is missing on all that it may go to."""
        from fleetqueue.cli import preflighting

        offered, clusters = _offered(self._workload), dict[str, Object]()
        subject = preflighting.Subject(self._workload)
        if _waits(self._workload):
            clusters = await preflighting.workers_of(self._manager, self._workload)
            subject = await preflighting.subject_of(self._manager, self._workload)
        names = dict.fromkeys([*offered, *clusters])
        await asyncio.gather(
            *(self._ask(name, name in offered, clusters.get(name), subject) for name in names)
        )
        return self._workers, self._missing

    async def _ask(
        self, name: str, is_offered: bool, cluster: Object | None, subject: "Subject"
    ) -> None:
        from fleetqueue.cli import preflighting
        from fleetqueue.errors import FleetqueueError

        lost = [] if cluster is None else preflighting.lost(subject, cluster)
        self._missing[name] = lost
        try:
            client = self._connect(await self._search.access(name))
            try:
                async with asyncio.timeout(PATIENCE_SECONDS):
                    if is_offered:
                        self._workers[name] = await _copy(client, self._workload)
                    if cluster is not None and not lost:
                        self._note(name, await preflighting.findings(client, name, subject))
            finally:
                await client.close()
        except (FleetqueueError, TimeoutError) as error:
            if is_offered or not lost:
                self._workers[name] = str(error) or "it does not answer"

    def _note(self, name: str, found: "Findings") -> None:
        """What is not known is told of workers that are spoken of anyway."""
        if found.problems or name in self._workers:
            self._missing[name] = [*found.problems, *filter(None, [found.unknown])]


def _waits(workload: Object) -> bool:
    """Whether it may still be sent to somebody."""
    from fleetqueue.api.kueue import admission_status as status

    is_over = status.is_finished(workload) or status.is_admitted(workload)
    sent = (workload.get("status") or {}).get("clusterName")
    return status.is_active(workload) and not is_over and not sent


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


async def _copy(worker: "Client", workload: Object) -> "Asked":
    from fleetqueue.kube.errors import NotFound
    from fleetqueue.multikueue import kinds

    metadata = workload["metadata"]
    try:
        copy = await worker.get(kinds.WORKLOAD, metadata["name"], metadata["namespace"])
    except NotFound:
        return "it has no copy"
    return await _known(worker, copy)


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
    for number, each in enumerate(found, 1):
        if each["metadata"]["name"] == workload["metadata"]["name"]:
            return Place(number, len(found), int(each["positionInClusterQueue"]) + 1)
    return None


async def _read(client: "Client", path: str) -> Object:
    """Nothing where nobody answers there, as on a cluster with another Kueue."""
    from fleetqueue.kube import calls
    from fleetqueue.kube.errors import Forbidden, NotFound

    try:
        return dict((await client.call(calls.read(path, []))).payload.decoded())
    except (NotFound, Forbidden):
        return {}
